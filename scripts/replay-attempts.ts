import { createDb } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { type ReplayReport, replayAttempts } from "@/lib/redrive/list/replay-attempts";
import { rememberedUrl } from "./embedded-postgres.ts";
import { parseStartEnv } from "./start-env.ts";
import { runCommand, StartError } from "./start-error.ts";

export type ReplayCommand = {
  redriveId: string;
  /** null = all events of the redrive. */
  eventId: string | null;
  /** null = the policy version that was recorded. */
  policyName: string | null;
  /** Instead of PARKADE_DATA_DIR. */
  dataDir?: string | undefined;
};

/**
 * `parkade replay`: takes the recorded attempts of a redrive through the engine again and shows where it would decide
 * otherwise now. Sets the exit code: 1 when it would; with another policy it shows what that would have done, and sets 0.
 */
export async function replay(command: ReplayCommand): Promise<void> {
  await runCommand(async () => {
    const db = createDb(databaseUrl(command), { max: 1, applicationName: "parkade-replay" });
    try {
      const report = await replayAttempts(db, command);
      for (const line of linesOf(report)) process.stdout.write(`${line}\n`);
      if (report.different > 0 && command.policyName === null) process.exitCode = 1;
    } catch (error) {
      throw error instanceof DomainError ? new StartError(`${error.message}.`, { cause: error }) : error;
    } finally {
      await db.end();
    }
  });
}

/** DATABASE_URL, else the embedded PostgreSQL of a running Parkade. */
function databaseUrl({ redriveId, dataDir = process.env.PARKADE_DATA_DIR }: ReplayCommand): string {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(redriveId))
    throw new StartError(`${redriveId} is not the id of a redrive.`);
  const env = parseStartEnv({ ...process.env, PARKADE_DATA_DIR: dataDir }, process.cwd());
  const url = env.databaseUrl ?? rememberedUrl(env.dataDir);
  if (url === null)
    throw new StartError("There is no store to read: set DATABASE_URL, or name the data folder of a running Parkade.");
  return url;
}

function linesOf({ attempts, decisions, different, listed }: ReplayReport): string[] {
  const differences = listed.map(
    ({ eventId, attempt, recorded, replayed }) =>
      `${eventId}, attempt ${attempt}: ${JSON.stringify(recorded)} -> ${JSON.stringify(replayed)}`,
  );
  const more = different > listed.length ? [`and ${different - listed.length} more`] : [];
  return [...differences, ...more, `${attempts} attempts, ${decisions} decisions, ${different} decided differently`];
}
