import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { PublishError } from "@/lib/brokers/port";
import { ignoreEvents, releaseEvents } from "@/lib/events/bulk/ignore-events";
import { mergeGroup, splitGroup } from "@/lib/events/groups/aliases/merge-groups";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { confirmEvents } from "@/lib/intake/confirm-events";
import { parkEvents } from "@/lib/intake/park-events";
import { restoreArchived } from "@/lib/keep/archive/restore-archived";
import { disarm } from "@/lib/keep/backup/restore-backup";
import { runRetention } from "@/lib/keep/retention/expire-events";
import type { Deps } from "@/lib/lane/deps";
import type { ControlKind } from "@/lib/order/controls/control.pure";
import type { ControlRequest } from "@/lib/order/controls/controls.shapes";
import { imposeControl } from "@/lib/order/controls/impose-control";
import { liftControl } from "@/lib/order/controls/lift-controls";
import { removeIdleAggregates } from "@/lib/order/idle-aggregates.write";
import type { Earlier } from "@/lib/order/order-gate.pure";
import { skipHead, undoSkip } from "@/lib/order/skip-head";
import type { ArchiveStore } from "@/lib/platform/archive/archive-store";
import type { Clock } from "@/lib/platform/clock";
import { databaseClock } from "@/lib/platform/database/database-clock";
import { createDb, type Db } from "@/lib/platform/database/db";
import { createLowRateStore, type LowRateStore } from "@/lib/platform/database/prisma";
import { createLog } from "@/lib/platform/log";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { confirmQuietEvents } from "@/lib/redrive/confirm/confirm-quiet-events";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { imposeStop, resumeSends } from "@/lib/redrive/life/change-stop";
import { decideApproval } from "@/lib/redrive/life/decide-approval";
import { reconcile } from "@/lib/redrive/life/reconcile";
import { startWaiting } from "@/lib/redrive/life/start-redrive";
import { advanceCanaries } from "@/lib/redrive/pace/canary-and-brake";
import { previewRedrive } from "@/lib/redrive/preview/preview-redrive";
import { type PreviewOut, previewRequestSchema } from "@/lib/redrive/preview/redrive-preview.shapes";
import { type RedriveChange, redriveRequestSchema } from "@/lib/redrive/request/redrive-request.shapes";
import { requestRedrive } from "@/lib/redrive/request/request-redrive";
import type { MendingDeps } from "@/lib/repair/mends/examine-mend";
import { requestMend, requestUndoMend } from "@/lib/repair/mends/request-mend";
import { editEvent, restoreRevision } from "@/lib/repair/revisions/revise-event";
import { changeRedriveRule, createRedriveRule, deleteRedriveRule } from "@/lib/rules/redrive-rules";
import { redriveRuleRequestSchema } from "@/lib/rules/redrive-rules.shapes";
import { runRedriveRules } from "@/lib/rules/run-redrive-rules";
import { tryRedriveRule } from "@/lib/rules/try-redrive-rule";
import type { Selection } from "@/lib/selection/selection.shapes";
import { createPayloadChecker } from "@/lib/sources/schemas/check-payload";
import { createSchemaCheck } from "@/lib/sources/schemas/schema-check";
import { EVENT_MOVES, type EventMove, type EventStatus } from "@/lib/states/event-state.pure";
import type { ItemState } from "@/lib/states/item-state.pure";
import { isFinal, type RedriveState } from "@/lib/states/redrive-state.pure";
import { addSource, deadLetter, deliveredEarlier } from "@/lib/testing/letters";
import { mendAllLines } from "@/lib/testing/lines";
import {
  type EventFacts,
  expiring,
  type ImposedControl,
  KEPT_DAYS,
  REDRIVE_LIMIT,
  RULE,
  readFacts,
  ruling,
  takenByRule,
} from "@/lib/testing/model-predictions";
import { auditGaps, contradictions, rollupDrift } from "@/lib/testing/rollup-drift";
import { type SavedStore, saveStore } from "@/lib/testing/saved-store";
import { settableClock } from "@/lib/testing/settable-clock";
import { loseSlices } from "@/lib/testing/slice-items";
import {
  type HeldQueue,
  heldQueue,
  type PendingSend,
  type SteppedWorker,
  steppedWorker,
} from "@/lib/testing/stepped-worker";
import { workBulkOperation } from "@/workers/work-bulk-operation";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** How long ago old events were parked. */
const OLD_MS = (KEPT_DAYS + 10) * DAY_MS;

/** The store of many runs: a run has a source of its own. */
export type ModelStore = {
  url: string;
  db: Db;
  lowRate: LowRateStore;
  /** Sets the store's clock this far ahead of the machine's. It is never right: a time of another clock is seen by that. */
  setClock(aheadMs: number): Promise<void>;
  /** How far ahead of the machine's clock a written time may be. */
  aheads: Set<number>;
  openedMs: number;
  close(): Promise<void>;
};

/** The archive, in memory: what it does to a disk is proved elsewhere. */
function memoryArchive(): ArchiveStore {
  const objects = new Map<string, Uint8Array>();
  return {
    place: "memory",
    put: async (key, bytes) => void objects.set(key, bytes),
    get: async (key) => objects.get(key) ?? null,
    list: async function* (prefix) {
      for (const [key, { byteLength }] of objects) if (key.startsWith(prefix)) yield { key, bytes: byteLength };
    },
    remove: async (key) => void objects.delete(key),
    close: async () => undefined,
  };
}

export async function openModelStore(server: string, { cooldownMs = 0 } = {}): Promise<ModelStore> {
  const clock = await settableClock(server);
  const { url } = clock;
  const db = createDb(url, { max: 4 });
  const lowRate = createLowRateStore(url);
  // An event may go round and round: the limits against loops are within reach, and nothing cools down unless asked.
  await db.run(
    `insert into settings (key, value, updated_by)
     values ('cooldownMs', '${cooldownMs}', 'model'), ('redriveLimit', '${REDRIVE_LIMIT}', 'model')`,
  );
  await db.run("create schema saved");
  // Its day stays, so that no run makes the tables of old events again.
  await addSource(db, "keeper");
  const [old, aheads] = [deadLetter({ eventId: "old" }), new Set<number>()];
  await parkEvents({ db, clock: impatientClock() }, [{ source: "keeper", letter: old }], localViewer("producer"), {
    atMs: Date.now() - OLD_MS,
  });
  let aheadMs = 0;
  return {
    url,
    db,
    lowRate,
    aheads,
    openedMs: Date.now(),
    setClock: async (ms) => {
      for (const one of [ms, ms - OLD_MS]) aheads.add(one);
      if (ms !== aheadMs) await clock.set(ms);
      aheadMs = ms;
    },
    close: async () => {
      await clock.end();
      await lowRate.end();
      await db.end();
    },
  };
}

/** Time of a request passes when it waits. */
function impatientClock(wallMs = () => Date.now()): Clock {
  let passedMs = 0;
  return {
    nowMs: () => passedMs,
    wallMs,
    sleep: async (ms) => {
      passedMs += ms;
    },
    timer: () => () => undefined,
  };
}

type EventRow = {
  id: string;
  eventId: string;
  status: EventStatus;
  revision: number;
  /** The highest number in use. */
  last: number;
  version: string | null;
  aggregateId: string | null;
  confirmed: boolean;
  redriveId: string | null;
};
type RedriveRow = {
  id: string;
  state: RedriveState;
  mode: string;
  earlier: string;
  lane: "main" | "slow";
  awaits: boolean;
};
type Seen = { events: Map<string, EventRow>; redrives: Map<string, RedriveRow> };

/** What became of one send: `lost` = the target took it, and nobody heard its answer. */
type Fate = "open" | "taken" | "lost" | "refused" | "failed";
type Sent = {
  eventId: string;
  redriveId: string;
  attempt: number;
  key: string;
  payload: string;
  step: number;
  fate: Fate;
  pending: PendingSend;
  /** By the clock of its worker, when its answer asked for a repeat after a delay, and nothing has cut that short. */
  delayedMs: number | null;
};

