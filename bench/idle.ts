import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { buildAll } from "../scripts/build.ts";
import { freePort } from "../scripts/free-port.ts";
import { type Stack, startStack } from "../scripts/stack.ts";
import { rssBytes } from "./processes.ts";
import { startBenchStack } from "./stack.ts";

/** Long enough for each periodic task to run once. */
const SETTLE_SECONDS = Number(process.env.PARKADE_BENCH_IDLE_SECONDS ?? 30);

const AIM_MB = { web: 250, worker: 150 };

export type IdleResult = {
  process: "web" | "worker";
  queue: "redis" | "postgres";
  rssMb: number;
  ratio: number;
  met: boolean;
};

/** Resident memory of the production web and worker processes that have nothing to do. The baseline is the aim. */
export async function run(): Promise<IdleResult[]> {
  await buildAll((line) => console.log(line));
  const results: IdleResult[] = [];
  for (const queue of ["postgres", "redis"] as const) {
    const servers = await startBenchStack({ redis: queue === "redis" });
    const dataDir = mkdtempSync(join(tmpdir(), "parkade-idle-"));
    let stack: Stack | null = null;
    try {
      if (queue === "redis" && servers.redis === null) {
        console.log("idle redis skipped: redis-server is not installed");
        continue;
      }
      stack = await startStack({
        port: await freePort(),
        dataDir,
        databaseUrl: servers.databaseUrl,
        redisUrl: servers.redis?.url ?? null,
        say: (line) => console.log(line),
      });
      await sleep(SETTLE_SECONDS * 1000);
      for (const process of ["web", "worker"] as const) results.push(measure(stack, process, queue));
    } finally {
      await stack?.stop();
      await servers.stop();
      rmSync(dataDir, { recursive: true, force: true });
    }
  }
  return results;
}

function measure(stack: Stack, process: "web" | "worker", queue: "redis" | "postgres"): IdleResult {
  const pid = stack[process].pid();
  if (pid === null) throw new Error(`the ${process} process does not run`);
  const rssMb = rssBytes(pid) / 2 ** 20;
  const ratio = rssMb / AIM_MB[process];
  const met = ratio < 1;
  console.log(
    `idle ${process.padEnd(6)} (${queue}) ${rssMb.toFixed(0)} MB resident ${SETTLE_SECONDS} s after start, ` +
      `${ratio.toFixed(2)} of the aim of ${AIM_MB[process]} MB: ${met ? "ok" : "MISSED"}`,
  );
  return { process, queue, rssMb, ratio, met };
}
