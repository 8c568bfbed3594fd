import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { createLaneQueue } from "@/lib/lane/queue";
import { systemClock } from "@/lib/platform/clock";
import { createDb, type Db } from "@/lib/platform/database/db";
import { retrying } from "@/lib/platform/database/retrying";
import { createLog } from "@/lib/platform/log";
import { readRedriveRow } from "@/lib/redrive/life/redrive.write";
import { redriveRequestSchema } from "@/lib/redrive/request/redrive-request.shapes";
import { requestRedrive } from "@/lib/redrive/request/request-redrive";
import { addSource, deadLetter } from "@/lib/testing/letters";
import { testRedis } from "@/lib/testing/redis";
import { auditGaps, contradictions, rollupDrift } from "@/lib/testing/rollup-drift";
import { migrate } from "@/scripts/migrate";
import { supervisePostgres } from "@/scripts/supervised-postgres";

export type KilledRedrive = {
  events: number;
  seconds: number;
  kills: number;
  flushes: number;
  storeRestarts: number;
  /** Requests that the target got. */
  arrived: number;
  /** Requests beyond the first of an event, at a target that does not honour the key. */
  repeats: number;
  /** Intents whose end was lost, by the store's record. */
  ambiguous: number;
  /** Sends that were under way when a worker or the store was killed, by the store's record, summed over the kills. */
  inFlight: number;
  broken: unknown[];
};

type Options = {
  events: number;
  /** A worker in a process of its own, ready when its first message comes. */
  startWorker(env: { DATABASE_URL: string; REDIS_URL: string }): ChildProcess;
  /** A worker is killed after as long a pause, milliseconds; chance decides which. */
  killEveryMs: number;
  random: () => number;
  /** Is given a line about each fault; of the kills of workers, about each tenth. */
  tell?: (line: string) => void;
};

const AGGREGATE_EVENTS = 5;
const FLUSHES = 2;
/** Faults come by the share that has arrived, which is looked at this often. */
const LOOK_MS = 200;
const ENDED_MS_MAX = 60 * 60_000;

/**
 * One redrive without a rate, while two workers are killed in turns, Redis is flushed twice and PostgreSQL is killed once,
 * each at a time when the redrive is under way. The target keeps what arrives: nothing may be lost, an aggregate keeps its
 * order, each event has one key and one body, and no event comes twice but for a send that a kill cut off.
 */
