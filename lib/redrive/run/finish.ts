import { auditEvents } from "@/lib/guard/audit/audit.write";
import { readSettings } from "@/lib/guard/settings/settings.read";
import type { Deps } from "@/lib/lane/deps";
import { countAggregateFailures } from "@/lib/order/aggregate-failures.write";
import { aggregateResults } from "@/lib/order/aggregate-result.pure";
import { blacklistAggregates } from "@/lib/order/blacklist-aggregate.write";
import { raiseConfirmed } from "@/lib/order/confirmed-versions.write";
import { isRowFault, type Tx } from "@/lib/platform/database/db";
import { retrying } from "@/lib/platform/database/retrying";
import { uuidv7 } from "@/lib/platform/ids";
import { sqlState } from "@/lib/platform/postgres-pool";
import { confirmOvertaking } from "@/lib/redrive/confirm/confirm";
import { enqueueBehind } from "@/lib/redrive/life/enqueue-jobs";
import { countItems, lockRedrive, type RedriveRow, sentBeforeResume } from "@/lib/redrive/life/redrive.write";
import { settleRedrive } from "@/lib/redrive/life/settle-redrive";
import type { OutcomeMark } from "@/lib/redrive/pace/brake.pure";
import { advanceRedrive, sampleWith } from "@/lib/redrive/pace/canary-and-brake";
import { type Batcher, createBatcher } from "@/lib/redrive/run/batcher";
import { type EventAfter, eventAfter } from "@/lib/redrive/run/event-after.pure";
import {
  attemptsToKeep,
  closeItems,
  deltaOf,
  type FinishedItem,
  insertAttempts,
  type MovedEvent,
  moveFinishedEvents,
  renameEntries,
} from "@/lib/redrive/run/store/finish-items.write";
import { actionOf, type ItemOutcome } from "@/lib/states/item-outcome.pure";

const ACTOR = "worker";

export type Finish = FinishedItem;

/** Items committed together at the most. */
const BATCH_MAX = 250;
/** After a commit of at least this many items the next one waits for more: a commit costs as much as the ends of thirty items. */
const REST_ITEMS = 16;
const REST_MS_MAX = 20;

/** While the store is away, ends are kept and tried again for this long; then the fence decides who finishes. */
const PATIENCE_MS = 60_000;
const RETRY_MS = 500;

/**
 * Commits the ends of the items of one redrive: those that come while a commit is under way make the next batch. Resolves
 * with whether this worker still owned its slice. While the store is away it tries again: every send must be marked.
 */
export function createFinisher(
  deps: Deps,
  redriveId: string,
): Pick<Batcher<Finish, boolean>, "push"> & { woken(): Promise<void> } {
  const onRetry = (error: unknown) => deps.log.warn({ redriveId, err: error }, "finish not committed, trying again");
  const patience = { clock: deps.clock, forMs: PATIENCE_MS, everyMs: RETRY_MS, onRetry };
  const waking = new Set<Promise<void>>();
  const batcher = createBatcher<Finish, boolean>(
    async (batch) => {
      const won = await retrying(() => finishItems(deps, redriveId, batch), { patience, pause: deps.db.pause });
      const held = ownedAmong(batch, won);
      // Of those that are not held an earlier try may have been committed without an answer.
      const changed = batch.filter(({ item, outcome }) => item.aggregateId !== null && outcome.kind !== "back");
      // Not awaited: the next batch must not wait for what others wait for. A failure is logged there.
      if (changed.length > 0) {
        const wake = enqueueBehind(
          deps,
          redriveId,
          changed.map(({ item }) => item.id),
        );
        waking.add(wake);
        void wake.finally(() => waking.delete(wake));
      }
      const ended = [...held].filter(({ after }) => after !== null);
      await confirmOvertaking(
        deps,
        redriveId,
        ended.map(({ item }) => item.id),
      ).catch((error) => deps.log.warn({ redriveId, err: error }, "words of consumers are left to the quiet window"));
      return batch.map((finish) => held.has(finish));
    },
    { max: BATCH_MAX, rest: { clock: deps.clock, items: REST_ITEMS, msMax: REST_MS_MAX } },
  );
  return {
    push: batcher.push,
    woken: async () => {
      await Promise.all(waking);
    },
  };
}

/**
 * The ends that count. A worker that lost a slice and took it again may end an item twice, with two fences, in one batch:
 * the store has taken that of the later epoch.
 */
function ownedAmong(batch: readonly Finish[], won: ReadonlySet<string>): Set<Finish> {
  const latest = new Map<string, Finish>();
  for (const finish of batch) {
    const { id, fence } = finish.item;
    if (fence > (latest.get(id)?.item.fence ?? -1)) latest.set(id, finish);
  }
  return new Set(batch.filter((finish) => won.has(finish.item.id) && latest.get(finish.item.id) === finish));
}

