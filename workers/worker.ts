import { writeFile } from "node:fs/promises";
import { parseSourceConfig, targetAddress } from "@/lib/brokers/kinds/kinds.shapes";
import { brokerRegistry } from "@/lib/brokers/registry";
import type { Env } from "@/lib/env";
import { moveGroups } from "@/lib/events/groups/aliases/move-groups";
import { regroupEvents } from "@/lib/events/groups/aliases/regroup-events";
import { removeOldMutes } from "@/lib/events/groups/mutes/end-mutes.write";
import { openAnchorPlaces } from "@/lib/guard/audit-chain/anchors/anchor-places";
import { writeAnchors } from "@/lib/guard/audit-chain/anchors/write-anchors";
import { sealEntries } from "@/lib/guard/audit-chain/seal-entries";
import { workVerifications } from "@/lib/guard/audit-chain/work-verifications";
import { ensurePartitions } from "@/lib/intake/partitions.write";
import { measureRoom, ROOM_EVERY_MS } from "@/lib/intake/room/measure-room";
import { workForgets } from "@/lib/keep/forget/work-forget";
import { runRetention } from "@/lib/keep/retention/expire-events";
import { guardBucket } from "@/lib/lane/bucket-fallback";
import type { LaneConnection } from "@/lib/lane/connection";
import { createLaneQueue } from "@/lib/lane/queue";
import { openTokenBucket } from "@/lib/lane/token-bucket";
import { removeOldAlerts } from "@/lib/observe/alerts/alerts.write";
import { evaluateAlerts } from "@/lib/observe/alerts/evaluate-alerts";
import { notifyOperations } from "@/lib/observe/channels/notify-operations";
import { removeHeartbeat, writeHeartbeat } from "@/lib/observe/health/heartbeat.write";
import { foldRollups } from "@/lib/observe/rollups/fold-rollups.write";
import { removeExpired } from "@/lib/observe/rollups/upkeep.write";
import { removeOldControls } from "@/lib/order/controls/old-controls.write";
import { type AggregateCursor, removeIdleAggregates } from "@/lib/order/idle-aggregates.write";
import { LINES_START, mendLines } from "@/lib/order/lines.write";
import { openArchiveStore } from "@/lib/platform/archive/archive-store";
import { atMost, type Clock, systemClock } from "@/lib/platform/clock";
import { databaseClock } from "@/lib/platform/database/database-clock";
import { createDb, type Db } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { createLeadership } from "@/lib/platform/leadership";
import type { Log } from "@/lib/platform/log";
import { PACES, type Paces } from "@/lib/platform/plain/paces.pure";
import { type RegularWork, startRegularWork } from "@/lib/platform/regular-work";
import { secretFiles } from "@/lib/platform/secret-files";
import { offerTlsSuites } from "@/lib/platform/tls-suites";
import { openTracer } from "@/lib/platform/tracing/open-tracer";
import { closeTracer, tracerOpening } from "@/lib/platform/tracing/spans";
import { trustCertificates } from "@/lib/platform/trusted-certificates";
import { confirmQuietEvents } from "@/lib/redrive/confirm/confirm-quiet-events";
import { createLostWork } from "@/lib/redrive/life/lost-work";
import { foldTicks, removeOldTicks } from "@/lib/redrive/life/old-redrives.write";
import { reconcile, wakeForgotten } from "@/lib/redrive/life/reconcile";
import { startWaiting } from "@/lib/redrive/life/start-redrive";
import { advanceCanaries } from "@/lib/redrive/pace/canary-and-brake";
import { createRedriver, type Redriver } from "@/lib/redrive/run/redriver";
import { removeOldWaves } from "@/lib/redrive/run/store/intents.write";
import { runRedriveRules } from "@/lib/rules/run-redrive-rules";
import { startAlertPublisher } from "./alert-publisher";
import { startConsumers } from "./consumers";
import { heartbeatInfo } from "./heartbeat-info";
import { startLanes } from "./lanes";
import { startOutboxPublisher } from "./outbox-publisher";

/** Attempts in flight may take this long to end before their slices are aborted and given back. */
const GRACE_MS = 10_000;

/**
 * Time limits of the steps of stopping: the first is longer than sends in flight and consumers may take, the second is
 * enough for a healthy server. Together less than the 30 s after which the launcher kills the process.
 */
const END_WORK_MS_MAX = 16_000;
const CLOSE_MS_MAX = 4_000;

/**
 * Time limit of the statements that a redrive waits for; they take milliseconds. A silent connection holds its slice
 * this long, and work must continue within 10 s of the store's recovery.
 */
