import { setTimeout as sleep } from "node:timers/promises";
import { Agent, request } from "undici";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import type { Deps } from "@/lib/lane/deps";
import { createLaneQueue } from "@/lib/lane/queue";
import { systemClock } from "@/lib/platform/clock";
import { createDb } from "@/lib/platform/database/db";
import { createLog } from "@/lib/platform/log";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { readRedriveRow } from "@/lib/redrive/life/redrive.write";
import { readRedrive } from "@/lib/redrive/list/redrives.read";
import { redriveRequestSchema } from "@/lib/redrive/request/redrive-request.shapes";
import { requestRedrive } from "@/lib/redrive/request/request-redrive";
import { redisInstalled } from "@/lib/testing/redis";
import { parkMany } from "./park-many.ts";
import { cpuByLabel, firstMessage, forkBench, rssBytes, startWorkerProcess } from "./processes.ts";
import { startBenchStack } from "./stack.ts";

const size = (name: string, initial: number) => Number(process.env[name] ?? initial);

/** Events delivered on each backend. */
const EVENTS = size("PARKADE_BENCH_EVENTS", 20_000);
/** Events planned. 0 leaves the planning out. */
const PLAN_EVENTS = size("PARKADE_BENCH_PLAN_EVENTS", 1_000_000);
/** Worker processes that deliver, where no batches are sent. */
const WORKERS = size("PARKADE_BENCH_WORKERS", 1);
/** Which backends: redis, postgres or both. */
const BACKENDS = (process.env.PARKADE_BENCH_BACKENDS ?? "redis,postgres").split(",");

const AIM_PER_SECOND = { redis: 3_500, postgres: 2_500 };
/** To a target that takes batches. */
const AIM_IN_BATCHES_PER_SECOND = 5_000;
const AIM_PLAN_SECONDS = 30;
/** Growth up to this much uncollected garbage counts as flat. */
const AIM_PLAN_GROWTH_BYTES = 64 * 2 ** 20;

/** The bulkhead of a target: as many requests at a time as the worker makes. */
const CONCURRENCY = 20;
/** That of a target that takes batches, which counts events: several batches. */
const BATCHED_EVENTS = 400;

export type DeliverResult = {
  backend: "redis" | "postgres";
  /** Sent in requests of many events. */
  batches: boolean;
  events: number;
  perSecond: number;
  /** Bare undici POSTs of one process to the same sink in the same run. */
  baselinePerSecond: number;
  ratio: number;
  /** Processor time for one event by process, milliseconds: it holds on a shared machine, too. */
  cpuMsPerEvent: Record<string, number>;
  met: boolean;
};

export type PlanResult = {
  events: number;
  seconds: number;
  rssMb: { start: number; half: number; max: number };
  met: boolean;
};

/**
 * Redrives events to a local HTTP sink with one worker process and no rate limit, on Redis and on Postgres, against bare
 * POSTs to the same sink; then plans a million. Embedded PostgreSQL with the settings of `npm start`.
 */
export async function run(): Promise<{ deliver: DeliverResult[]; plan: PlanResult | null }> {
  const deliver: DeliverResult[] = [];
  for (const backend of ["redis", "postgres"] as const) {
    if (!BACKENDS.includes(backend)) continue;
    if (backend === "redis" && !redisInstalled) console.log("redrive redis skipped: redis-server is not installed");
    else for (const batches of [false, true]) deliver.push(await deliverOn(backend, { batches }));
  }
  return { deliver, plan: PLAN_EVENTS > 0 ? await plan() : null };
}

