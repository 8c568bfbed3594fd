import { setTimeout as sleep } from "node:timers/promises";
import type { Db } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { SELECTED_IDS_MAX } from "@/lib/selection/selected-ids.shapes";
import { BROKER_CASES, type BrokerCase, type RunningBroker } from "./broker-cases.ts";
import { median } from "./figures.ts";
import { parkMany } from "./park-many.ts";
import { cpuByLabel, forkBench, rssBytes } from "./processes.ts";
import { ended, openBench } from "./redrive.ts";
import { inTurns, type Reading, scenario } from "./scenario.ts";

/**
 * One worker process drains a dead-letter queue of each broker into PostgreSQL, against the bare client of the same run;
 * then redrives what it has parked through the broker, against the redrive over HTTP of the same run.
 *
 * PARKADE_BENCH_MESSAGES (1,000,000, or what the server holds), PARKADE_BENCH_REDRIVES (20,000, at most 50,000; 0 = none),
 * PARKADE_BENCH_BROKERS (all).
 */

const MESSAGES = Number(process.env.PARKADE_BENCH_MESSAGES ?? 1_000_000);
const REDRIVES = Number(process.env.PARKADE_BENCH_REDRIVES ?? 20_000);
/** Redrives of each, broker and HTTP in turn. */
const ROUNDS = 5;
const ROUND_EVENTS = Math.min(Math.floor(REDRIVES / ROUNDS), SELECTED_IDS_MAX);
const WANTED = process.env.PARKADE_BENCH_BROKERS?.split(",");
/** A worker reaches its size within this many messages: a shorter drain tells nothing about its memory. */
const FLAT_MESSAGES_MIN = 100_000;
const POLL_MS = 100;

export const run = scenario({
  name: "brokers",
  open: async () => BROKER_CASES.filter(({ kind }) => WANTED?.includes(kind) ?? true),
  async *measure(cases) {
    for (const one of cases) {
      if (one.missing === null) yield* readingsOf(one);
      else console.log(`brokers ${one.kind} skipped: ${one.missing}`);
    }
  },
});

async function* readingsOf(one: BrokerCase): AsyncGenerator<Reading> {
  const messages = Math.min(MESSAGES, one.messagesMax);
  const broker = await one.start();
  const bench = await openBench("postgres");
  try {
    await broker.produce(messages);
    const barePerSecond = await broker.readBare(messages);
    const worker = await bench.worker();
    const drain = await drained(bench.db, { one, broker, messages, workerPid: worker.pid });
    const cpu = Object.entries(drain.cpuMsPerThousand)
      .filter(([, ms]) => ms >= 1)
      .map(([name, ms]) => `${name} ${ms.toFixed(0)}`);
    yield {
      name: `${one.kind} drain of ${messages.toLocaleString("en")}`,
      value: drain.perSecond,
      unit: "messages/s",
      ...(one.aimPerSecond === null ? {} : { bound: { min: one.aimPerSecond } }),
      baseline: { name: "bare reads/s", value: barePerSecond },
      note: `processor ms a thousand: ${cpu.join(", ")}`,
    };
    yield {
      name: `${one.kind} memory since half-way`,
      value: (drain.rss.max - drain.rss.half) / 2 ** 20,
      unit: "MB of the worker",
      // Growth up to this much uncollected garbage counts as flat.
      ...(messages < FLAT_MESSAGES_MIN ? {} : { bound: { max: 64 } }),
      note: `${Math.round(drain.rss.max / 2 ** 20)} MB at most`,
    };
    if (REDRIVES > 0) {
      const { toBroker, toHttp } = await redriven(bench, broker);
      const overHttp = { name: "of that over HTTP", value: median(toHttp), bound: { min: 1 } };
      yield { name: `${one.kind} redrive`, value: median(toBroker), unit: "events/s", baseline: overHttp };
    }
    await worker.stop();
  } finally {
    await bench.close();
    await broker.stop();
  }
}