/** What a command may do to events that exist. */
const BY_WORK: EventMove[] = [
  "deliver",
  "deliverBounced",
  "skip",
  "pass",
  "refuse",
  "fail",
  "cancel",
  "giveBack",
  "exhaust",
  // A word of a consumer counts when its event leaves the redrive.
  "confirm",
];
const MAY = {
  park: ["bounce", "exhaust"],
  redrive: ["freeze"],
  work: BY_WORK,
  cancel: ["cancel", "confirm"],
  ignore: ["ignore"],
  release: ["release"],
  confirm: ["confirm"],
  revise: [],
  run: ["freeze", ...BY_WORK],
  expire: [],
  restore: [],
  nothing: [],
} as const satisfies Record<string, readonly EventMove[]>;
type Class = keyof typeof MAY;
/** The commands that may make another revision current. */
const REVISES: readonly Class[] = ["revise", "park"];

/** All statuses that moves of a class lead to, from one status. */
function reachable(from: EventStatus, kind: Class): Set<EventStatus> {
  const found = new Set([from]);
  for (let grown = true; grown; ) {
    grown = false;
    for (const move of MAY[kind]) {
      const { from: before, to } = EVENT_MOVES[move];
      if ((before as readonly EventStatus[]).some((status) => found.has(status)) && !found.has(to)) {
        found.add(to);
        grown = true;
      }
    }
  }
  return found;
}

/** What a stop of all sends stops. */
const EVERYTHING = "everything";

/** A rule was broken. */
class Broken extends Error {}

/** A selection that is previewed, dry-run and, unless `send` is null, sent: to a target that is away for the first sends. */
export type RunChoice = {
  by: "ids" | "one" | "source" | "pending" | "bounced" | "aggregate";
  mask: number;
  earlier: Earlier;
  send: { away: number; confirms: boolean } | null;
};

/** How many were compared, over all runs: redrives that came to their end. */
export const compared = { previews: 0, redrives: 0 };

/** The store and the model's knowledge of it at one moment. */
type Backup = {
  store: SavedStore;
  seen: Seen;
  known: (() => void)[];
  flags: { markedTarget: boolean; stoppedTarget: boolean; rule: ModelRule | null };
  sends: number;
  open: Set<Sent>;
};
type ModelRule = { id: string; trial: string; enabled: boolean };

/** Before the second attempt of a send: the first delay of the preset `slow-lane`, of which the workers of the model draw half. */
const DELAY_MS = 500;

/** Messages of events, each of a group. */
const GROUPS = ["no stock", "no answer"];
const RUN_ROUNDS_MAX = 12;
const WORKERS = 2;
const ROUNDS_MAX = 80;
let runs = 0;

/**
 * One run of the model: a store, two workers that take one statement at a time, and a target whose answers the test gives.
 * After each command the store is compared with what it was before: only legal moves of the events that the command may move,
 * and no send that a stop, an order or a fence forbids.
 */
