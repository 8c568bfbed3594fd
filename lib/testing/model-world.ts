import { isDeepStrictEqual } from "node:util";
import { PublishError } from "@/lib/brokers/port";
import { ignoreEvents, releaseEvents } from "@/lib/events/bulk/ignore-events";
import { workBulkOperation } from "@/lib/events/bulk/work-bulk-operation";
import { EVENT_MOVES, type EventMove, type EventStatus } from "@/lib/events/event-state.pure";
import { mergeGroup, splitGroup } from "@/lib/events/groups/aliases/merge-groups";
import type { Selection } from "@/lib/events/selection/selection.shapes";
import { decideApproval } from "@/lib/guard/approvals/decide-approval";
import { imposeStop, resumeSends } from "@/lib/guard/stops/change-stop";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import type { DeadLetter } from "@/lib/intake/dead-letter.pure";
import { parkEvents } from "@/lib/intake/park-events";
import type { ArchiveDeps } from "@/lib/keep/archive/stores/archive-store";
import { imposeControl } from "@/lib/order/controls/impose-control";
import { liftControl } from "@/lib/order/controls/lift-controls";
import { removeIdleAggregates } from "@/lib/order/idle-aggregates.write";
import type { Earlier } from "@/lib/order/order-gate.pure";
import { skipHead, undoSkip } from "@/lib/order/skip-head";
import type { Clock } from "@/lib/platform/clock";
import { createDb, type Db } from "@/lib/platform/database/db";
import { createLowRateStore, type LowRateStore } from "@/lib/platform/database/prisma";
import { createLog } from "@/lib/platform/log";
import type { Deps } from "@/lib/platform/low-rate-deps";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { confirmEvents } from "@/lib/redrive/confirm/confirm-events";
import { confirmQuietEvents } from "@/lib/redrive/confirm/confirm-quiet-events";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { reconcile } from "@/lib/redrive/life/reconcile";
import { startWaiting } from "@/lib/redrive/life/start-redrive";
import { advanceCanaries } from "@/lib/redrive/pace/canary-and-brake";
import { previewRedrive } from "@/lib/redrive/preview/preview-redrive";
import { type PreviewOut, previewRequestSchema } from "@/lib/redrive/preview/redrive-preview.shapes";
import { type RedriveChange, redriveRequestSchema } from "@/lib/redrive/request/redrive-request.shapes";
import { requestRedrive } from "@/lib/redrive/request/request-redrive";
import type { ItemState } from "@/lib/redrive/states/item-state.pure";
import { isFinal, type RedriveState } from "@/lib/redrive/states/redrive-state.pure";
import type { MendingDeps } from "@/lib/repair/mends/examine-mend";
import { requestMend, requestUndoMend } from "@/lib/repair/mends/request-mend";
import { editEvent, restoreRevision } from "@/lib/repair/revisions/revise-event";
import { createPayloadChecker } from "@/lib/repair/schemas/check-payload";
import { createSchemaCheck } from "@/lib/repair/schemas/schema-check";
import { addSource, deadLetter } from "@/lib/testing/letters";
import { auditGaps, contradictions, rollupDrift } from "@/lib/testing/rollup-drift";
import {
  type HeldQueue,
  heldQueue,
  type PendingSend,
  type SteppedWorker,
  steppedWorker,
} from "@/lib/testing/stepped-worker";

/** The store of many runs: a run has a source of its own. */
export type ModelStore = { url: string; db: Db; lowRate: LowRateStore; close(): Promise<void> };

export async function openModelStore(url: string, { cooldownMs = 0 } = {}): Promise<ModelStore> {
  const db = createDb(url, { max: 4 });
  const lowRate = createLowRateStore(url);
  // An event may go round and round: the limits against loops are within reach, and nothing cools down unless asked.
  await db.run(
    `insert into settings (key, value, updated_by)
     values ('cooldownMs', '${cooldownMs}', 'model'), ('redriveLimit', '4', 'model')`,
  );
  return {
    url,
    db,
    lowRate,
    close: async () => {
      await lowRate.end();
      await db.end();
    },
  };
}