export async function openBench(backend: "redis" | "postgres") {
  const stack = await startBenchStack({ redis: backend === "redis" });
  const redisUrl = stack.redis?.url ?? null;
  const db = createDb(stack.databaseUrl, { max: 4 });
  const lane = createLaneQueue(
    redisUrl === null
      ? { kind: "postgres", connectionString: stack.databaseUrl, max: 2 }
      : { kind: "redis", url: redisUrl },
    systemClock,
  );
  const deps: Deps = { db, lane, clock: systemClock, log: createLog({ level: "silent", process: "bench" }) };
  const close = async () => {
    await lane.close();
    await db.end();
    await stack.stop();
  };
  const worker = (more: Record<string, string> = {}) =>
    startWorkerProcess({ databaseUrl: stack.databaseUrl, redisUrl }, more);
  const redrive = (select: object) => {
    const parsed = redriveRequestSchema.parse({ select, lane: "main", reason: "bench" });
    return requestRedrive(deps, { request: parsed, idempotency: null }, localViewer("bench"));
  };
  const redriveAll = (source: string) => redrive({ filter: { source: [source] } });
  return { url: stack.databaseUrl, db, deps, worker, redrive, redriveAll, close };
}

async function deliverOn(backend: "redis" | "postgres", { batches }: { batches: boolean }): Promise<DeliverResult> {
  const bench = await openBench(backend);
  const sink = await forkBench<{ port: number }>("./redrive-sink.ts");
  try {
    const url = `http://127.0.0.1:${sink.first.port}/events`;
    const workers = await Promise.all(Array.from({ length: batches ? 1 : WORKERS }, () => bench.worker()));
    const batch = batches ? { batch: { format: "ndjson" as const } } : {};
    await parkMany(bench.db, { source: "warm", events: 1_000, redriveUrl: url, ...batch });
    await ended(bench.deps, (await bench.redriveAll("warm")).id);
    await parkMany(bench.db, { source: "orders", events: EVENTS, redriveUrl: url, ...batch });
    if (batches) await bench.db.run("update targets set bulkhead = $1, updated_at = now()", [BATCHED_EVENTS]);
    const baselinePerSecond = await postBare(url);
    const before = await received(sink.child);
    const label = labelOf({ workers: workers.map(({ pid }) => pid), sink: sink.child.pid! });
    const cpuBefore = cpuByLabel(label);
    const { id } = await bench.redriveAll("orders");
    const done = await ended(bench.deps, id);
    const cpuMsPerEvent = Object.fromEntries(
      [...cpuByLabel(label)].map(([name, ms]) => [name, (ms - (cpuBefore.get(name) ?? 0)) / EVENTS]),
    );
    const arrived = (await received(sink.child)) - before;
    if (done.delivered !== EVENTS || arrived !== EVENTS) {
      throw new Error(`${done.delivered} of ${EVENTS} delivered, ${arrived} arrived`);
    }
    const perSecond = EVENTS / ((Date.parse(done.finishedAt!) - Date.parse(done.startedAt!)) / 1000);
    await Promise.all(workers.map((worker) => worker.stop()));
    const aim = batches ? AIM_IN_BATCHES_PER_SECOND : AIM_PER_SECOND[backend];
    const result = {
      backend,
      batches,
      events: EVENTS,
      perSecond,
      baselinePerSecond,
      ratio: perSecond / baselinePerSecond,
      cpuMsPerEvent,
      met: perSecond >= aim,
    };
    print(result, aim);
    return result;
  } finally {
    await sink.stop();
    await bench.close();
  }
}

function labelOf({ workers, sink }: { workers: number[]; sink: number }) {
  return ({ pid, name }: { pid: number; name: string }): string => {
    if (workers.includes(pid)) return "worker";
    if (pid === sink) return "sink";
    return pid === process.pid ? "bench" : name;
  };
}

export async function ended(deps: Deps, id: string) {
  // The row alone: the view of the API asks the store for more than the redrive itself does meanwhile.
  while ((await readRedriveRow(deps.db, id))!.state !== "DONE") await sleep(100);
  return (await readRedrive(deps.db, localViewer(), id, Date.now()))!;
}