export async function openModel(store: ModelStore) {
  const source = `run-${++runs}`;
  await store.setClock(HOUR_MS);
  // A run before that has failed may have left them.
  await store.db.run("update redrive_rules set enabled = false where enabled");
  await store.db.run("update stops set lifted_at = now() where lifted_at is null");
  const sourceId = await addSource(store.db, source);
  await store.db.run("update targets set rate_per_second = null where source_id = $1", [sourceId]);
  const queue: HeldQueue = heldQueue();
  const log = createLog({ level: "silent", process: "model" });
  /** How far ahead the wall clocks of the machines are: of the web, of each worker. */
  const machines = { web: 0, workers: Array.from({ length: WORKERS }, () => 0) };
  const clock = databaseClock(
    impatientClock(() => Date.now() + machines.web),
    store.db,
  );
  await clock.sync();
  const schemas = createSchemaCheck(clock);
  const archive = memoryArchive();
  const deps: Deps & MendingDeps & { lowRate: LowRateStore; archive: ArchiveStore; upkeepDb: Db } = {
    ...{ db: store.db, upkeepDb: store.db, lowRate: store.lowRate, lane: queue, clock, log, archive },
    checkPayloads: createPayloadChecker(schemas, clock),
  };
  const sent: Sent[] = [];
  /** Sends that the restored store knows nothing about. */
  const undone: Sent[] = [];
  const letters = new Map<string, DeadLetter>();
  const [mayStillSend, requestedAt] = [new Map<string, number>(), new Map<string, number>()];
  const parkedAt = new Map<string, number>();
  /** Events that have expired, as they were. */
  const archived = new Map<string, EventRow>();
  const controls = new Map<string, ImposedControl & { expires: boolean }>();
  let rule: ModelRule | null = null;
  /** How many events, and which version of each aggregate, the producers have made. */
  const produced = { events: 0, versions: new Map<string, number>() };
  /** The bytes of each key, whatever store has sent it. */
  const keyed = new Map<string, string>();
  let backup: Backup | null = null;
  const [processed, skipped] = [new Set<string>(), new Set<string>()];
  /** Redrives that wait for a time or a breaker, and that nobody has started. */
  const later = new Set<string>();
  let [markedTarget, stoppedTarget] = [false, false];
  /** By event and revision, and by redrive and event. */
  const [bytes, frozen] = [new Map<string, string>(), new Map<string, number>()];
  const broken: unknown[] = [];
  const before = (await store.db.query<{ id: string }>("select id from bulk_operations")).map(({ id }) => id);
  let [step, made] = [0, 0];
  let seen: Seen = { events: new Map(), redrives: new Map() };

  /** On the machine of that place; null = one whose clock is right. */
  const newWorker = async (place: number | null): Promise<SteppedWorker> => {
    const worker = steppedWorker({
      number: ++made,
      databaseUrl: store.url,
      queue,
      wallMs: () => Date.now() + (place === null ? 0 : machines.workers[place]!),
      onSend: (pending) => void noteSend(pending),
      onEnd: (lane, job, outcome) => {
        if ("error" in outcome) broken.push({ rule: "a slice ends without an error", error: String(outcome.error) });
        else if (outcome.kind === "again") queue.held.push({ queue: lane, job });
      },
    });
    await worker.clock.sync();
    return worker;
  };
  const workers = await Promise.all(machines.workers.map((_, place) => newWorker(place)));
  /** It works whole redrives, while the other workers stand still. */
  let runner: SteppedWorker | null = null;

  function noteSend(pending: PendingSend): void {
    const { eventId, redriveId, attempt, idempotencyKey: key, payload } = pending.message;
    const one: Sent = {
      ...{ eventId, redriveId, attempt, key, payload: Buffer.from(payload).toString() },
      ...{ step, fate: "open", pending, delayedMs: null },
    };
    checkStop(one);
    checkDelay(one);
    const known = keyed.get(key);
    if (known !== undefined && known !== one.payload) broken.push({ rule: "a key stands for the same bytes", key });
    keyed.set(key, one.payload);
    checkOrder(one);
    if (seen.redrives.get(redriveId)?.awaits) broken.push({ rule: "nothing is sent before its approval", redriveId });
    if (later.has(redriveId)) broken.push({ rule: "nothing is sent before its time", redriveId });
    if (sent.some((other) => other.redriveId === redriveId && other.eventId === eventId && other.attempt === attempt)) {
      broken.push({ rule: "one intent is one send", eventId, attempt });
    }
    const revision = Number(/:r(\d+)$/.exec(key)?.[1] ?? 1);
    if (revision !== frozen.get(`${redriveId} ${eventId}`)) broken.push({ rule: "the frozen revision is sent", key });
    if (one.payload !== bytes.get(`${eventId} ${revision}`)) broken.push({ rule: "its bytes are sent", key });
    sent.push(one);
  }

  /** After the answer to a stop at most the sends may come that it counted as under way. */
  function checkStop({ redriveId, eventId }: Sent): void {
    for (const subject of [redriveId, eventId, EVERYTHING]) {
      const left = mayStillSend.get(subject);
      if (left === undefined) continue;
      if (left === 0) broken.push({ rule: "nothing is sent after a stop", subject, eventId });
      else mayStillSend.set(subject, left - 1);
    }
  }

  /** A repeat waits for its delay, whatever the wall clock says meanwhile. */
  function checkDelay({ redriveId, eventId, pending }: Sent): void {
    const last = sent.findLast((other) => other.redriveId === redriveId && other.eventId === eventId);
    const worker = [...workers, runner].find((one) => one?.number === pending.worker);
    if (!last || last.delayedMs === null || !worker || last.pending.worker !== worker.number) return;
    const waitedMs = worker.clock.nowMs() - last.delayedMs;
    if (waitedMs < DELAY_MS) broken.push({ rule: "a repeat waits for its delay", eventId, waitedMs });
  }

  /** A later version never passes an earlier one that was parked when its redrive was requested, and was not sent yet. */
  function checkOrder({ eventId, redriveId }: Sent): void {
    const event = seen.events.get(eventId);
    if (!event?.aggregateId || seen.redrives.get(redriveId)?.earlier === "pass") return;
    if (sent.some((one) => one.eventId === eventId)) return;
    for (const other of seen.events.values()) {
      if (other.aggregateId !== event.aggregateId || Number(other.version) >= Number(event.version)) continue;
      // What its consumer has processed, and what is older than that, holds nothing back; nor does what a person skipped.
      if (skipped.has(other.eventId)) continue;
      if (isProcessed(other) || sent.some((one) => one.eventId === other.eventId)) continue;
      if (parkedAt.get(other.eventId)! >= requestedAt.get(redriveId)!) continue;
      broken.push({ rule: "a later version never passes an earlier parked one", eventId, earlier: other.eventId });
    }
  }

  function isProcessed({ aggregateId, version }: Pick<EventFacts, "aggregateId"> & { version: unknown }): boolean {
    const isNewer = (eventId: string) => {
      const known = letters.get(eventId)!;
      return known.aggregateId === aggregateId && known.version! >= BigInt(version as string);
    };
    if (aggregateId === null || version === null) return false;
    const quiet = [...seen.events.values(), ...archived.values()].filter(({ confirmed }) => confirmed);
    return [...processed].some(isNewer) || quiet.some(({ eventId }) => isNewer(eventId));
  }

  async function look(): Promise<Seen> {
    const events = await store.db.query<EventRow>(
      `select e.id, e.event_id as "eventId", e.status, e.revision, e.version::text as version,
              (select coalesce(max(v.revision), 1) from event_revisions v where v.id = e.id)::int as last, e.aggregate_id as "aggregateId",
              e.confirmed_at is not null as confirmed,
              (select i.redrive_id from open_items i where i.id = e.id) as "redriveId"
         from dlq_events e where e.source_id = $1 order by e.id`,
      [sourceId],
      { name: "model-events" },
    );
    const redrives = await store.db.query<RedriveRow>(
      "select id, state, mode, earlier, lane, awaits_approval as awaits from redrives where $1 = any(sources) order by id",
      [source],
      { name: "model-redrives" },
    );
    return {
      events: new Map(events.map((event) => [event.eventId, event])),
      redrives: new Map(redrives.map((redrive) => [redrive.id, redrive])),
    };
  }

  /** All promises that can go on have gone on; only sends, timers and statements that wait for their turn are left. */
  async function settle(): Promise<void> {
    for (let calm = 0; calm < 3; calm++) {
      await new Promise((resolve) => setImmediate(resolve));
      if ([...workers, ...(runner ? [runner] : [])].some((worker) => worker.busy())) calm = -1;
    }
  }

  /** Events that the command makes expire. */
  let leaving = new Set<string>();

  /** Runs one command and compares the store with what it was. Refusals of the product are answers, not failures. */
  async function command(kind: Class, run: () => Promise<unknown>): Promise<void> {
    step++;
    leaving = new Set();
    // A pause, a stop or the end of a lease gives an item back, and its next claim sends it at once.
    if (kind !== "work") for (const one of sent) one.delayedMs = null;
    try {
      await run();
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
    }
    await settle();
    const now = await look();
    noteRequests(now);
    for (const [eventId, before] of seen.events) {
      const after = now.events.get(eventId);
      if (leaving.has(eventId)) {
        if (after) broken.push({ rule: "old events expire", eventId, status: before.status });
        archived.set(eventId, before);
      } else if (!after) broken.push({ rule: "what was acknowledged stays", eventId, status: before.status });
      else if (!reachable(before.status, kind).has(after.status)) {
        broken.push({ rule: "only legal moves", kind, eventId, from: before.status, to: after.status });
      }
      if (after && (after.revision !== before.revision || after.last !== before.last) && !REVISES.includes(kind)) {
        broken.push({ rule: "only a revision or a bounce changes bytes", kind, eventId });
      }
      if (after && after.last > before.last + 1) broken.push({ rule: "numbers have no gap", eventId });
      if (after?.status === "QUEUED" && before.status === "QUEUED" && after.redriveId === before.redriveId) {
        const kept = frozen.get(`${after.redriveId} ${eventId}`);
        if (kind === "revise" && after.revision !== before.revision)
          broken.push({ rule: "queued is not revised", kept });
      }
      if (after && (after.status === "QUEUED") !== (after.redriveId !== null)) {
        broken.push({ rule: "QUEUED is an open item", eventId, status: after.status, redriveId: after.redriveId });
      }
    }
    for (const [eventId, before] of archived) {
      const after = now.events.get(eventId);
      if (!after || seen.events.has(eventId)) continue;
      archived.delete(eventId);
      parkedAt.set(eventId, step);
      const isSame = after.revision === before.revision && after.last === before.last;
      if (
        kind === "park" ? !reachable(before.status, kind).has(after.status) : after.status !== before.status || !isSame
      )
        broken.push({ rule: "what has expired comes back as it was", eventId, before, after });
    }
    for (const [id, before] of seen.redrives) {
      const after = now.redrives.get(id)!;
      if (isFinal(before.state) && after.state !== before.state) broken.push({ rule: "a final redrive stays", id });
    }
    seen = now;
    if (broken.length > 0) throw new Broken(JSON.stringify(broken));
  }

  const eventAt = (place: number): EventRow | undefined =>
    [...seen.events.values()].at(place % (seen.events.size || 1));
  const redriveAt = (place: number): RedriveRow | undefined => {
    const live = [...seen.redrives.values()].filter(({ state }) => !isFinal(state));
    return live.at(place % (live.length || 1));
  };
  const sendsInHand = () => sent.filter(({ fate }) => fate === "open");
  const ada = localViewer("ada");

  const park = async (letter: DeadLetter, atMs = clock.wallMs()) => {
    await parkEvents(deps, [{ source, letter }], localViewer("producer"), { atMs });
  };

  /**
   * Runs a redrive to its end, with a target that is away for the first sends; what waits for another redrive stays open.
   */
  async function runToItsEnd(id: string, facts: { away: number; confirms: boolean }): Promise<void> {
    runner ??= await newWorker(null);
    let { away } = facts;
    for (let round = 0; round < RUN_ROUNDS_MAX; round++) {
      for (const one of queue.held.filter(({ job }) => "redriveId" in job && job.redriveId === id)) {
        queue.held.splice(queue.held.indexOf(one), 1);
        if (one.job.kind === "slice" || one.job.kind === "canary") runner.begin(one.queue as never, one.job);
      }
      for (let calm = 0; calm < 2; ) {
        await settle();
        calm++;
        for (; runner.waiting() > 0; calm = 0) {
          runner.pass();
          await settle();
        }
        for (const one of sent.filter(({ fate, redriveId }) => fate === "open" && redriveId === id)) {
          calm = 0;
          if (away-- > 0) {
            one.fate = "failed";
            one.pending.reject(new PublishError("ECONNREFUSED", "connect ECONNREFUSED", { sent: "no" }));
            continue;
          }
          if (facts.confirms) await confirmEvents(deps, { source, eventIds: [one.eventId] }, ada);
          if (facts.confirms) processed.add(one.eventId);
          one.fate = "taken";
          one.pending.take();
        }
      }
      const [row] = await store.db.query<{ state: RedriveState }>("select state from redrives where id = $1", [id]);
      if (isFinal(row!.state)) return;
      await runner.clock.advance(2_000);
    }
  }

  async function request(select: Selection, mode: "deliver" | "verify", earlier: Earlier): Promise<string> {
    const asked = redriveRequestSchema.parse({ mode, earlier, lane: "main", reason: "the service is back", select });
    const { id } = await requestRedrive(deps, { request: asked, idempotency: null }, ada);
    // Its first send may come before this command ends.
    noteRequests(await look());
    return id;
  }

  function noteRequests(now: Seen): void {
    for (const [id, redrive] of now.redrives) {
      if (seen.redrives.has(id)) continue;
      requestedAt.set(id, step);
      for (const { eventId, revision } of now.events.values()) frozen.set(`${id} ${eventId}`, revision);
      seen.redrives.set(id, redrive);
    }
  }

  async function itemsOf(id: string): Promise<ItemRow[]> {
    return store.db.query<ItemRow>(
      `select e.event_id as "eventId", i.state, i.result, i.detail from redrive_items i join dlq_events e on e.id = i.id
        where i.redrive_id = $1 order by 1`,
      [id],
    );
  }

  /** What waits for another redrive is handed back. */
  async function cancelRest(id: string): Promise<void> {
    await changeRedrive(deps, { id, change: { action: "cancel" } }, ada).catch(refusedIn);
    await runToItsEnd(id, { away: 0, confirms: false });
  }

  function selectionOf({ by, mask }: RunChoice): Selection | null {
    const events = [...seen.events.values()].filter((_, index) => (mask >> (index % 8)) & 1);
    const ids = events.map(({ id }) => id);
    if (ids.length === 0) return null;
    const aggregateId = events.flatMap((event) => event.aggregateId ?? [])[0];
    switch (by) {
      case "ids":
        return { ids };
      case "one":
        return { ids: ids.slice(0, 1) };
      case "source":
        return { filter: { source: [source] } };
      case "pending":
        return { filter: { source: [source], status: ["PENDING"] } };
      case "bounced":
        return { filter: { source: [source], status: ["BOUNCED"] } };
      case "aggregate":
        return aggregateId ? { filter: { source: [source], aggregateId: [aggregateId] } } : { ids };
    }
  }

  /** The preview says what a dry run of the same selection says, and that is what a redrive sends. */
  async function compareRuns(choice: RunChoice): Promise<void> {
    const select = selectionOf(choice);
    if (select === null) return;
    const { earlier } = choice;
    const asked = previewRequestSchema.parse({ select, earlier, lane: "main" });
    const preview = await previewRedrive({ ...deps, sample: SAMPLE_OF(deps) }, asked, ada);
    const facts = new Map((await readFacts(store.db, sourceId)).map((event) => [event.eventId, event]));
    const verify = await request(select, "verify", earlier);
    await runToItsEnd(verify, { away: 0, confirms: false });
    const items = await itemsOf(verify);
    compared.previews++;
    const [passed, waiting] = [eventsIn(items, "passed"), eventsIn(items, "open")];
    const about = { choice, preview, items };
    for (const fault of differences(preview, items))
      broken.push({ rule: "the preview is the dry run", fault, ...about });
    for (const { eventId, state, result } of items) {
      const said = ruling(facts.get(eventId)!, controls.values());
      const isRuled = said.blacklisted || said.cooling || said.exhausted;
      const isSaid = result === "blacklisted" ? said.blacklisted : result === "cooling" ? said.cooling : true;
      if ((state === "passed" && isRuled) || !isSaid)
        broken.push({ rule: "controls in force decide", eventId, said, state, result });
    }
    if (waiting.length > 0) await cancelRest(verify);
    if (choice.send === null || mayStillSend.has(EVERYTHING) || stoppedTarget) return;
    const deliver = await request(select, "deliver", earlier);
    await runToItsEnd(deliver, choice.send);
    const sends = await itemsOf(deliver);
    const [went, held] = [eventsIn(sends, "delivered"), eventsIn(sends, "open")];
    if (held.length === 0) compared.redrives++;
    const expected = choice.send.confirms ? [] : passed;
    const missed = expected.filter((eventId) => ![...went, ...held].includes(eventId));
    const more = went.filter((eventId) => ![...passed, ...waiting].includes(eventId));
    if (missed.length + more.length > 0)
      broken.push({ rule: "a redrive sends what the dry run passed", missed, more, sends, ...about });
    if (held.length > 0) await cancelRest(deliver);
  }

  return {
    sent,

    compare: (choice: RunChoice) => command("run", () => compareRuns(choice)),

    /** Its bytes are no JSON any more, though it says so. */
    spoil: (place: number) =>
      command("revise", async () => {
        const event = eventAt(place);
        if (!event) return;
        const text = `{"step": ${step}`;
        bytes.set(`${event.eventId} ${1 + event.last}`, text);
        await editEvent(deps, { id: event.id, base: event.revision, text, reason: "in haste", headersMax: 100 }, ada);
      }),

    control: (place: number, kind: ControlKind, by: "event" | "aggregate" | "code", expires: boolean) =>
      command("nothing", async () => {
        const event = eventAt(place);
        if (!event) return;
        const aggregateId = event.aggregateId;
        const scope =
          by === "aggregate" && aggregateId !== null
            ? { aggregateId, source }
            : by === "code"
              ? { errorCode: letters.get(event.eventId)!.errorCode, source }
              : { eventId: event.eventId, source };
        await impose({ kind, scope, expires: expires || kind === "cooldown" });
      }),

    /** `old`: it was parked longer ago than events are kept. */
    park: (aggregate: number, old = false) =>
      command("nothing", async () => {
        const number = produced.events++;
        const aggregateId = aggregate === 0 ? null : `order-${aggregate}`;
        const version = BigInt(1 + (produced.versions.get(`${aggregateId}`) ?? 0));
        produced.versions.set(`${aggregateId}`, Number(version));
        const atMs = clock.wallMs() - (old ? OLD_MS : 0);
        const letter = deadLetter({
          ...(old ? { failedAtMs: atMs } : {}),
          ...(number % 3 === 0 ? {} : { errorCode: RULE.errorCode }),
          eventId: `event-${number}`,
          aggregateId,
          version: aggregateId === null ? null : version,
          error: { type: "StockException", message: GROUPS[number % GROUPS.length]!, stack: null },
          payload: Buffer.from(`{"number": ${number}, "big": 9007199254740993}`),
        });
        letters.set(letter.eventId, letter);
        bytes.set(`${letter.eventId} 1`, letter.payload.toString());
        parkedAt.set(letter.eventId, step);
        await park(letter, atMs);
      }),

    /** The broker hands the letter out once more, without a mark. */
    parkAgain: (place: number) =>
      command("park", async () => {
        const letter = [...letters.values()].at(place % (letters.size || 1));
        if (!letter) return;
        // A restored store may not know it.
        if (!seen.events.has(letter.eventId) && !archived.has(letter.eventId)) parkedAt.set(letter.eventId, step);
        await park(letter);
      }),

    /** The consumer rejects what it had taken: the letter comes back with the mark of its redrive. */
    bounce: (place: number, changed: boolean) =>
      command("park", async () => {
        const taken = [...sent, ...undone].filter(({ fate }) => fate === "taken" || fate === "lost");
        const one = taken.at(place % (taken.length || 1));
        const event = one && (seen.events.get(one.eventId) ?? archived.get(one.eventId));
        // A restored store may not know it: it is parked as any other.
        if (!event) return;
        const payload = changed ? `{"step": ${step}}` : one.payload;
        bytes.set(`${one.eventId} ${1 + event.last}`, payload);
        await park({
          ...letters.get(one.eventId)!,
          payload: Buffer.from(payload),
          redrive: { redriveId: one.redriveId, attempt: one.attempt },
        });
      }),

    /** `stale`: by somebody who looked before the last revision. */
    edit: (place: number, stale: boolean) =>
      command("revise", async () => {
        const event = eventAt(place);
        if (!event) return;
        const { id, eventId, revision, last, status } = event;
        const text = `{"step": ${step}}`;
        const base = stale ? 1 : revision;
        bytes.set(`${eventId} ${1 + last}`, text);
        const edited = await editEvent(deps, { id, base, text, reason: "renamed", headersMax: 100 }, ada).then(
          (answer) => answer.revision,
          refusedIn,
        );
        const may = base === revision && (status === "PENDING" || status === "IGNORED");
        if (edited !== (may ? last + 1 : null))
          broken.push({ rule: "parked and current can be edited", event, edited });
      }),

    restore: (place: number, revision: number) =>
      command("revise", async () => {
        const event = eventAt(place);
        if (!event) return;
        const { id, status, last, revision: base } = event;
        const restored = await restoreRevision(deps, { id, base, revision, reason: "no cause" }, ada).then(
          (answer) => answer.revision,
          refusedIn,
        );
        const may = revision !== base && revision <= last && (status === "PENDING" || status === "IGNORED");
        if (restored !== (may ? revision : null))
          broken.push({ rule: "any revision can be restored", event, restored });
      }),

    redrive: (choice: {
      mask: number;
      mode: "deliver" | "verify";
      earlier: "hold" | "include" | "pass";
      canary: boolean;
      later: "time" | "breaker" | null;
    }) =>
      command("redrive", async () => {
        const chosen = [...seen.events.values()].filter((_, index) => (choice.mask >> (index % 8)) & 1);
        if (chosen.length === 0) return;
        const { mode, earlier, canary } = choice;
        const request = redriveRequestSchema.parse({
          ...{ mode, earlier, lane: "main", reason: "the service is back" },
          select: { ids: chosen.map(({ id }) => id) },
          ...(mode === "deliver" && canary ? { canary: { steps: [1, 2], quietMs: 100 } } : {}),
          ...(choice.later === "time" ? { startAt: inSixHours() } : {}),
          // No worker of the model has a heartbeat: whether the breaker is open is not known.
          ...(choice.later === "breaker" ? { startWhen: { breakerCloses: true } } : {}),
        });
        const { id } = await requestRedrive(deps, { request, idempotency: null }, ada);
        if (choice.later !== null) later.add(id);
      }),

    /** A worker takes a job of the queue. A job that is handed out twice stays in the queue. */
    begin: (worker: number, place: number, twice: boolean) =>
      command("work", async () => {
        const jobs = queue.held.filter(({ job }) => job.kind === "slice" || job.kind === "canary");
        const one = jobs.at(place % (jobs.length || 1));
        if (!one || one.queue === "sets") return;
        if (!twice) queue.held.splice(queue.held.indexOf(one), 1);
        workers[worker % WORKERS]!.begin(one.queue, one.job as never);
      }),

    /** Lets up to `count` statements of a worker pass, one after the other. */
    pass: (worker: number, count: number) =>
      command("work", async () => {
        for (let passed = 0; passed < count && workers[worker % WORKERS]!.waiting() > 0; passed++) {
          workers[worker % WORKERS]!.pass();
          await settle();
        }
      }),

    answer: (place: number, how: "take" | "refuse" | "fail" | "cut") =>
      command("work", async () => {
        const open = sendsInHand();
        const one = open.at(place % (open.length || 1));
        if (!one) return;
        if (how === "take") {
          one.fate = "taken";
          one.pending.take();
        } else if (how === "cut") {
          one.fate = "lost";
          one.pending.reject(new PublishError("ECONNRESET", "the connection broke", { sent: "maybe" }));
        } else {
          one.fate = how === "refuse" ? "refused" : "failed";
          const by = workers.find(({ number }) => number === one.pending.worker);
          if (how === "fail" && by && !one.pending.givenUp()) one.delayedMs = by.clock.nowMs();
          const status = how === "refuse" ? 422 : 503;
          one.pending.reject(new PublishError(`HTTP_${status}`, `${status}`, { status, sent: "no" }));
        }
      }),

    /** The worker is gone. What was under way has arrived, or has not; nobody hears of it. */
    crash: (worker: number, arrives: boolean) =>
      command("work", async () => {
        const place = worker % WORKERS;
        const gone = workers[place]!;
        for (const one of sendsInHand()) {
          if (one.pending.worker === gone.number) one.fate = arrives ? "lost" : "failed";
        }
        await gone.kill();
        workers[place] = await newWorker(place);
      }),

    /** Half a minute passes in the store: pauses end, and workers are given up, also one that only stands still. */
    givenUp: () => command("nothing", () => giveUp()),

    /** Time passes in a worker: it looks at its redrives, backoffs end, sends time out. */
    tick: (worker: number, ms: number) =>
      command("work", async () => {
        await workers[worker % WORKERS]!.clock.advance(ms);
      }),

    change: (place: number, action: "pause" | "resume" | "cancel") =>
      command(action === "cancel" ? "cancel" : "nothing", async () => {
        const redrive = redriveAt(place);
        if (!redrive) return;
        const { underWay } = await changeRedrive(deps, { id: redrive.id, change: { action } }, ada);
        if (action === "resume") mayStillSend.delete(redrive.id);
        else mayStillSend.set(redrive.id, underWay!);
      }),

    /** It goes on at another rate, and with a canary again. */
    resumeWith: (place: number, change: Omit<Extract<RedriveChange, { action: "resume" }>, "action">) =>
      command("nothing", async () => {
        const redrive = redriveAt(place);
        if (!redrive) return;
        await changeRedrive(deps, { id: redrive.id, change: { action: "resume", ...change } }, ada);
        mayStillSend.delete(redrive.id);
      }),

    /** A redrive that waits for a time or a breaker starts now. */
    start: (place: number) => command("nothing", () => startNow(redriveAt(place)?.id)),

    /** The round of a worker that starts what has waited. */
    startWaiting: () => command("cancel", () => startWaiting(deps)),

    lane: (place: number, lane: "main" | "slow") =>
      command("nothing", async () => {
        const redrive = redriveAt(place);
        if (!redrive) return;
        await changeRedrive(deps, { id: redrive.id, change: { lane } }, ada);
        if (!markedTarget || lane !== "main" || redrive.lane === "main" || redrive.mode === "verify") return;
        const asked = await store.db.query("select 1 from approvals where subject_id = $1", [redrive.id]);
        const open = [...seen.events.values()].some(({ redriveId }) => redriveId === redrive.id);
        if (asked.length === 0 && open) broken.push({ rule: "a marked target asks for an approval", redrive });
      }),

    ignore: (place: number) =>
      command("ignore", async () => {
        const event = eventAt(place);
        if (!event) return;
        const { changed } = await ignoreEvents(deps, { select: { ids: [event.id] }, reason: "obsolete" }, ada);
        if (changed === 1) mayStillSend.set(event.eventId, 0);
      }),

    release: (place: number) =>
      command("release", async () => {
        const event = eventAt(place);
        if (!event) return;
        const { changed } = await releaseEvents(deps, { select: { ids: [event.id] }, reason: "needed" }, ada);
        if (changed === 1) mayStillSend.delete(event.eventId);
      }),

    /** Groups are those of all runs: events of runs before may move as well. */
    merge: (place: number) =>
      command("nothing", async () => {
        const groups = await store.db.query<{ fingerprint: string }>(
          "select fingerprint from dlq_groups order by fingerprint",
        );
        const [group, into] = [groups.at(place % groups.length), groups.at((place + 1) % groups.length)];
        if (!group || !into) return;
        const request = { into: into.fingerprint, reason: "one cause" };
        await mergeGroup(deps, { fingerprint: group.fingerprint, request }, ada);
      }),

    split: (place: number) =>
      command("nothing", async () => {
        const merged = await store.db.query<{ fingerprint: string }>(
          "select fingerprint from group_aliases where fingerprint <> target order by fingerprint",
        );
        const group = merged.at(place % (merged.length || 1));
        if (group) await splitGroup(deps, group.fingerprint, ada);
      }),

    confirm: (place: number) =>
      command("confirm", async () => {
        const event = eventAt(place);
        if (!event) return;
        processed.add(event.eventId);
        await confirmEvents(deps, { source, eventIds: [event.eventId] }, ada);
      }),

    /** The quiet window ends, and days pass: the rows of idle aggregates are removed before or after the confirmation. */
    quiet: (removedBefore: boolean) =>
      command("confirm", async () => {
        await deliveredEarlier(store.db, "3 days", sourceId);
        await store.db.run(
          "update aggregates set lease_until = now() - interval '3 days' where source_id = $1 and lease_until < now()",
          [sourceId],
        );
        if (removedBefore) await removeIdleAggregates(store.db, null);
        await confirmQuietEvents(deps);
        await removeIdleAggregates(store.db, null);
      }),

    blacklist: (place: number, expires: boolean) =>
      command("nothing", async () => {
        const event = eventAt(place);
        if (!event) return;
        const { underWay } = await impose({ kind: "blacklist", scope: { eventId: event.eventId, source }, expires });
        mayStillSend.set(event.eventId, underWay!);
      }),

    /** Hours pass in the store, or more than a week: what happened was that long ago, and what was to expire by then has expired. */
    timePasses: (weeks: boolean) =>
      command("nothing", async () => {
        const earlier = (column: string) => `${column} = ${column} - interval '${weeks ? "8 days" : "2 hours"}'`;
        await store.db.run(
          `update dlq_events set ${["redrive_at", "confirmed_at", "last_attempt_at", "cooldown_until"].map(earlier).join(", ")}
            where source_id = $1`,
          [sourceId],
        );
        await mendAllLines(store.db);
        await store.db.run(
          `update quiet_windows w set ${earlier("since")} from dlq_events e where e.id = w.event_ids[1] and e.source_id = $1`,
          [sourceId],
        );
        for (const table of ["event_revisions", "event_bounces"])
          await store.db.run(
            `update ${table} r set ${earlier("at")} from dlq_events e where e.id = r.id and e.source_id = $1`,
            [sourceId],
          );
        await store.db.run(
          `update restored_events r set ${earlier("kept_until")} from dlq_events e where e.id = r.id and e.source_id = $1`,
          [sourceId],
        );
        if (rule) await store.db.run(`update redrive_rule_runs set ${earlier("at")} where rule_id = $1`, [rule.id]);
        await store.db.run(
          "update controls set expires_at = now() - interval '1 s' where source = $1 and expires_at is not null and lifted_at is null",
          [source],
        );
        for (const [id, { expires }] of controls) if (expires) controls.delete(id);
        freeUnlisted();
      }),

    /** The round of retention of one worker or of two, on the next day, and the work that it makes. */
    expire: (twice: boolean) =>
      command("expire", async () => {
        const periods = { days: 3_650, rules: [{ source, errorCode: null, days: KEPT_DAYS }] };
        await store.db.run(
          `insert into settings (key, value, updated_by) values ('retention', $1, 'model')
           on conflict (key) do update set value = excluded.value`,
          [JSON.stringify(periods)],
        );
        await store.db.run("delete from retention_runs where source = $1", [source]);
        leaving = expiring(await readFacts(store.db, sourceId), isProcessed);
        const rounds = twice ? [1, 2] : [1];
        await Promise.all(rounds.map(() => runRetention(deps)));
        const never = new AbortController().signal;
        for (const id of await operations("'expire'", true))
          await Promise.all(rounds.map(() => workBulkOperation(deps, id, never)));
      }),

    /** A person restores an expired event. */
    bringBack: (place: number) =>
      command("nothing", async () => {
        const event = [...archived.values()].at(place % (archived.size || 1));
        if (!event) return;
        const { restored } = await restoreArchived(deps, { ids: [event.id] }, ada);
        if (restored !== 1) broken.push({ rule: "what has expired can be restored", event });
      }),

    /** Makes the rule, or switches it on or off. */
    setRule: (enabled: boolean) => command("nothing", () => setRule(enabled)),

    /** The round of redrive rules of one worker or of two. */
    applyRule: (twice: boolean) => command("redrive", () => applyRule(twice)),

    /** The wall clock of a machine jumps: of a worker, or of the web. `measured`: its process has compared it with the store's since. */
    clockStep: (place: number, aheadMs: number, measured: boolean) =>
      command("work", async () => {
        if (place === WORKERS) {
          machines.web = aheadMs;
          await clock.sync();
          return;
        }
        machines.workers[place] = aheadMs;
        const { clock: own } = workers[place]!;
        if (measured) await own.sync();
        store.aheads.add(Math.round((own.wallMs() - Date.now()) / 60_000) * 60_000);
      }),

    /** The store's clock is set: a lease may end by that, and every process measures the difference again. */
    storeClock: (aheadMs: number) =>
      command("nothing", async () => {
        await store.setClock(aheadMs);
        for (const own of [clock, ...workers.map((worker) => worker.clock)]) await own.sync();
      }),

    backUp: () => command("nothing", backUp),

    /**
     * The store becomes what it was at the backup. No process of before is left; the target has what it was sent, and the queue has
     * its jobs or has lost them.
     */
    restoreStore: (arrives: boolean, lost: boolean) =>
      command("restore", async () => {
        backup ??= await backUp();
        for (const one of sendsInHand()) one.fate = arrives ? "lost" : "failed";
        for (const [place, worker] of workers.entries()) {
          await worker.kill();
          workers[place] = await newWorker(place);
        }
        await runner?.kill();
        runner = null;
        const { load } = backup.store;
        await store.db.transaction(async (tx) => {
          await load(tx);
          await disarm(tx, { id: randomUUID(), madeAt: iso(clock.wallMs()) }, "maria");
        });
        if (lost) queue.held.length = 0;
        for (const remember of backup.known) remember();
        ({ markedTarget, stoppedTarget, rule } = backup.flags);
        undone.push(...sent.splice(backup.sends));
        // Nobody has heard the answer of what was under way.
        for (const one of backup.open) one.fate = one.fate === "taken" || one.fate === "lost" ? "lost" : "failed";
        // Known gap: the next revision has the number, and so the key, of one that was made since the backup.
        for (const key of keyed.keys()) {
          const [, eventId, revision] = /:([^:]+):r(\d+)$/.exec(key) ?? [];
          if (revision && Number(revision) > (backup.seen.events.get(eventId!)?.last ?? 1)) keyed.delete(key);
        }
        for (const subject of mayStillSend.keys()) mayStillSend.set(subject, 0);
        mayStillSend.set(EVERYTHING, 0);
        ({ seen } = backup);
        const now = await look();
        if (!isDeepStrictEqual(now, seen))
          broken.push({ rule: "a restore gives the store of the backup", seen: seenWords(seen), now: seenWords(now) });
      }),

    lift: () =>
      command("nothing", async () => {
        const imposed = await store.db.query<{ id: string; value: string }>(
          "select id, value from controls where lifted_at is null and source = $1",
          [source],
        );
        for (const { id, value } of imposed) {
          await liftControl(deps, { id, reason: "repaired" }, ada);
          controls.delete(id);
          if (seen.events.get(value)?.status !== "IGNORED") mayStillSend.delete(value);
        }
      }),

    skip: (place: number) =>
      command("nothing", async () => {
        const event = eventAt(place);
        if (!event) return;
        await skipHead(deps, { id: event.id, reason: "corrected by hand" }, ada);
        skipped.add(event.eventId);
      }),

    undoSkip: (place: number) =>
      command("nothing", async () => {
        const event = eventAt(place);
        if (event) await undoSkip(deps, { id: event.id, reason: "not corrected" }, ada);
      }),

    /** The request freezes the revisions; the work follows, by one worker or by two. */
    mend: (mask: number) =>
      command("nothing", async () => {
        const ids = [...seen.events.values()].filter((_, index) => (mask >> (index % 8)) & 1).map(({ id }) => id);
        if (ids.length === 0) return;
        const patch = [{ op: "add", path: "/mended", value: step }];
        const recipe = { kind: "json-patch" as const, patch };
        await requestMend(
          deps,
          { select: { ids }, recipe, reason: "renamed", breaking: false, idempotency: null },
          ada,
        );
      }),

    undoMend: (place: number) =>
      command("nothing", async () => {
        const mends = await operations("'mend'");
        const id = mends.at(place % (mends.length || 1));
        if (id) await requestUndoMend(deps, { select: { operation: id }, reason: "no", idempotency: null }, ada);
      }),

    workBulk: (twice: boolean) => command("revise", () => workBulk(twice)),

    rate: (place: number, ratePerSecond: number | null) =>
      command("nothing", async () => {
        const redrive = redriveAt(place);
        if (redrive) await changeRedrive(deps, { id: redrive.id, change: { ratePerSecond } }, ada);
      }),

    concurrency: (place: number, concurrency: number | null) =>
      command("nothing", async () => {
        const redrive = redriveAt(place);
        if (redrive) await changeRedrive(deps, { id: redrive.id, change: { concurrency } }, ada);
      }),

    /** From now on what is requested for the main lane, or brought to it, needs a second person, or not. */
    markTarget: (needsApproval: boolean) =>
      command("nothing", async () => {
        markedTarget = needsApproval;
        await store.db.run("update targets set needs_approval = $2 where source_id = $1 and lane = 'main'", [
          sourceId,
          needsApproval,
        ]);
      }),

    /** From now on a redrive of the source needs a second person, or not. */
    mark: (needsApproval: boolean) =>
      command("nothing", () =>
        store.db.run("update sources set needs_approval = $2 where id = $1", [sourceId, needsApproval]),
      ),

    /** By the person who asked, or another one; by the digest of what is, or an old one. */
    decide: (place: number, choice: { self: boolean; old: boolean; approve: boolean }) =>
      command("cancel", () => decide(redriveAt(place)?.id, choice)),

    decideMend: (place: number, choice: { self: boolean; old: boolean; approve: boolean }) =>
      command("nothing", async () => {
        const mends = await operations("'mend'");
        await decide(mends.at(place % (mends.length || 1)), choice);
      }),

    /** Of all sends, or of those to the target of the main lane. */
    stop: (all: boolean) =>
      command("nothing", async () => {
        const { underWay } = await imposeStop(deps, { target: all ? null : source, reason: "wrong data" }, ada);
        if (all) mayStillSend.set(EVERYTHING, underWay!);
        else stoppedTarget = true;
      }),

    go: (all: boolean) => command("nothing", () => go(all)),

    /** The queue loses everything. */
    flush: () =>
      command("nothing", async () => {
        queue.held.length = 0;
      }),

    /** The round of a worker that takes the next steps of canaries. */
    canaries: () => command("nothing", () => advanceCanaries(deps)),

    reconcile: (lost: boolean) => command("cancel", () => reconcile(deps, { lost })),

    /** Everything that is open ends, with two workers that run and a target that takes what comes; then all invariants hold. */
    end: async () => {
      if (rule) await deleteRedriveRule(deps, { id: rule.id, reason: "the run ends" }, ada);
      await command("revise", () => workBulk(true));
      for (let round = 0; [...seen.redrives.values()].some(({ state }) => !isFinal(state)); round++) {
        if (round === ROUNDS_MAX)
          throw new Broken(JSON.stringify([{ rule: "nothing stays open", seen: seenWords(seen) }]));
        await go(true);
        await go(false);
        await command("nothing", async () => {
          for (const id of later) await startNow(id).catch(refusedIn);
        });
        for (const { id, awaits } of seen.redrives.values()) {
          if (awaits) await decide(id, { self: false, old: false, approve: true });
        }
        for (const { id, state } of seen.redrives.values()) {
          if (state !== "PAUSED") continue;
          mayStillSend.delete(id);
          await changeRedrive(deps, { id, change: { action: "resume" } }, ada);
        }
        await giveUp();
        await advanceCanaries(deps);
        await command("cancel", () => reconcile(deps, { lost: true }));
        await command("work", async () => {
          const jobs = queue.held.splice(0);
          for (const [index, { queue: lane, job }] of jobs.entries()) {
            if (job.kind === "slice" || job.kind === "canary") workers[index % WORKERS]!.begin(lane as never, job);
          }
          await runOut();
        });
      }
      return [
        ...(await rollupDrift(store.db)),
        ...(await auditGaps(store.db)),
        ...(await contradictions(store.db)),
        ...(await repeats()),
        ...(await strangeTimes()),
      ];
    },

    close: async () => {
      await Promise.all([...workers, ...(runner ? [runner] : [])].map((worker) => worker.close()));
      await schemas.close();
    },
  };

  async function startNow(id: string | undefined): Promise<void> {
    if (id === undefined) return;
    await changeRedrive(deps, { id, change: { action: "start" } }, ada);
    later.delete(id);
  }

  /** Of this run. */
  async function operations(kinds: string, running = false): Promise<string[]> {
    const rows = await store.db.query<{ id: string }>(
      `select o.id from bulk_operations o where o.kind in (${kinds}) and o.id <> all($1::uuid[]) and (o.state = 'RUNNING' or not $2)
        order by o.id`,
      [before, running],
    );
    return rows.map(({ id }) => id);
  }

  function inSixHours(): string {
    return iso(clock.wallMs() + 6 * HOUR_MS);
  }

  async function impose(asked: { kind: ControlKind; scope: ControlRequest["scope"]; expires: boolean }) {
    const { kind, scope, expires } = asked;
    const request = { kind, scope, reason: "to be sure", ...(expires ? { expiresAt: inSixHours() } : {}) };
    const imposed = await imposeControl(deps, request, ada);
    const [[by, value]] = Object.entries(scope) as [[ImposedControl["by"], string]];
    controls.set(imposed.id, { kind, by, value, expires });
    return imposed;
  }

  /** What no blacklist names any more can be sent. */
  function freeUnlisted(): void {
    const listed = new Set([...controls.values()].flatMap(({ kind, value }) => (kind === "blacklist" ? value : [])));
    for (const [eventId, { status }] of seen.events)
      if (!listed.has(eventId) && status !== "IGNORED") mayStillSend.delete(eventId);
  }

  async function backUp(): Promise<Backup> {
    const flags = { markedTarget, stoppedTarget, rule };
    const maps = [mayStillSend, requestedAt, parkedAt, frozen, archived, controls].map(keptMap);
    const sets = [processed, skipped, later].map(keptSet);
    const [sends, open] = [sent.length, new Set(sendsInHand())];
    backup = { store: await saveStore(store.db), seen, known: [...maps, ...sets], flags, sends, open };
    return backup;
  }

  async function setRule(enabled: boolean): Promise<ModelRule> {
    const change = { enabled, reason: "tested" };
    if (rule) {
      await changeRedriveRule(deps, { id: rule.id, change: { ...change, trial: rule.trial } }, ada);
      rule = { ...rule, enabled };
      return rule;
    }
    const { name, reason, ...body } = redriveRuleRequestSchema.parse({
      ...{ name: `rule of ${source}`, reason: "they pass", canary: false, everyMs: 1_000 },
      ...{ delayMs: RULE.delayMs, redrivesPerEvent: RULE.redrivesPerEvent, stopAtFailureRatio: 1 },
      filter: { source: [source], errorCode: [RULE.errorCode] },
      limits: { eventsPerHour: null, eventsPerDay: null },
    });
    const { id } = await createRedriveRule(deps, { ...body, name, reason }, ada);
    const { id: trial } = await tryRedriveRule(deps, { rule: body, days: 1 }, ada);
    await changeRedriveRule(deps, { id, change: { ...change, trial } }, ada);
    rule = { id, trial, enabled };
    return rule;
  }

  /** At most one redrive, of the events that the rule must take. */
  async function applyRule(twice: boolean): Promise<void> {
    rule ??= await setRule(true);
    await store.db.run("update redrive_rule_runs set at = at - interval '2 s' where rule_id = $1", [rule.id]);
    const [last] = await store.db.query<{ id: string }>(
      "select redrive_id as id from redrive_rule_runs where rule_id = $1 order by at desc limit 1",
      [rule.id],
    );
    const isUnderWay = last !== undefined && !isFinal(seen.redrives.get(last.id)!.state);
    const facts = await readFacts(store.db, sourceId);
    const expected = rule.enabled && !isUnderWay ? takenByRule(facts, [...controls.values()], isProcessed) : [];
    await Promise.all((twice ? [1, 2] : [1]).map(() => runRedriveRules(deps)));
    const now = await look();
    const made = [...now.redrives.keys()].filter((id) => !seen.redrives.has(id));
    const taken: string[] = [];
    for (const id of made) taken.push(...(await itemsOf(id)).map(({ eventId }) => eventId));
    const [stored] = await store.db.query("select fault from redrive_rules where id = $1 and fault is not null", [
      rule.id,
    ]);
    if (made.length > 1 || stored || !isDeepStrictEqual(taken.sort(), expected.sort()))
      broken.push({ rule: "a rule takes what is due", taken, expected, made, stored, facts });
  }

  /** Entries about redrives of this run, and ids of these redrives, that another clock than the store's has made. */
  function strangeTimes(): Promise<unknown[]> {
    const ofId = (id: string) =>
      `to_timestamp(('x' || left(replace(${id}::text, '-', ''), 12))::bit(48)::bigint / 1000.0)`;
    return store.db.query(
      `select 'a time of another clock' as rule, t.what, t.at from (
           select a.action as what, a.at from audit_entries a where a.redrive_id = any($1::uuid[])
           union all select a.action || ' (id)', ${ofId("a.id")} from audit_entries a where a.redrive_id = any($1::uuid[])
           union all select 'redrive (id)', ${ofId("r.id")} from redrives r where r.id = any($1::uuid[])) t
        where not exists (
          select from unnest($2::float8[]) ahead
           where t.at - ahead * interval '1 ms' between to_timestamp($3::float8 / 1000) and pg_catalog.clock_timestamp() + interval '1 s')`,
      [[...seen.redrives.keys()], [...store.aheads], store.openedMs],
    );
  }

  async function workBulk(twice: boolean): Promise<void> {
    const never = new AbortController().signal;
    for (const id of await operations("'mend', 'undo-mend'")) {
      const works = twice ? [1, 2] : [1];
      await Promise.all(works.map(() => workBulkOperation(deps, id, never)));
    }
    // What a recipe makes of bytes is proven elsewhere: here each revision keeps its bytes, and all of its digits.
    const made = await store.db.query<{ eventId: string; revision: number; payload: Buffer }>(
      `select e.event_id as "eventId", r.revision, r.payload from event_revisions r join dlq_events e on e.id = r.id
        where e.source_id = $1 and r.cause = 'mend'`,
      [sourceId],
    );
    for (const { eventId, revision, payload } of made) {
      const text = payload.toString();
      if (text.includes("big") && !text.includes("9007199254740993"))
        broken.push({ rule: "numbers keep digits", text });
      bytes.set(`${eventId} ${revision}`, text);
    }
  }

  async function decide(
    id: string | undefined,
    { self, old, approve }: { self: boolean; old: boolean; approve: boolean },
  ) {
    if (id === undefined) return;
    const [asked] = await store.db.query<{ digest: string }>(
      "select digest from approvals where subject_id = $1 order by id desc limit 1",
      [id],
    );
    if (!asked) return;
    const digest = old ? "0".repeat(asked.digest.length) : asked.digest;
    const decision = { decision: approve ? ("approve" as const) : ("reject" as const), digest, reason: "seen" };
    const decided = await decideApproval(deps, { id, decision }, localViewer(self ? "Ada " : "grace")).then(
      () => true,
      refusedIn,
    );
    if (decided && (self || old)) broken.push({ rule: "another person approves what is", id, self, old });
  }

  async function go(all: boolean): Promise<void> {
    if (all) mayStillSend.delete(EVERYTHING);
    else stoppedTarget = false;
    await resumeSends(deps, { target: all ? null : source, reason: "right data" }, ada);
  }

  async function giveUp(): Promise<void> {
    const past = "now() - interval '1 second'";
    await store.db.run(`update open_items set not_before = ${past} where source_id = $1 and not_before < 'infinity'`, [
      sourceId,
    ]);
    await loseSlices(store.db, "select id from redrives where $1 = any(sources)", [source]);
    await store.db.run(
      `update redrives set waiting_until = ${past} where waiting_until is not null and $1 = any(sources)`,
      [source],
    );
  }

  async function runOut(): Promise<void> {
    for (let rounds = 0; rounds < 200; rounds++) {
      await settle();
      let moved = false;
      for (const worker of workers) {
        while (worker.waiting() > 0) {
          worker.pass();
          moved = true;
          await settle();
        }
      }
      for (const one of sendsInHand()) {
        one.fate = "taken";
        one.pending.take();
        moved = true;
      }
      if (moved) continue;
      for (const worker of workers) await worker.clock.advance(2_000);
      await settle();
      if (workers.every((worker) => worker.waiting() === 0) && sendsInHand().length === 0) return;
    }
  }

  /** A target that does not honour keys gets an event twice in one redrive only after an answer that was lost. */
  async function repeats(): Promise<unknown[]> {
    const rows = await store.db.query<{ key: string; n: number }>(
      `select e.event_id || ' ' || a.redrive_id as key, count(*)::int as n
         from redrive_attempts a join dlq_events e on e.id = a.id
        where e.source_id = $1 and a.state = 'ambiguous' group by 1`,
      [sourceId],
    );
    const ambiguous = new Map(rows.map(({ key, n }) => [key, n]));
    const arrived = Map.groupBy(
      sent.filter(({ fate }) => fate === "taken" || fate === "lost"),
      ({ eventId, redriveId }) => `${eventId} ${redriveId}`,
    );
    return [...arrived]
      .filter(([key, sends]) => sends.length > 1 + (ambiguous.get(key) ?? 0))
      .map(([key, sends]) => ({ rule: "a repeat follows a lost answer", key, sends: sends.length }));
  }
}