const STATEMENT_MS_MAX = 4_000;
/** For a suspended worker: its locks end before other workers take over its slices. */
const IDLE_IN_TRANSACTION_MS = 4_000;
/** Upkeep reads whole tables and removes partitions of them, and no redrive waits for it. */
const UPKEEP_STATEMENT_MS_MAX = 120_000;

const DAY_MS = 86_400_000;
/** Pages of aggregates, and of lines, that a round of upkeep examines: ten million aggregates in a day. */
const UPKEEP_PAGES = 20;
/** Every statement over all days plans and opens each of them, an empty one too. Ingest makes a day that is missing. */
const DAYS_AHEAD = 3;

export type RunningWorker = {
  /** Finishes or gives back its slices, then closes everything. */
  stop(why: string): Promise<void>;
};

/**
 * Starts everything a worker does: both lanes, the consumers, and the rounds. Several workers share the work, and one of
 * them runs the rounds. Rejects with DomainError when the store or the queue cannot be reached.
 */
export async function startWorker(
  env: Env,
  log: Log,
  { machine = systemClock, paces = PACES }: { machine?: Clock; paces?: Paces } = {},
): Promise<RunningWorker> {
  trustCertificates(env.caFile);
  offerTlsSuites(env.tlsCiphers);
  openTracer(env.tracing, { process: "worker", log, clock: systemClock });
  await tracerOpening();
  const { db, keyedDb, upkeepDb, auditDb, clock } = await openStore(env, log, machine);
  const connection: LaneConnection =
    env.redisUrl === null
      ? { kind: "postgres", connectionString: env.databaseUrl, max: 3 }
      : { kind: "redis", url: env.redisUrl };
  const lane = createLaneQueue(connection, systemClock);
  const deps = { db, lane, clock, log };
  const buckets = await openBuckets(env, connection, { clock, log });
  const secrets = { variables: process.env, listed: env.envReferences, files: secretFiles(env.secretFiles) };
  const brokers = brokerRegistry({
    clock,
    random: Math.random,
    addresses: env.addresses,
    secrets,
    report: (what, error) => log.warn({ err: error }, what),
  });
  const stopping = new AbortController();
  const id = uuidv7(clock.wallMs());
  const redriver = createRedriver({
    deps,
    keyedDb,
    bucket: buckets.bucket,
    openPublisher: (row) => {
      const stored = parseSourceConfig(row.kind, row.config);
      return targetAddress(stored, row.lane) === null ? null : brokers.publisher(stored, row.lane);
    },
    random: Math.random,
    workerId: id,
    stopping: stopping.signal,
    paces,
  });
  const archive =
    env.archive &&
    openArchiveStore(env.archive, { clock: machine, keys: env.archiveKeys, encryptionKeys: env.archiveEncryptionKeys });
  // With the time limit of a redrive: a store that falls silent now must not keep the start for as long as upkeep may take.
  await ensureDays(db, clock);
  const startedAtMs = clock.wallMs();
  const lostWork = createLostWork(redriver);
  const leadership = createLeadership({ clock, log, lostMs: paces.lostMs });
  const heartbeat = async (running: number) => {
    const info = heartbeatInfo(running, redriver.targets.reports(), buckets.bucket.worst());
    const sentMs = clock.nowMs();
    const { alive, oldest, storeMs } = await writeHeartbeat(db, { id, startedAtMs, info }, paces.lostMs);
    buckets.shareAmong(alive);
    lostWork.seen(storeMs);
    leadership.seen({ oldest, sentMs });
  };
  // Before the first slice: those of a worker without a heartbeat are given to others.
  await heartbeat(0);
  const lanes = await startLanes({ ...redriver, archive }, connection, systemClock);
  const outbox = startOutboxPublisher({
    db,
    clock,
    log,
    random: Math.random,
    secret: env.confirmedSecret,
    addresses: env.addresses,
    secrets,
    paces,
  });
  const messages = startAlertPublisher({
    ...{ db, clock, log, random: Math.random, addresses: env.addresses, secrets },
    paces,
  });
  const consumers = startConsumers({
    ...{ db, clock, log, brokers, archive, workerId: id },
    paces,
  });
  const beat: RegularWork = {
    name: "heartbeat",
    everyMs: paces.heartbeatMs,
    work: async () => {
      redriver.targets.heal();
      await heartbeat(lanes.running());
      if (env.healthFile !== null) await writeFile(env.healthFile, "");
    },
  };
  const retention: RegularWork = {
    name: "retention",
    everyMs: 600_000,
    work: () => runRetention({ ...deps, archive, upkeepDb }),
  };
  const forgets: RegularWork = {
    name: "forget",
    everyMs: paces.forgetMs,
    work: (signal) => workForgets({ ...deps, archive }, signal),
  };
  const alerts: RegularWork = {
    name: "alerts",
    everyMs: paces.alertsMs,
    work: () => evaluateAlerts({ db, clock, log, publicUrl: env.publicUrl }),
  };
  // Apart from the alerts: rules that cannot be judged keep no result back.
  const results: RegularWork = {
    name: "results",
    everyMs: paces.resultsMs,
    work: () => notifyOperations({ db, clock, publicUrl: env.publicUrl }),
  };
  const places = openAnchorPlaces(env.auditAnchors.locations, { clock: machine, keys: env.archiveKeys });
  const anchoring = { db, clock, places, ...env.auditAnchors };
  const audit: RegularWork[] = [
    { name: "audit seals", everyMs: 1_000, work: (signal) => sealEntries(db, signal) },
    { name: "audit anchors", everyMs: 10_000, work: () => writeAnchors(anchoring) },
    {
      name: "audit checks",
      everyMs: 1_000,
      work: (signal) => workVerifications({ ...anchoring, db: auditDb, log }, signal),
    },
  ];
  const measures = env.room.disk !== null || env.room.storeBytesMax !== null;
  /** What concerns this process alone, or replaces a leader that is lost. */
  const own: RegularWork[] = [
    beat,
    // Apart from the heartbeat, which must not wait for the locks of a lost worker.
    { name: "lost work", everyMs: paces.lostWorkMs, work: () => lostWork.recover() },
    // The targets that this worker sends to: an operator's orders must arrive between two pages, too.
    {
      name: "targets",
      everyMs: paces.targetsMs,
      work: async () => {
        if (redriver.slices.count() > 0) await redriver.targets.refreshed();
      },
    },
    // The disk that this machine sees.
    ...(measures ? [{ name: "room", everyMs: ROOM_EVERY_MS, work: () => measureRoom(db, env.room) }] : []),
  ];
  const rounds = [retention, forgets, alerts, results, ...audit, ...roundsOf(redriver, upkeepDb)];
  const regular = startRegularWork(own, { clock, log });
  const led = startRegularWork(rounds, { clock, log, leadership });

  log.info({ queue: connection.kind, sources: consumers.running() }, "worker started");
  const stop = async (why: string) => {
    log.info({ why, running: lanes.running() }, "worker stopping");
    stopping.abort(new Error(why));
    // In steps: each step uses parts that a later step closes. A part that fails or hangs does not keep another part
    // open.
    const work = [lanes.stop(GRACE_MS), consumers.stop(), regular.stop(), led.stop(), outbox.stop(), messages.stop()];
    await endAll("work", work, END_WORK_MS_MAX, { clock, log });
    await endAll("heartbeat and targets", [removeHeartbeat(db, id), redriver.close()], CLOSE_MS_MAX, { clock, log });
    const others = [
      lane.close(),
      buckets.close(),
      archive?.close(),
      ...places.map((place) => place.close()),
      closeTracer(),
    ];
    await endAll("queue, buckets, archive and traces", others, CLOSE_MS_MAX, { clock, log });
    await endAll("store", [auditDb.end(), upkeepDb.end(), keyedDb.end(), db.end()], CLOSE_MS_MAX, { clock, log });
    log.info("worker stopped");
  };
  return { stop };
}