export async function killedRedrive({
  events,
  startWorker,
  killEveryMs,
  random,
  tell = () => undefined,
}: Options): Promise<KilledRedrive> {
  const dir = mkdtempSync(join(tmpdir(), "parkade-killed-"));
  // mkdtemp closes the folder to other users; under root the server runs as another user, who must enter it.
  chmodSync(dir, 0o755);
  const postgres = await supervisePostgres({ dataDir: dir }, () => undefined);
  const redis = await testRedis();
  const flusher = new Redis(redis.url);
  const target = await startTarget();
  await migrate(postgres.url);
  const db = createDb(postgres.url, { max: 3, onIdleError: () => undefined });
  const lane = createLaneQueue({ kind: "redis", url: redis.url, prefix: undefined }, systemClock);
  const log = createLog({ level: "silent", process: "killed" });
  const deps = { db, lane, clock: systemClock, log };
  const env = { DATABASE_URL: postgres.url, REDIS_URL: redis.url };
  const pauseMs = () => killEveryMs * (0.5 + random());
  let nextKillMs = Number.POSITIVE_INFINITY;
  /** The pause begins when the worker is ready: one that is killed while it starts has nothing under way. */
  const start = () => {
    const worker = startWorker(env);
    worker.once("message", () => {
      nextKillMs = performance.now() + pauseMs();
    });
    return worker;
  };
  const workers = [start(), start()];
  const counts = { kills: 0, flushes: 0, storeRestarts: 0, inFlight: 0 };
  try {
    await Promise.all(workers.map(ready));
    await park(deps, events, target.url);
    const request = redriveRequestSchema.parse({
      select: { filter: { source: ["orders"] } },
      lane: "main",
      reason: "the service is back",
    });
    const beganMs = performance.now();
    nextKillMs = beganMs + pauseMs();
    const { id } = await requestRedrive(deps, { request, idempotency: null }, localViewer("ada"));
    const state = () => patiently(async () => (await readRedriveRow(db, id))!.state);
    const tellOf = (fault: string) => {
      const seconds = Math.round((performance.now() - beganMs) / 1000);
      tell(`${seconds} s: ${fault}; ${target.effects.size} of ${events} have arrived`);
    };
    while ((await state()) !== "DONE") {
      if (performance.now() - beganMs > ENDED_MS_MAX) throw new Error("the redrive does not end");
      await sleep(LOOK_MS);
      // One that starts while PostgreSQL is away ends by itself; the launcher would start it again.
      for (const [place, worker] of workers.entries()) {
        if (worker.exitCode !== null) workers[place] = start();
      }
      const share = target.effects.size / events;
      if (share >= 1) continue;
      if (counts.flushes < FLUSHES && share > (counts.flushes + 1) * 0.25) {
        await flusher.flushall();
        counts.flushes++;
        tellOf("Redis is flushed");
      }
      if (counts.storeRestarts === 0 && share > 0.6) {
        counts.inFlight += await patiently(() => openSends(db));
        process.kill(postgres.pid(), "SIGKILL");
        counts.storeRestarts++;
        tellOf("PostgreSQL is killed");
        continue;
      }
      // A fast machine is through before the first pause is over.
      const first = counts.kills === 0 && share > 0.1;
      if (!first && performance.now() < nextKillMs) continue;
      nextKillMs = Number.POSITIVE_INFINITY;
      const place = Math.floor(random() * workers.length);
      // It stands still, so that what it has under way can be counted.
      workers[place]!.kill("SIGSTOP");
      counts.inFlight += await patiently(() => openSends(db));
      workers[place]!.kill("SIGKILL");
      counts.kills++;
      if (counts.kills % 10 === 0) tellOf(`worker ${counts.kills} is killed`);
      workers[place] = start();
    }
    const seconds = (performance.now() - beganMs) / 1000;
    const [row] = await db.query<{ n: number }>(
      "select count(*)::int as n from redrive_attempts where state = 'ambiguous'",
    );
    const repeats = target.arrived() - target.effects.size;
    const broken = [
      ...target.broken,
      ...lost(events, target.effects),
      ...(repeats > row!.n ? [{ rule: "a repeat follows a lost answer", repeats, ambiguous: row!.n }] : []),
      ...(repeats > counts.inFlight ? [{ rule: "repeats <= kills x sends under way", repeats, ...counts }] : []),
      ...(await rollupDrift(db)),
      ...(await auditGaps(db)),
      ...(await contradictions(db)),
    ];
    return {
      events,
      seconds,
      ...counts,
      arrived: target.arrived(),
      repeats,
      ambiguous: row!.n,
      broken: broken.slice(0, 20),
    };
  } finally {
    for (const worker of workers) worker.kill("SIGKILL");
    flusher.disconnect();
    await lane.close();
    await db.end();
    await target.stop();
    await redis.stop();
    await postgres.force();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function ready(worker: ChildProcess): Promise<void> {
  const ended = once(worker, "exit").then(([code]) => Promise.reject(new Error(`a worker ended with code ${code}`)));
  await Promise.race([once(worker, "message"), ended]);
}

/** The store may be away for a moment. */
function patiently<T>(read: () => Promise<T>): Promise<T> {
  return retrying(read, { patience: { clock: systemClock, forMs: 60_000, everyMs: 200 } });
}

async function openSends(db: Db): Promise<number> {
  const [row] = await db.query<{ n: number }>("select count(*)::int as n from open_sends");
  return row!.n;
}

async function park(deps: Parameters<typeof parkEvents>[0], events: number, url: string): Promise<void> {
  const sourceId = await addSource(deps.db, "orders");
  await deps.db.run("update sources set config = $2::jsonb where id = $1", [
    sourceId,
    JSON.stringify({ redriveUrl: url }),
  ]);
  await deps.db.run("update targets set rate_per_second = null where source_id = $1", [sourceId]);
  for (let from = 0; from < events; from += 1_000) {
    const arrivals = Array.from({ length: Math.min(1_000, events - from) }, (_, index) => {
      const number = from + index;
      const aggregate = Math.floor(number / AGGREGATE_EVENTS);
      return {
        source: "orders",
        letter: deadLetter({
          eventId: `${aggregate} ${number % AGGREGATE_EVENTS}`,
          aggregateId: `order-${aggregate}`,
          version: BigInt(number % AGGREGATE_EVENTS),
          payload: Buffer.from(`{"number": ${number}}`),
        }),
      };
    });
    await parkEvents(deps, arrivals, localViewer("producer"));
  }
}

function lost(events: number, effects: ReadonlyMap<string, unknown>): unknown[] {
  const missing = Array.from({ length: events }, (_, number) => number).filter(
    (number) => !effects.has(`orders:${Math.floor(number / AGGREGATE_EVENTS)} ${number % AGGREGATE_EVENTS}`),
  );
  return missing.slice(0, 5).map((number) => ({ rule: "nothing is lost", number, of: missing.length }));
}

/** A consumer that keeps the key and the body of everything, and the last version of each aggregate. */
async function startTarget() {
  const effects = new Map<string, string>();
  const versions = new Map<string, number>();
  const broken: unknown[] = [];
  let arrived = 0;
  const take = (key: string, body: string) => {
    arrived++;
    const known = effects.get(key);
    if (known !== undefined && known !== body) broken.push({ rule: "a key has one body", key });
    effects.set(key, body);
    const [aggregate, version] = key.slice(key.indexOf(":") + 1).split(" ");
    const before = versions.get(aggregate!) ?? -1;
    if (Number(version) < before) broken.push({ rule: "an aggregate keeps its order", key, before });
    versions.set(aggregate!, Number(version));
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("error", () => undefined); // a sender that was killed
    request.on("end", () => {
      if (request.method === "POST") {
        const key = String(request.headers["idempotency-key"]).replace(/^"(.*)"$/, "$1");
        take(key, Buffer.concat(chunks).toString());
      }
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`,
    effects,
    broken,
    arrived: () => arrived,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