type ItemRow = { eventId: string; state: ItemState; result: string | null; detail: string | null };

const eventsIn = (items: readonly ItemRow[], state: ItemState): string[] =>
  items.flatMap((item) => (item.state === state ? [item.eventId] : []));

/** A target that answers, and whose owner is not asked. */
const SAMPLE_OF = ({ checkPayloads }: Pick<MendingDeps, "checkPayloads">) => ({
  checkPayloads,
  askOwner: async () => null,
  probe: async () => ({ reachable: true, detail: "answers" }),
  leftOut: async (_: unknown, messages: readonly unknown[]) => messages.map(() => []),
});

/** Where a preview and the dry run of its selection do not say the same. What waits for another redrive may go or be refused. */
function differences(preview: PreviewOut, items: readonly ItemRow[]): string[] {
  const passed = eventsIn(items, "passed").length;
  const waiting = eventsIn(items, "open").length;
  const refused: Record<string, number> = {};
  for (const { state, result } of items) {
    if (state === "refused") refused[result!] = (refused[result!] ?? 0) + 1;
  }
  const faults: string[] = [];
  if (preview.unknown.length > 0) faults.push(`unknown: ${JSON.stringify(preview.unknown)}`);
  if (preview.total !== items.length) faults.push(`total ${preview.total}, ${items.length} taken`);
  if (waiting === 0 && preview.eligible !== passed) faults.push(`${preview.eligible} eligible, ${passed} passed`);
  if (preview.eligible! < passed || preview.eligible! > passed + waiting)
    faults.push(`${preview.eligible} eligible, ${passed} passed and ${waiting} wait`);
  if (waiting === 0 && !isDeepStrictEqual(preview.refused, refused))
    faults.push(`${JSON.stringify(preview.refused)} refused, by the dry run ${JSON.stringify(refused)}`);
  if (preview.sample?.whole === false) faults.push("the sample of a small selection is not whole");
  return faults;
}

const keptMap = (map: Map<string, unknown>) => {
  const entries = [...map];
  return () => {
    map.clear();
    for (const [key, value] of entries) map.set(key, value);
  };
};

const keptSet = (set: Set<string>) => {
  const members = [...set];
  return () => {
    set.clear();
    for (const member of members) set.add(member);
  };
};

/** null: the product refused. Everything else is a fault. */
function refusedIn(error: unknown): null {
  if (error instanceof DomainError) return null;
  throw error;
}

function seenWords({ events, redrives }: Seen): unknown {
  return { events: [...events.values()], redrives: [...redrives.values()] };
}

export type Model = Awaited<ReturnType<typeof openModel>>;
