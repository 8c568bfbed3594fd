import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from "vitest";
import { readEnv } from "@/lib/env";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import type { LaneConnection } from "@/lib/lane/connection";
import type { Deps } from "@/lib/lane/deps";
import { createLaneQueue } from "@/lib/lane/queue";
import { DEFAULT_ADDRESSES } from "@/lib/platform/address-filter";
import type { ArchiveDeps } from "@/lib/platform/archive/archive-store";
import { systemClock } from "@/lib/platform/clock";
import { createDb } from "@/lib/platform/database/db";
import { createLowRateStore } from "@/lib/platform/database/prisma";
import { createLog } from "@/lib/platform/log";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { PACES, type Paces } from "@/lib/platform/plain/paces.pure";
import { readRedrive } from "@/lib/redrive/list/redrives.read";
import {
  type RedriveAnswer,
  type RedriveRequest,
  redriveRequestSchema,
} from "@/lib/redrive/request/redrive-request.shapes";
import { requestRedrive } from "@/lib/redrive/request/request-redrive";
import type { MendingDeps } from "@/lib/repair/mends/examine-mend";
import { POLICY_PRESETS, type Policy } from "@/lib/retry/policy";
import { storePolicy } from "@/lib/sources/policies/store-policy";
import { createPayloadChecker } from "@/lib/sources/schemas/check-payload";
import { createSchemaCheck } from "@/lib/sources/schemas/schema-check";
import type { TargetDeps } from "@/lib/sources/targets/add-target";
import { addSource, deadLetter } from "@/lib/testing/letters";
import { type TestDatabase, testDatabase } from "@/lib/testing/postgres";
import { program } from "@/lib/testing/programs";
import { redisInstalled, type TestRedis, testRedis } from "@/lib/testing/redis";
import { auditGaps, contradictions, rollupDrift } from "@/lib/testing/rollup-drift";
import { startSink } from "@/lib/testing/sink";
import { type RunningWorker, startWorker } from "@/workers/worker";

/** A policy with nothing in the way of an attempt: a test adds the one part that it is about. */
export const UNGUARDED = {
  ...POLICY_PRESETS["slow-lane"],
  ...{ marginMs: 500, budget: { kind: "unlimited" }, breaker: null, healing: null },
} satisfies Policy;

/**
 * About a fifth of the production values, with their ratios. The bounds for lost workers are longer than that: a busy machine
 * pauses a process for a second, and a worker wrongly treated as lost repeats its sends.
 */
export const TEST_PACES: Paces = {
  ...PACES,
  heartbeatMs: 400,
  lostMs: 2_400,
  heartbeatGapMs: 2_000,
  lostWorkMs: 200,
  reconcileMs: 500,
  targetsMs: 200,
  unreachableMs: 400,
  unreachableHoldMs: 1_500,
  breakerMs: 500,
  canaryMs: 200,
  canaryLookMs: 300,
  startMs: 200,
  confirmMs: 1_000,
  rulesMs: 1_000,
  forgetMs: 400,
  foldMs: 1_500,
  groupsMs: 500,
  consumersMs: 400,
  consumersStopMs: 5_000,
  outboxMs: 400,
  messagesMs: 200,
  publishMs: 2_000,
  resultsMs: 500,
  alertsMs: 1_000,
};

/**
 * An attempt that a busy machine cuts off is repeated, and tests count sends. The deadline is the shortest that holds the
 * attempts of the preset and their backoff.
 */
export const PATIENT = {
  ...POLICY_PRESETS["slow-lane"],
  attemptTimeoutMs: 15_000,
  deadlineMs: 100_000,
} satisfies Policy;

type EventRow = Record<string, unknown>;

type WorldOptions = {
  /** A migrated one of the test's own; without it a clone of the template. */
  database?: TestDatabase;
  redisUrl: string | null;
  ratePerSecond?: number | null;
  /** Further variables for the workers, and for the store of the test. */
  env?: Record<string, string>;
  paces?: Paces;
};