async function received(sink: Awaited<ReturnType<typeof forkBench>>["child"]): Promise<number> {
  const answer = firstMessage<{ received: number }>(sink);
  sink.send("count");
  return (await answer).received;
}

/** POSTs per second of undici alone, with as many at a time as the worker makes. */
async function postBare(url: string): Promise<number> {
  const dispatcher = new Agent({ connections: CONCURRENCY, pipelining: 1 });
  const body = Buffer.from(`{"orderId": 7, "currency": "EUR", "lines": "${"x".repeat(250)}"}`);
  const headers = { "content-type": "application/json", "idempotency-key": "orders:7", tenant: "acme" };
  let left = EVENTS;
  const loop = async () => {
    while (left-- > 0) {
      const answer = await request(url, { method: "POST", headers, body, dispatcher });
      await answer.body.dump();
    }
  };
  const startMs = performance.now();
  await Promise.all(Array.from({ length: CONCURRENCY }, loop));
  const seconds = (performance.now() - startMs) / 1000;
  await dispatcher.close();
  return EVENTS / seconds;
}

async function plan(): Promise<PlanResult> {
  const bench = await openBench("postgres");
  try {
    console.log(`redrive plan      parking ${PLAN_EVENTS.toLocaleString("en")} events`);
    await parkMany(bench.db, { source: "orders", events: PLAN_EVENTS, redriveUrl: "http://127.0.0.1:9/nobody" });
    const worker = await bench.worker();
    const start = rssBytes(worker.pid);
    const { id } = await bench.redriveAll("orders");
    const rss: number[] = [];
    let redrive = (await readRedrive(bench.deps.db, localViewer(), id, Date.now()))!;
    while (redrive.state === "PLANNING") {
      rss.push(rssBytes(worker.pid));
      await sleep(200);
      redrive = (await readRedrive(bench.deps.db, localViewer(), id, Date.now()))!;
    }
    if (redrive.total !== PLAN_EVENTS) throw new Error(`${redrive.total} of ${PLAN_EVENTS} planned`);
    await changeRedrive(bench.deps, { id, change: { action: "cancel" } }, localViewer("bench"));
    const seconds = (Date.parse(redrive.plannedAt!) - Date.parse(redrive.createdAt)) / 1000;
    const half = Math.max(...rss.slice(0, Math.ceil(rss.length / 2)));
    const max = Math.max(...rss);
    await worker.stop();
    const mb = (bytes: number) => Math.round(bytes / 2 ** 20);
    const result = {
      events: PLAN_EVENTS,
      seconds,
      rssMb: { start: mb(start), half: mb(half), max: mb(max) },
      met: seconds < AIM_PLAN_SECONDS && max - start < AIM_PLAN_GROWTH_BYTES,
    };
    console.log(
      `redrive plan      ${result.events.toLocaleString("en")} events in ${seconds.toFixed(1)} s (aim < ${AIM_PLAN_SECONDS}), ` +
        `worker ${result.rssMb.start} MB idle, ${result.rssMb.half} MB at half, ${result.rssMb.max} MB at most: ${word(result.met)}`,
    );
    return result;
  } finally {
    await bench.close();
  }
}

function print(result: DeliverResult, aim: number): void {
  const { backend, batches, events, perSecond, baselinePerSecond, ratio, cpuMsPerEvent, met } = result;
  const cpu = Object.entries(cpuMsPerEvent).map(([name, ms]) => `${name} ${ms.toFixed(2)}`);
  console.log(
    `redrive ${backend.padEnd(9)} ${Math.round(perSecond)} events/s${batches ? " in batches" : ""} (aim >= ${aim}) over ${events}, ` +
      `ratio ${ratio.toFixed(3)} of ${Math.round(baselinePerSecond)} bare POSTs/s, ` +
      `processor ms an event: ${cpu.join(", ")}: ${word(met)}`,
  );
}

const word = (met: boolean) => (met ? "ok" : "MISSED");