/** Result of an item whose end the store refused: its event was sent, and the item is not worked again. */
const FINISH_REJECTED = "finish-rejected";

/**
 * Commits the ends of a batch of items of one redrive. When the store refuses a value of a row, the batch is halved until
 * the row is alone: its neighbours are committed once, and its own item ends as failed with the store's reason. Returns the
 * ids that this worker still held.
 */
export async function finishItems(
  deps: Pick<Deps, "db" | "clock" | "log">,
  redriveId: string,
  batch: readonly Finish[],
): Promise<Set<string>> {
  try {
    return await commitBatch(deps, redriveId, batch);
  } catch (error) {
    if (!isRowFault(error)) throw error;
    if (batch.length > 1) {
      const middle = batch.length >> 1;
      const first = await finishItems(deps, redriveId, batch.slice(0, middle));
      const second = await finishItems(deps, redriveId, batch.slice(middle));
      return new Set([...first, ...second]);
    }
    const { item } = batch[0]!;
    deps.log.error({ redriveId, eventId: item.eventId, err: error }, "the store refuses an item's end: set aside");
    return commitBatch(deps, redriveId, [await rejectedFinish(deps, batch[0]!, error)]);
  }
}

/** The same end with values that the store takes: a failure that names the end and why the store refused it. */
async function rejectedFinish(deps: Pick<Deps, "db" | "clock">, finish: Finish, error: unknown): Promise<Finish> {
  const detail = `the send ended as ${finish.outcome.kind}, but the store refused to record it: ${reasonOf(error)}`;
  const outcome: ItemOutcome = { kind: "failed", code: FINISH_REJECTED, detail };
  const after = eventAfter(outcome, finish.item, await readSettings(deps.db), deps.clock.wallMs());
  const closes = finish.closes.map((close) => ({ ...close, code: FINISH_REJECTED, detail, decision: null }));
  return { ...finish, outcome, after, closes, findings: [] };
}

function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const state = sqlState(error);
  return state === null ? message : `${message} (SQLSTATE ${state})`;
}

/**
 * Items and attempts, events, rollups, audit, counters, canary and brake, aggregates, and the redrive's own end: ONE
 * transaction; every item by compare-and-set on its fence.
 */
async function commitBatch(
  deps: Pick<Deps, "db" | "clock">,
  redriveId: string,
  batch: readonly Finish[],
): Promise<Set<string>> {
  const nowMs = deps.clock.wallMs();
  return deps.db.transaction(async (tx) => {
    // Slices before events and redrives: whoever takes an item out of its redrive locks them in this order.
    const named = nameEntries(batch, nowMs);
    const won = await closeItems(tx, redriveId, named);
    const held = ownedAmong(batch, won);
    await insertAttempts(tx, attemptsToKeep(batch, held));
    const ended = [...held].filter((finish): finish is Finish & { after: EventAfter } => finish.after !== null);
    const moved = await moveFinishedEvents(tx, redriveId, ended);
    const endedNamed = named.filter((_, index) => held.has(batch[index]!));
    await auditMoves(tx, redriveId, endedNamed, { moved, nowMs });
    await countEnds(tx, redriveId, { ended, moved, nowMs });
    const counted = new Set(moved.filter(({ cameBack }) => cameBack).map(({ id }) => id));
    await settleOrder(tx, redriveId, { batch, held, counted }, nowMs);
    // Confirmed by what their consumers said before.
    const processed = ended.filter(({ outcome }) => outcome.kind === "already-processed");
    await raiseConfirmed(
      tx,
      processed.map(({ item }) => item.id),
    );
    return won;
  });
}

/** An end with the audit entry that its item names; null = the item does not end. */
type NamedFinish = Finish & { entryId: string | null };

/** One entry for each kind of end in the batch. The items name it as they are closed, before the states of their events are known. */
function nameEntries(batch: readonly Finish[], nowMs: number): NamedFinish[] {
  const entries = new Map<string, string>();
  return batch.map((finish) => {
    if (finish.after === null) return { ...finish, entryId: null };
    const kind = `${finish.outcome.kind} ${auditedResult(finish.outcome)}`;
    const entryId = entries.get(kind) ?? uuidv7(nowMs);
    entries.set(kind, entryId);
    return { ...finish, entryId };
  });
}

/**
 * Writes the entries of the events that have moved. Events of one kind of end may have come to several states, as a delivery
 * whose bounce was parked first: then each state has an entry of its own, and the items name that one.
 */