/** Each keeps its own plans, and a plan over all partitions takes tens of milliseconds to make. */
const KEYED_CONNECTIONS_MAX = 4;

async function openStore(env: Env, log: Log, machine: Clock) {
  const onIdleError = (error: Error) => log.warn({ err: error }, "an idle store connection broke");
  const options = {
    statementTimeoutMs: STATEMENT_MS_MAX,
    idleInTransactionMs: IDLE_IN_TRANSACTION_MS,
    chance: { clock: machine, random: Math.random },
    applicationName: "parkade-worker",
    onIdleError,
  };
  const db = createDb(env.databaseUrl, { ...options, max: env.databasePool });
  const keyedDb = createDb(env.databaseUrl, {
    ...options,
    max: Math.min(KEYED_CONNECTIONS_MAX, env.databasePool),
    genericPlans: "keys",
  });
  // The lane uses the machine's own clock: BullMQ compares its delays with that clock.
  const clock = databaseClock(machine, db);
  await clock.sync();
  const upkeepDb = createDb(env.databaseUrl, {
    max: 1,
    statementTimeoutMs: UPKEEP_STATEMENT_MS_MAX,
    applicationName: "parkade-upkeep",
    onIdleError,
  });
  // Of its own: a check of years takes minutes, and upkeep must not wait for it.
  const auditDb = createDb(env.databaseUrl, {
    max: 1,
    statementTimeoutMs: UPKEEP_STATEMENT_MS_MAX,
    applicationName: "parkade-audit",
    onIdleError,
  });
  return { db, keyedDb, upkeepDb, auditDb, clock };
}