/** Time of a request passes when it waits. */
function impatientClock(): Clock {
  let passedMs = 0;
  return {
    nowMs: () => passedMs,
    wallMs: () => Date.now(),
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
  const sourceId = await addSource(store.db, source);
  await store.db.run("update targets set rate_per_second = null where source_id = $1", [sourceId]);
  const queue: HeldQueue = heldQueue();
  const log = createLog({ level: "silent", process: "model" });
  const clock = impatientClock();
  const schemas = createSchemaCheck(clock);
  const deps: Deps & MendingDeps & ArchiveDeps & { lowRate: LowRateStore } = {
    ...{ db: store.db, lowRate: store.lowRate, lane: queue, clock, log },
    checkPayloads: createPayloadChecker(schemas, clock),
    archive: null,
  };
  const sent: Sent[] = [];
  const letters = new Map<string, DeadLetter>();
  const [mayStillSend, requestedAt] = [new Map<string, number>(), new Map<string, number>()];
  const parkedAt = new Map<string, number>();
  const [processed, skipped] = [new Set<string>(), new Set<string>()];
  /** Redrives that wait for a time or a breaker, and that nobody has started. */
  const later = new Set<string>();
  let [markedTarget, stoppedTarget] = [false, false];
  /** By event and revision, and by redrive and event. */
  const [bytes, frozen] = [new Map<string, string>(), new Map<string, number>()];
  const broken: unknown[] = [];
  const beganMs = Date.now() - 1;
  let [step, made] = [0, 0];
  let seen: Seen = { events: new Map(), redrives: new Map() };

  const newWorker = (): SteppedWorker =>
    steppedWorker({
      number: ++made,
      databaseUrl: store.url,
      queue,
      onSend: (pending) => void noteSend(pending),
      onEnd: (lane, job, outcome) => {
        if ("error" in outcome) broken.push({ rule: "a slice ends without an error", error: String(outcome.error) });
        else if (outcome.kind === "again") queue.held.push({ queue: lane, job });
      },
    });
  const workers = Array.from({ length: WORKERS }, newWorker);
  /** It works whole redrives, while the other workers stand still. */
  let runner: SteppedWorker | null = null;

  function noteSend(pending: PendingSend): void {
    const { eventId, redriveId, attempt, idempotencyKey: key, payload } = pending.message;
    const one: Sent = {
      ...{ eventId, redriveId, attempt, key, payload: Buffer.from(payload).toString() },
      ...{ step, fate: "open", pending },
    };
    checkStop(one);
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

  function isProcessed({ aggregateId, version }: EventRow): boolean {
    const isNewer = (eventId: string) => {
      const known = letters.get(eventId)!;
      return known.aggregateId === aggregateId && known.version! >= BigInt(version!);
    };
    const quiet = [...seen.events.values()].filter(({ confirmed }) => confirmed);
    return [...processed].some(isNewer) || quiet.some(({ eventId }) => isNewer(eventId));
  }

  async function look(): Promise<Seen> {
    const events = await store.db.query<EventRow>(
      `select e.id, e.event_id as "eventId", e.status, e.revision, e.version::text as version,
              (select coalesce(max(v.revision), 1) from event_revisions v where v.id = e.id)::int as last, e.aggregate_id as "aggregateId",
              e.confirmed_at is not null as confirmed,
              (select i.redrive_id from redrive_items i where i.id = e.id and i.state = 'open') as "redriveId"
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

  /** Runs one command and compares the store with what it was. Refusals of the product are answers, not failures. */
  async function command(kind: Class, run: () => Promise<unknown>): Promise<void> {
    step++;
    try {
      await run();
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
    }
    await settle();
    const now = await look();
    for (const [eventId, before] of seen.events) {
      const after = now.events.get(eventId);
      if (!after) broken.push({ rule: "what was acknowledged stays", eventId });
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

  const park = async (letter: DeadLetter) => {
    await parkEvents(deps, [{ source, letter }], localViewer("producer"));
  };

  /**
   * Runs a redrive to its end, with a target that is away for the first sends; what waits for another redrive stays open.
   */
  async function runToItsEnd(id: string, facts: { away: number; confirms: boolean }): Promise<void> {
    runner ??= newWorker();
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
    requestedAt.set(id, step);
    const now = await look();
    for (const { eventId, revision } of now.events.values()) frozen.set(`${id} ${eventId}`, revision);
    // Its first send may come before this command ends.
    seen.redrives.set(id, now.redrives.get(id)!);
    return id;
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
    const verify = await request(select, "verify", earlier);
    await runToItsEnd(verify, { away: 0, confirms: false });
    const items = await itemsOf(verify);
    compared.previews++;
    const [passed, waiting] = [eventsIn(items, "passed"), eventsIn(items, "open")];
    const about = { choice, preview, items };
    for (const fault of differences(preview, items))
      broken.push({ rule: "the preview is the dry run", fault, ...about });
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

    control: (place: number, kind: "blacklist" | "whitelist" | "cooldown", by: "event" | "aggregate" | "code") =>
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
        const expiresAt = kind === "cooldown" ? { expiresAt: new Date(Date.now() + 3_600_000).toISOString() } : {};
        await imposeControl(deps, { kind, scope, reason: "to be sure", ...expiresAt }, ada);
      }),

    park: (aggregate: number) =>
      command("nothing", async () => {
        const number = letters.size;
        const aggregateId = aggregate === 0 ? null : `order-${aggregate}`;
        const version = 1n + BigInt([...letters.values()].filter((other) => other.aggregateId === aggregateId).length);
        const letter = deadLetter({
          eventId: `event-${number}`,
          aggregateId,
          version: aggregateId === null ? null : version,
          error: { type: "StockException", message: GROUPS[number % GROUPS.length]!, stack: null },
          payload: Buffer.from(`{"number": ${number}, "big": 9007199254740993}`),
        });
        letters.set(letter.eventId, letter);
        bytes.set(`${letter.eventId} 1`, letter.payload.toString());
        parkedAt.set(letter.eventId, step);
        await park(letter);
      }),

    /** The broker hands the letter out once more, without a mark. */
    parkAgain: (place: number) =>
      command("park", async () => {
        const event = eventAt(place);
        if (event) await park(letters.get(event.eventId)!);
      }),

    /** The consumer rejects what it had taken: the letter comes back with the mark of its redrive. */
    bounce: (place: number, changed: boolean) =>
      command("park", async () => {
        const taken = sent.filter(({ fate }) => fate === "taken" || fate === "lost");
        const one = taken.at(place % (taken.length || 1));
        if (!one) return;
        const payload = changed ? `{"step": ${step}}` : one.payload;
        bytes.set(`${one.eventId} ${1 + seen.events.get(one.eventId)!.last}`, payload);
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
          ...(choice.later === "time" ? { startAt: new Date(Date.now() + 3_600_000).toISOString() } : {}),
          // No worker of the model has a heartbeat: whether the breaker is open is not known.
          ...(choice.later === "breaker" ? { startWhen: { breakerCloses: true } } : {}),
        });
        const { id } = await requestRedrive(deps, { request, idempotency: null }, ada);
        requestedAt.set(id, step);
        if (choice.later !== null) later.add(id);
        for (const { eventId, revision } of seen.events.values()) frozen.set(`${id} ${eventId}`, revision);
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
        workers[place] = newWorker();
      }),

    /** Half a minute passes in the store: claims and leases end, also those of a worker that only stands still. */
    leasesEnd: () => command("nothing", () => endLeases()),

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
        await store.db.run(
          "update dlq_events set redrive_at = now() - interval '3 days' where source_id = $1 and status = 'REDRIVEN'",
          [sourceId],
        );
        await store.db.run(
          "update aggregates set lease_until = now() - interval '3 days' where source_id = $1 and lease_until < now()",
          [sourceId],
        );
        if (removedBefore) await removeIdleAggregates(store.db, null);
        await confirmQuietEvents(deps);
        await removeIdleAggregates(store.db, null);
      }),

    blacklist: (place: number) =>
      command("nothing", async () => {
        const event = eventAt(place);
        if (!event) return;
        const { underWay } = await imposeControl(
          deps,
          { kind: "blacklist", scope: { eventId: event.eventId, source }, reason: "poison" },
          ada,
        );
        mayStillSend.set(event.eventId, underWay!);
      }),

    lift: () =>
      command("nothing", async () => {
        const controls = await store.db.query<{ id: string; value: string }>(
          "select id, value from controls where lifted_at is null and source = $1",
          [source],
        );
        for (const { id, value } of controls) {
          await liftControl(deps, { id, reason: "repaired" }, ada);
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
        await endLeases();
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

  async function operations(kinds: string): Promise<string[]> {
    const rows = await store.db.query<{ id: string }>(
      `select distinct o.id from bulk_operations o join audit_entries a on a.id = o.audit_id
        where o.kind in (${kinds}) and o.created_at > to_timestamp($1::float8 / 1000) order by o.id`,
      [beganMs],
    );
    return rows.map(({ id }) => id);
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

  async function endLeases(): Promise<void> {
    const past = "now() - interval '1 second'";
    await store.db.run(
      `update redrive_items set claimed_until = case when claimed_until is null then null else ${past} end,
                                not_before = case when not_before is null then null else ${past} end
        where source_id = $1 and state = 'open'`,
      [sourceId],
    );
    await store.db.run(`update aggregates set lease_until = ${past} where source_id = $1 and lease_until is not null`, [
      sourceId,
    ]);
    await store.db.run(
      `update slice_waits set until = ${past} where redrive_id in (select id from redrives where $1 = any(sources))`,
      [source],
    );
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

/** null: the product refused. Everything else is a fault. */
function refusedIn(error: unknown): null {
  if (error instanceof DomainError) return null;
  throw error;
}

function seenWords({ events, redrives }: Seen): unknown {
  return { events: [...events.values()], redrives: [...redrives.values()] };
}

export type Model = Awaited<ReturnType<typeof openModel>>;
