import type { BackupCommand } from "./backup-store.ts";
import { launch } from "./launch.ts";
import type { ReplayCommand } from "./replay-attempts.ts";
import { parseStartEnv } from "./start-env.ts";
import { runCommand } from "./start-error.ts";

export type ServeOptions = {
  /** Instead of PORT. */
  port?: string | undefined;
  /** Instead of PARKADE_DATA_DIR; relative to the working directory. */
  dataDir?: string | undefined;
  demo: boolean;
};

/** What `parkade serve` runs from the package `parkade-server`: everything was built before it was packed. */
export async function serve({ port, dataDir, demo }: ServeOptions): Promise<void> {
  const { PORT, PARKADE_DATA_DIR } = process.env;
  const given = { ...process.env, PORT: port ?? PORT, PARKADE_DATA_DIR: dataDir ?? PARKADE_DATA_DIR };
  await runCommand(() => launch({ env: parseStartEnv(given, process.cwd()), demo }));
}

/** What `parkade backup` runs from it. Sets the exit code. */
export async function backup(command: BackupCommand): Promise<void> {
  // It loads the store and the clients of the archive, which a start does without.
  await (await import("./backup-store.ts")).backup(command);
}

/** What `parkade replay` runs from it. Sets the exit code. */
export async function replay(command: ReplayCommand): Promise<void> {
  await (await import("./replay-attempts.ts")).replay(command);
}
