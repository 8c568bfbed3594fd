import { setTimeout as sleep } from "node:timers/promises";
import type { ChaosConsumer } from "./chaos-consumer.ts";
import type { Product } from "./chaos-product.ts";
import type { Random } from "./random.ts";

/** One fault. Resolves when its cause is gone; the processes may still be recovering. */
export type Fault = { name: string; strike(): Promise<void> };

/** Part of a fault's name: only such faults are caused, to study one. */
const ONLY = process.env.PARKADE_BENCH_FAULTS ?? "";

/** The next fault of the schedule. The same seed gives the same faults in the same order. */
export function nextFault(random: Random, product: Product, consumer: ChaosConsumer): Fault {
  const worker = random.pick(product.workers);
  const holdMs = random.whole(2_000, 6_000);
  const faults: Fault[] = [
    { name: `kill ${worker.name}`, strike: async () => worker.signal("SIGKILL") },
    { name: `kill ${worker.name}`, strike: async () => worker.signal("SIGKILL") },
    {
      name: "kill both workers",
      strike: async () => {
        for (const one of product.workers) one.signal("SIGKILL");
      },
    },
    { name: `stop ${worker.name} (SIGTERM)`, strike: async () => worker.signal("SIGTERM") },
    { name: `freeze ${worker.name} for ${holdMs} ms`, strike: () => freeze(worker, holdMs) },
    { name: "kill web", strike: async () => product.web.signal("SIGKILL") },
    { name: `freeze web for ${holdMs} ms`, strike: () => freeze(product.web, holdMs) },
    { name: "kill the postmaster", strike: async () => void process.kill(product.postgresPid(), "SIGKILL") },
    { name: "cut the store's connections", strike: async () => product.storeLink.cut() },
    { name: `stall the store for ${holdMs} ms`, strike: () => stall(product.storeLink, holdMs) },
    { name: "the store's side vanishes without a word", strike: async () => product.storeLink.halfOpen() },
    { name: `the target fails for ${holdMs} ms`, strike: () => consumer.fail(500, holdMs) },
    { name: `the target throttles for ${holdMs} ms`, strike: () => consumer.fail(503, holdMs) },
    { name: `the target hangs for ${holdMs} ms`, strike: () => consumer.fail("hang", holdMs) },
  ];
  const { redis } = product;
  if (redis !== null) {
    faults.push(
      { name: "kill Redis, start it empty", strike: () => redis.server.restart() },
      {
        name: `Redis away for ${holdMs} ms, then empty`,
        strike: async () => {
          await redis.server.kill();
          await sleep(holdMs);
          await redis.server.restart();
        },
      },
      { name: "cut Redis' connections", strike: async () => redis.link.cut() },
      { name: `stall Redis for ${holdMs} ms`, strike: () => stall(redis.link, holdMs) },
    );
  }
  const wanted = faults.filter(({ name }) => name.includes(ONLY));
  if (wanted.length === 0) throw new Error(`PARKADE_BENCH_FAULTS: no fault holds "${ONLY}"`);
  return random.pick(wanted);
}

type Frozen = { signal(signal: NodeJS.Signals): void };

async function freeze(program: Frozen, holdMs: number): Promise<void> {
  program.signal("SIGSTOP");
  await sleep(holdMs);
  program.signal("SIGCONT");
}

async function stall(link: { stall(): void; resume(): void }, holdMs: number): Promise<void> {
  link.stall();
  await sleep(holdMs);
  link.resume();
}