async function auditMoves(
  tx: Tx,
  redriveId: string,
  ended: readonly NamedFinish[],
  { moved, nowMs }: { moved: readonly MovedEvent[]; nowMs: number },
): Promise<void> {
  const statusOf = new Map(moved.map((event) => [event.id, event.status]));
  const renamed = new Map<string, string | null>();
  for (const [named, finishes] of Map.groupBy(ended, ({ entryId }) => entryId)) {
    if (named === null) continue;
    let free = true;
    for (const [status, some] of Map.groupBy(finishes, ({ item }) => statusOf.get(item.id))) {
      const ids = some.map(({ item }) => item.id);
      if (status === undefined) {
        for (const id of ids) renamed.set(id, null);
        continue;
      }
      const entryId = free ? named : uuidv7(nowMs);
      if (!free) for (const id of ids) renamed.set(id, entryId);
      free = false;
      const { outcome } = some[0]!;
      const result = auditedResult(outcome);
      await auditEvents(tx, ids, {
        actor: ACTOR,
        action: actionOf(outcome),
        redriveId,
        reason: status === "IGNORED" ? "the redrive limit is reached" : null,
        before: { status: "QUEUED" },
        after: { status, ...(result === undefined ? {} : { result }) },
        atMs: nowMs,
        listed: { entryId },
      });
    }
  }
  await renameEntries(tx, redriveId, renamed);
}

/** What the audit says beside the state: undefined = nothing. */
function auditedResult(outcome: ItemOutcome): string | undefined {
  switch (outcome.kind) {
    case "refused":
      return outcome.refusal;
    case "failed":
      return outcome.code;
    case "delivered":
      return outcome.deduplicated ? "DEDUPLICATED" : undefined;
    default:
      return undefined;
  }
}

/** Counters, the redrive's own end, canary and brake. */
async function countEnds(
  tx: Tx,
  redriveId: string,
  { ended, moved, nowMs }: { ended: readonly Finish[]; moved: readonly MovedEvent[]; nowMs: number },
): Promise<void> {
  if (ended.length === 0) return;
  const before = await lockRedrive(tx, redriveId);
  if (!before) return;
  const judged = await judgedOf(tx, before, ended);
  const sample = sampleWith(before, marksOf(judged, moved), judged.flatMap(latencyOf));
  const after = (await countItems(tx, redriveId, deltaOf(ended), sample))!;
  if (!(await settleRedrive(tx, after, nowMs))) await advanceRedrive(tx, after, nowMs);
}

/** What was under way when the redrive was resumed says nothing of the target as it is since then. */
async function judgedOf(tx: Tx, redrive: RedriveRow, ended: readonly Finish[]): Promise<readonly Finish[]> {
  if (redrive.brake === null || !redrive.resumed) return ended;
  const ids = ended.map(({ item }) => item.id);
  const before = await sentBeforeResume(tx, redrive.id, ids);
  return ended.filter(({ item }) => !before.has(item.id));
}

/** Of the last send of the item; none when nothing was sent. */
function latencyOf({ closes }: Finish): number[] {
  const last = closes.at(-1);
  return last === undefined ? [] : [Math.round(last.latencyMs)];
}

/** A delivery whose bounce came first was left out of the sample then, and is a bounce in it now. */
function marksOf(ended: readonly Finish[], moved: readonly MovedEvent[]): string {
  const counted = new Set(moved.filter(({ cameBack }) => cameBack).map(({ id }) => id));
  return ended
    .map(({ item, outcome }): OutcomeMark | "" => {
      if (outcome.kind === "failed") return "f";
      if (outcome.kind !== "delivered") return "";
      return counted.has(item.id) ? "b" : "d";
    })
    .join("");
}

/**
 * Runs of failures, and the automatic blacklist. `counted`: events whose bounce was counted already. An item that was taken out
 * meanwhile counts nothing here.
 */
async function settleOrder(
  tx: Tx,
  redriveId: string,
  { batch, held, counted }: { batch: readonly Finish[]; held: ReadonlySet<Finish>; counted: ReadonlySet<string> },
  nowMs: number,
): Promise<void> {
  // A redrive of an event fails once: one that failed and whose bounce was parked before has been counted there.
  const ends = batch.map((finish): Pick<Finish, "item" | "outcome"> => {
    const { item, outcome } = finish;
    const counts = held.has(finish) && !(outcome.kind === "failed" && counted.has(item.id));
    return { item, outcome: counts ? outcome : { kind: "back" } };
  });
  const results = aggregateResults(ends);
  if (results.length === 0) return;
  const { aggregateFailureLimit: limit } = await readSettings(tx);
  const failed = results.map(({ failures, ...result }) => ({
    ...result,
    redriveIds: failures > 0 ? [redriveId] : [],
    unknown: 0,
  }));
  const failing = await countAggregateFailures(tx, failed, limit);
  await blacklistAggregates(
    tx,
    failing.map((aggregate) => ({ ...aggregate, redriveId })),
    { limit, nowMs },
  );
}