/** Adds the source, which the running worker takes up, and waits until all is parked. */
async function drained(
  db: Db,
  { one, broker, messages, workerPid }: { one: BrokerCase; broker: RunningBroker; messages: number; workerPid: number },
) {
  const id = uuidv7(Date.now());
  const cpuBefore = cpuByLabel(({ name }) => name);
  await db.run("insert into sources (id, name, kind, config) values ($1, 'broker', $2, $3::jsonb)", [
    id,
    one.kind,
    JSON.stringify(broker.config),
  ]);
  await db.run(
    `insert into targets (id, source_id, lane, name, rate_per_second)
     values (uuidv7(), $1, 'main', 'broker', null), (uuidv7(), $1, 'slow', 'broker.slow', null)`,
    [id],
  );
  const parked = async () => {
    // The janitor folds the first into the second meanwhile; one statement sees each event once.
    const [count] = await db.query<{ n: string }>(
      `select (select coalesce(sum(n), 0) from dlq_levels where source_id = $1)
            + (select coalesce(sum(n), 0) from dlq_level_totals where source_id = $1) as n`,
      [id],
    );
    return Number(count!.n);
  };
  const rss: { parked: number; bytes: number }[] = [];
  let first: { atMs: number; parked: number } | null = null;
  for (;;) {
    const now = await parked();
    const atMs = performance.now();
    // The first batches wait for the join of the group: the clock starts with the first that is there.
    if (first === null && now > 0) first = { atMs, parked: now };
    rss.push({ parked: now, bytes: rssBytes(workerPid) });
    if (now >= messages) {
      const perSecond = (now - first!.parked) / ((atMs - first!.atMs) / 1000);
      const cpu = [...cpuByLabel(({ name }) => name)].map(
        ([name, ms]) => [name, ((ms - (cpuBefore.get(name) ?? 0)) / messages) * 1000] as const,
      );
      const half = Math.max(...rss.filter((one) => one.parked <= messages / 2).map(({ bytes }) => bytes));
      const max = Math.max(...rss.map(({ bytes }) => bytes));
      return { perSecond, rss: { half, max }, cpuMsPerThousand: Object.fromEntries(cpu) };
    }
    await sleep(POLL_MS);
  }
}

/** Events a second of each round. */
async function redriven(bench: Awaited<ReturnType<typeof openBench>>, broker: RunningBroker) {
  const sink = await forkBench<{ port: number }>("./redrive-sink.ts");
  try {
    const url = `http://127.0.0.1:${sink.first.port}/events`;
    await parkMany(bench.db, { source: "http", events: REDRIVES, redriveUrl: url });
    const rates = await inTurns(
      { turns: ROUNDS },
      {
        toHttp: (round) => rateOf(bench, "http", round),
        toBroker: (round) => rateOf(bench, "broker", round),
      },
    );
    const arrived = await broker.delivered();
    if (arrived !== ROUNDS * ROUND_EVENTS) throw new Error(`${arrived} of ${ROUNDS * ROUND_EVENTS} arrived`);
    return rates;
  } finally {
    await sink.stop();
  }
}

/** Redrives as many events of a source as a round has, which no round before has sent. */
async function rateOf(
  { db, deps, redrive }: Awaited<ReturnType<typeof openBench>>,
  source: string,
  round: number,
): Promise<number> {
  const events = await db.query<{ id: string }>(
    `select e.id from dlq_events e join sources s on s.id = e.source_id where s.name = $1
      order by e.id limit $2 offset $3`,
    [source, ROUND_EVENTS, round * ROUND_EVENTS],
  );
  const { id } = await redrive({ ids: events.map((event) => event.id) });
  const done = await ended(deps, id);
  if (done.delivered !== ROUND_EVENTS) throw new Error(`${done.delivered} of ${ROUND_EVENTS} of ${source} delivered`);
  return ROUND_EVENTS / ((Date.parse(done.finishedAt!) - Date.parse(done.startedAt!)) / 1000);
}