/** The shared token buckets, with the local fallback for the time without them. */
async function openBuckets(env: Env, connection: LaneConnection, { clock, log }: { clock: Clock; log: Log }) {
  const { bucket: shared, close } = await openTokenBucket(connection, (error) =>
    log.warn({ err: error }, "an idle bucket connection broke"),
  );
  /**
   * From the last heartbeat: a worker that stopped since is still counted, so the rate is lower than allowed, never
   * higher.
   */
  let workersAlive = 1;
  const bucket = guardBucket(shared, {
    fallback: env.bucketFallback,
    workers: () => workersAlive,
    clock,
    onChange: ({ key, state, ratePerSecond, error }) => {
      if (state === "shared") log.info({ bucket: key }, "token bucket answers again");
      if (state === "local") {
        const facts = { bucket: key, ratePerSecond, workers: workersAlive, err: error };
        log.warn(facts, "token bucket does not answer, sending at this worker's share of the rate");
      }
    },
  });
  const shareAmong = (workers: number) => {
    workersAlive = workers;
  };
  return { bucket, shareAmong, close };
}

/** The rounds of redrives, groups and upkeep. */
function roundsOf(redriver: Redriver, upkeepDb: Db): RegularWork[] {
  const { paces } = redriver;
  let lookedTo: AggregateCursor = null;
  let linesTo = LINES_START;
  let behindTo: string | undefined;
  return [
    { name: "reconcile", everyMs: paces.reconcileMs, work: () => reconcile(redriver) },
    {
      name: "items behind others",
      everyMs: paces.reconcileMs,
      work: async () => {
        behindTo = await wakeForgotten(redriver, behindTo);
      },
    },
    { name: "canary", everyMs: paces.canaryMs, work: () => advanceCanaries(redriver) },
    { name: "start", everyMs: paces.startMs, work: () => startWaiting(redriver) },
    { name: "confirm", everyMs: paces.confirmMs, work: () => confirmQuietEvents(redriver) },
    { name: "redrive rules", everyMs: paces.rulesMs, work: () => runRedriveRules(redriver) },
    {
      name: "groups",
      everyMs: paces.groupsMs,
      work: async () => {
        await moveGroups(redriver.db);
        await regroupEvents(redriver);
      },
    },
    {
      name: "fold",
      everyMs: paces.foldMs,
      work: async () => {
        await foldRollups(upkeepDb);
        await foldTicks(upkeepDb);
      },
    },
    {
      name: "upkeep",
      everyMs: 600_000,
      work: async () => {
        await ensureDays(upkeepDb, redriver.clock);
        await removeExpired(upkeepDb);
        await removeOldWaves(upkeepDb);
        await removeOldAlerts(upkeepDb);
        await removeOldMutes(upkeepDb);
        await removeOldControls(upkeepDb);
        await removeOldTicks(upkeepDb, redriver.clock.wallMs());
        for (let page = 0; page < UPKEEP_PAGES && (page === 0 || lookedTo !== null); page++) {
          lookedTo = await removeIdleAggregates(upkeepDb, lookedTo);
        }
        for (let page = 0; page < UPKEEP_PAGES; page++) {
          const { next, mended } = await mendLines(upkeepDb, linesTo);
          if (mended > 0)
            redriver.log.warn({ events: mended }, "lines of aggregates differed from their events, mended");
          linesTo = next;
          if (next.eventId === LINES_START.eventId) break;
        }
      },
    },
  ];
}

async function ensureDays(db: Db, clock: Clock): Promise<void> {
  await ensurePartitions(db, clock.wallMs(), clock.wallMs() + DAYS_AHEAD * DAY_MS);
}

/** Waits for the parts to end, for a limited time. Logs parts that fail, and continues without parts that hang. */
async function endAll(
  what: string,
  parts: (Promise<unknown> | undefined)[],
  msMax: number,
  { clock, log }: { clock: Clock; log: Log },
): Promise<void> {
  const ended = Promise.allSettled(parts).then((outcomes) => {
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") log.warn({ what, err: outcome.reason }, "not ended in good order");
    }
    return true;
  });
  if ((await atMost(clock, msMax, ended)) === null) log.warn({ what }, "does not end, going on without it");
}
