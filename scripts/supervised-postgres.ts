import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type EmbeddedOptions, startPostgres } from "./embedded-postgres.ts";
import { errorText } from "./start-error.ts";

export type SupervisedPostgres = {
  /** For the superuser, see EmbeddedPostgres. */
  url: string;
  /** For web and worker. */
  appUrl: string;
  /** Its data lies on the disk of this folder. */
  folder: string;
  pid(): number;
  stop(): Promise<void>;
  /** Ends it at once; the next start recovers from the log. */
  force(): Promise<void>;
};

const RESTART_MS = { first: 250, max: 10_000 };

/**
 * The embedded PostgreSQL, started again on the same port when it dies: the connection string stays true, and the pools
 * of web and worker reconnect by themselves.
 */
export async function supervisePostgres(
  options: EmbeddedOptions,
  say: (line: string) => void,
): Promise<SupervisedPostgres> {
  let server = await startPostgres(options);
  const { url, appUrl, clusterDir } = server;
  let stopping = false;
  let revival: Promise<void> = Promise.resolve();

  const watch = () => {
    void server.exited.then(({ code, signal }) => {
      if (stopping) return;
      say(`postgres: ended (${signal ?? `code ${code}`}), starting again`);
      revival = revive();
    });
  };

  const revive = async () => {
    for (let pauseMs = RESTART_MS.first; !stopping; pauseMs = Math.min(pauseMs * 2, RESTART_MS.max)) {
      await sleep(pauseMs);
      if (stopping) return;
      try {
        // Web and worker know only this address: while another program has the port, wait for it.
        server = await startPostgres({ ...options, samePort: true });
        say("postgres: running again");
        watch();
        return;
      } catch (error) {
        say(`postgres: ${errorText(error)}`);
      }
    }
  };

  const end = async (mode: "fast" | "immediate") => {
    stopping = true;
    await revival;
    await server.stop(mode);
  };
  watch();
  // Its parent: web and worker of another user than the server's may not look into the cluster.
  return {
    url,
    appUrl,
    folder: dirname(clusterDir),
    pid: () => server.pid,
    stop: () => end("fast"),
    force: () => end("immediate"),
  };
}
