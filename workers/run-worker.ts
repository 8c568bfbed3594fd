import { readEnv } from "@/lib/env";
import { EnvError } from "@/lib/platform/env-error";
import { createLog } from "@/lib/platform/log";
import type { Paces } from "@/lib/platform/plain/paces.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { startWorker } from "./worker";

/** The worker as a process of its own: it sends a first message when it is ready, and ends the process on a signal. */
export function runWorker(paces?: Paces): void {
  run(paces).catch((error: unknown) => {
    const known = error instanceof EnvError || error instanceof DomainError;
    process.stderr.write(`${known ? error.message : error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  });
}

async function run(paces?: Paces): Promise<void> {
  const env = readEnv();
  const log = createLog({ level: env.logLevel, process: "worker" });
  // A defect in one slice must not stop the others: its items are given back by its own error handling or when its
  // lease ends.
  process.on("unhandledRejection", (error) => log.error({ err: error }, "a promise failed and nobody handled it"));
  const { stop } = await startWorker(env, log, { paces });
  stopOnSignal(stop, (error) => log.error({ err: error }, "worker did not stop in good order"));
  log.info("worker ready");
  process.send?.({ kind: "ready" });
}

/** The first signal stops the worker regularly; the launcher or the orchestrator decides on a second signal. */
function stopOnSignal(stop: (why: string) => Promise<void>, onError: (error: unknown) => void): void {
  let _stopping: Promise<void> | null = null;
  const begin = (why: string) => {
    _stopping ??= stop(why).then(
      () => process.exit(0),
      (error) => {
        onError(error);
        process.exit(1);
      },
    );
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => begin(signal));
}