/** All parts of a redrive, none of them simulated: a store, a queue, workers, and an HTTP sink as the consumer. */
export async function openWorld(options: WorldOptions) {
  const database = options.database ?? (await testDatabase());
  const variables = {
    DATABASE_URL: database.url,
    REDIS_URL: options.redisUrl ?? "",
    PARKADE_LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? "silent",
    ...options.env,
  };
  const db = createDb(database.url, { max: 6 });
  const sink = await startSink();
  const { paces = TEST_PACES } = options;
  const log = createLog({ level: process.env.TEST_LOG_LEVEL ?? "silent", process: "test" });
  const connection: LaneConnection = options.redisUrl
    ? { kind: "redis", url: options.redisUrl, prefix: undefined }
    : { kind: "postgres", connectionString: database.url, max: 2 };
  const lane = createLaneQueue(connection, systemClock);
  const lowRate = createLowRateStore(database.url);
  const schemas = createSchemaCheck(systemClock);
  const checkPayloads = createPayloadChecker(schemas, systemClock);
  const deps: Deps & TargetDeps & MendingDeps & ArchiveDeps = {
    ...{
      db,
      lane,
      clock: systemClock,
      log,
      lowRate,
      env: { envReferences: [], plainSecretMode: "take", addresses: DEFAULT_ADDRESSES },
    },
    checkPayloads,
    archive: null,
  };
  const workers: RunningWorker[] = [];
  const killed: ChildProcess[] = [];

  await source("orders");
  // Version 0, as the preset that it stands for.
  await db.run(
    `insert into policies (id, name, version, body, reason, created_by)
     values ($1, 'slow-lane', 0, $2, 'attempts of tests are long', 'tester') on conflict do nothing`,
    [randomUUID(), JSON.stringify(PATIENT)],
  );

  /** A source whose lanes both deliver to the sink. */
  async function source(
    name: string,
    facts: { schema?: object; rate?: number | null; url?: string; checkCall?: object } = {},
  ): Promise<string> {
    const { url = sink.url, checkCall } = facts;
    const id = await addSource(db, name, { redriveUrl: url, ...(checkCall ? { checkCall } : {}) });
    if (facts.schema) {
      await db.run(
        `insert into payload_schemas (id, source_id, version, body, current, origin, created_by)
         values ($1, $2, 1, $3::json, true, 'uploaded', 'tester')`,
        [randomUUID(), id, JSON.stringify(facts.schema)],
      );
    }
    const rate = facts.rate === undefined ? (options.ratePerSecond ?? null) : facts.rate;
    await db.run("update targets set rate_per_second = $2 where source_id = $1", [id, rate]);
    return id;
  }

  /** A worker in this process, on a machine whose wall clock may be off. A test may stop it before the world is closed. */
  async function worker({ wallAheadMs = 0, writesTo = log } = {}): Promise<RunningWorker> {
    const machine = { ...systemClock, wallMs: () => systemClock.wallMs() + wallAheadMs };
    const running = await startWorker(readEnv(variables), writesTo, { machine, paces });
    let stopping: Promise<void> | null = null;
    const started: RunningWorker = {
      stop: (why) => {
        stopping ??= running.stop(why);
        return stopping;
      },
    };
    workers.push(started);
    return started;
  }

  /** A worker in a process of its own, to be killed. Its wall clock may be ahead. Resolves when it is ready. */
  async function doomedWorker({ wallAheadMs = 0, preload = "" } = {}): Promise<ChildProcess> {
    const ahead = `const now = Date.now; Date.now = () => now() + ${wallAheadMs};`;
    const first = `data:text/javascript,${encodeURIComponent(`${wallAheadMs === 0 ? "" : ahead}${preload}`)}`;
    const child = spawn(process.execPath, ["--import", first, program("paced-worker"), JSON.stringify(paces)], {
      env: { ...process.env, ...variables },
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    killed.push(child);
    await once(child, "message");
    return child;
  }

  async function park(count: number, change: (index: number) => Partial<DeadLetter> = () => ({}), name = "orders") {
    const arrivals = Array.from({ length: count }, (_, index) => ({
      source: name,
      letter: deadLetter({
        eventId: `event-${String(index).padStart(4, "0")}`,
        aggregateId: null,
        version: null,
        ...change(index),
      }),
    }));
    for (let from = 0; from < count; from += 1_000) {
      await parkEvents(deps, arrivals.slice(from, from + 1_000), localViewer("tester"));
    }
  }

  const idsOf = async (eventIds?: string[]): Promise<string[]> =>
    (
      await db.query<{ id: string }>(
        "select id from dlq_events where $1::text[] is null or event_id = any($1) order by id",
        [eventIds ?? null],
      )
    ).map((row) => row.id);

  async function request(change: Partial<RedriveRequest> = {}): Promise<RedriveAnswer> {
    const parsed = redriveRequestSchema.parse({
      select: { filter: {} },
      lane: "main",
      reason: "stock service is back",
      ...change,
    });
    return requestRedrive(deps, { request: parsed, idempotency: null }, localViewer("ada"));
  }

  /** Stores the next version of the policy of all targets. Resolves with its number. */
  const policy = (body: Policy) =>
    storePolicy(deps, { name: "slow-lane", request: { body, reason: "tested" } }, localViewer("ada"));

  const redrive = async (id: string) => (await readRedrive(db, localViewer(), id, Date.now()))!;

  /** Waits until nothing of the redrive is open. */
  async function ended(id: string) {
    await expect
      .poll(async () => (await redrive(id)).state, { interval: 50 })
      .toSatisfy((state: string) => state === "DONE" || state === "CANCELLED");
    await expect.poll(async () => (await redrive(id)).open, { interval: 50 }).toBe(0);
    return redrive(id);
  }

  const event = async (eventId: string): Promise<EventRow> =>
    (await db.query<EventRow>("select * from dlq_event_rows where event_id = $1", [eventId]))[0]!;
  const statuses = async (): Promise<Record<string, number>> =>
    Object.fromEntries(
      (
        await db.query<{ status: string; n: number }>("select status, count(*) as n from dlq_events group by status")
      ).map((row) => [row.status, row.n]),
    );

  /** The invariants that hold while no event changes: rollups (I13), audit (I12), states (I2), counters. */
  async function broken(): Promise<unknown[]> {
    return [...(await rollupDrift(db)), ...(await auditGaps(db)), ...(await contradictions(db))];
  }

  async function close(): Promise<void> {
    for (const child of killed) child.kill("SIGKILL");
    await Promise.all(workers.map((started) => started.stop("test over")));
    await lane.close();
    await schemas.close();
    await sink.stop();
    await lowRate.end();
    await db.end();
    await database.drop({ force: killed.length > 0 });
  }

  return {
    url: database.url,
    db,
    deps,
    lane,
    sink,
    source,
    worker,
    doomedWorker,
    park,
    idsOf,
    request,
    policy,
    redrive,
    ended,
    event,
    statuses,
    broken,
    close,
  };
}

export type World = Awaited<ReturnType<typeof openWorld>>;

type EachTest = Omit<WorldOptions, "redisUrl"> & {
  redisUrl?: () => string | null;
  invariants?: boolean;
  /** Stops what the world used, once it is closed. */
  afterwards?: () => Promise<unknown>;
};

/**
 * A world of its own for each test of the file or the `describe`. The invariants must hold when the test ends; `invariants`
 * is false where a test writes rows that no part of the product writes.
 */
export function worldOfEachTest({
  redisUrl = () => null,
  invariants = true,
  afterwards = async () => undefined,
  ...options
}: EachTest = {}): World {
  let world: World;
  beforeEach(async () => {
    world = await openWorld({ redisUrl: redisUrl(), ...options });
  });
  afterEach(async () => {
    const broken = invariants ? await world.broken() : [];
    await world.close();
    await afterwards();
    expect(broken).toEqual([]);
  });
  // Each property is looked up when a test uses it: the world is another one in each test.
  return new Proxy({} as World, { get: (_, name) => world[name as keyof World] });
}

type Queue = { backend: "postgres" | "redis"; redis: () => TestRedis | null; redisUrl: () => string | null };

/** The suite with the queue on PostgreSQL, and with it on Redis where that is installed. `title` names it as `$backend`. */
export function describeOnBothQueues(title: string, suite: (queue: Queue) => void): void {
  for (const backend of ["postgres", "redis"] as const) {
    const skipped = backend === "redis" && !redisInstalled;
    describe.skipIf(skipped)(title.replace("$backend", backend), () => {
      let redis: TestRedis | null = null;
      beforeAll(async () => {
        if (backend === "redis") redis = await testRedis();
      });
      afterAll(() => redis?.stop());
      suite({ backend, redis: () => redis, redisUrl: () => redis?.url ?? null });
    });
  }
}
