import { BULK_NOW_MAX, type BulkAnswer } from "@/lib/events/events.shapes";
import { appendAudit } from "@/lib/guard/audit/audit.write";
import { BULK_ACTION } from "@/lib/guard/viewer/bulk-action.pure";
import { systemViewer, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Deps } from "@/lib/lane/deps";
import { looks } from "@/lib/order/controls/await-open-sends";
import { openSends } from "@/lib/order/controls/open-sends.read";
import { isRowFault, type Tx } from "@/lib/platform/database/db";
import { answerOnce, type IdempotentRequest, rememberAnswer } from "@/lib/platform/database/idempotent-request.write";
import { inTransaction } from "@/lib/platform/database/retrying";
import { uuidv7 } from "@/lib/platform/ids";
import { enqueueBehind, enqueueOrLog } from "@/lib/redrive/life/enqueue-jobs";
import type { WithdrawnItem } from "@/lib/redrive/life/withdraw-items.write";
import {
  type Candidate,
  cutoffOf,
  estimateCandidates,
  readCandidates,
  type Selected,
} from "@/lib/selection/candidates.read";
import { type BulkOptions, insertBulkOperation } from "@/lib/selection/operations/bulk-operations.write";
import { channelIds, setOperationChannels } from "@/lib/selection/operations/operation-channels.write";
import { readScopedSelection } from "@/lib/selection/scope.read";
import { askedSelection, scopeSelection } from "@/lib/selection/scope.shapes";
import { type SelectedEvents, selectEvents } from "@/lib/selection/select-events";
import type { Selection } from "@/lib/selection/selection.shapes";
import { BULK_EFFECT, type BulkKind } from "@/lib/states/bulk-operation.pure";
import type { EventStatus } from "@/lib/states/event-state.pure";

/**
 * The events that were changed and the events that were refused. `inFlight`: ids of the refused events that were being
 * sent.
 */
export type Changed = {
  changed: { id: string; from: EventStatus }[];
  refused: Record<string, number>;
  inFlight: string[];
  /** Items that were taken out of their redrives: other redrives may wait for them. */
  withdrawn?: readonly Pick<WithdrawnItem, "id" | "redriveId">[];
  /** QUEUED events whose confirmation is recorded, and counts when their send ends. */
  recorded?: number;
};
export type ChangeContext = { actor: string; nowMs: number; options: BulkOptions };

/** Changes the state of events, each by compare-and-set. Every kind of bulk operation has one. */
export type ChangeChunk = (tx: Tx, candidates: readonly Candidate[], context: ChangeContext) => Promise<Changed>;

export type BulkRequest = {
  select: Selection;
  reason: string;
  options?: BulkOptions;
  /** Channels that are notified when the operation of a larger set ends. */
  tell?: readonly string[] | undefined;
  idempotency?: IdempotentRequest | null;
};

/**
 * Changes up to BULK_NOW_MAX events in one transaction, with one audit entry and the answer under the Idempotency-Key.
 * A larger set becomes a bulk operation, which a worker carries out; events that arrive after the request are not
 * included. `change` null: a worker does it, however few they are. For events that are being sent it waits up to two seconds, and changes each one when its send ends. Throws
 * DomainError `empty-selection`, `unknown-event`, `unknown-operation`, `illegal-transition`, `invalid-filter`,
 * `idempotency-key-reused`.
 */
export async function changeEvents(
  deps: Deps,
  { kind, change, tell = [], ...request }: BulkRequest & { kind: BulkKind; change: ChangeChunk | null },
  viewer: Viewer,
): Promise<BulkAnswer> {
  const selection = await readScopedSelection(deps.db, viewer, BULK_ACTION[kind], request.select);
  const asOfMs = deps.clock.wallMs();
  const selected = { selection, asOfMs, cutoff: cutoffOf(selection, asOfMs) };
  const context = { kind, reason: request.reason, actor: viewer.name, nowMs: asOfMs, options: request.options ?? {} };
  let inFlight: string[] = [];
  let withdrawn: NonNullable<Changed["withdrawn"]> = [];
  const begin = (nowMax: number) =>
    inTransaction(deps.db, (tx) =>
      answerOnce(tx, request.idempotency, asOfMs, async () => {
        // Findings of a run that was rolled back are left to a worker.
        [inFlight, withdrawn] = [[], []];
        const events = await selectEvents(tx, selected, nowMax);
        if (change === null || events.candidates.length > nowMax) {
          const left = await leaveToWorker(tx, selected, events, context);
          if (left.id !== null && tell.length > 0)
            await setOperationChannels(tx, left.id, tell, { viewer, atMs: asOfMs });
          return left;
        }
        await channelIds(tx, tell, viewer);
        const changed = await change(tx, events.candidates, context);
        inFlight = changed.inFlight;
        withdrawn = changed.withdrawn ?? [];
        return answerNow(tx, changed, events.missing, context);
      }),
    );
  const { answer, isNew } = await begin(change === null ? 0 : BULK_NOW_MAX).catch((error: unknown) => {
    // The store refuses the change of one event: a worker changes the others.
    if (isRowFault(error)) return begin(0);
    throw error;
  });
  if (!isNew) return answer;
  if (answer.id !== null) await enqueueOrLog(deps, answer.id);
  await enqueueWithdrawn(deps, withdrawn);
  if (change === null) return answer;
  answer.underWay = await changeEnded(deps, inFlight, async (tx, candidates) => {
    const ended = await change(tx, candidates, { ...context, nowMs: deps.clock.wallMs() });
    await auditChange(tx, ended, context);
    withdrawn = ended.withdrawn ?? [];
    addTo(answer, ended, candidates.length);
    if (request.idempotency) await rememberAnswer(tx, request.idempotency, answer);
  });
  if (inFlight.length > 0) await enqueueWithdrawn(deps, withdrawn);
  return answer;
}

/** Enqueues the redrives that waited for these items. */
export async function enqueueWithdrawn(deps: Deps, withdrawn: NonNullable<Changed["withdrawn"]>): Promise<void> {
  if (withdrawn.length === 0) return;
  await enqueueBehind(
    deps,
    null,
    withdrawn.map(({ id }) => id),
  );
}

type AuditedContext = ChangeContext & { kind: BulkKind; reason: string };

/** Writes the audit entry of a change and returns the answer. `missing`: number of named events that do not exist. */
export async function answerNow(
  tx: Tx,
  changed: Changed,
  missing: number,
  context: AuditedContext,
): Promise<BulkAnswer> {
  await auditChange(tx, changed, context);
  const refused = missing > 0 ? { ...changed.refused, "not-found": missing } : changed.refused;
  const ids = changed.changed.map(({ id }) => id);
  const recorded = changed.recorded ? { recorded: changed.recorded } : {};
  return { id: null, state: "DONE", changed: ids.length, ...recorded, refused, ids, underWay: 0 };
}

/**
 * The audit entry (actor, reason, kind of change) is written before the first chunk. Each chunk adds its events to it.
 */
async function leaveToWorker(
  tx: Tx,
  selected: Selected,
  events: SelectedEvents,
  context: AuditedContext,
): Promise<BulkAnswer> {
  const { kind, options, reason, actor, nowMs } = context;
  const id = uuidv7(nowMs);
  const { selection, asOfMs, cutoff } = selected;
  const refused: Record<string, number> = events.missing > 0 ? { "not-found": events.missing } : {};
  const expected = await estimateCandidates(tx, selected, events.candidates.length);
  const auditId = await appendAudit(tx, {
    actor,
    action: BULK_EFFECT[kind].action,
    subjectKind: "event",
    reason,
    after: {
      ...BULK_EFFECT[kind].after,
      ...options,
      ...("ids" in selection ? { ids: selection.ids.length } : askedSelection(selection)),
    },
    count: 0,
    atMs: nowMs,
  });
  await insertBulkOperation(tx, {
    id,
    kind,
    selection: { ...selection, asOfMs },
    options,
    cutoff,
    expected,
    expectedKind: "estimated",
    refused,
    auditId,
    reason,
    createdBy: actor,
    atMs: nowMs,
  });
  return { id, state: "RUNNING", changed: 0, refused, ids: null, underWay: 0 };
}

async function auditChange(tx: Tx, { changed }: Pick<Changed, "changed">, context: AuditedContext): Promise<void> {
  if (changed.length === 0) return;
  const { action, after } = BULK_EFFECT[context.kind];
  const from = [...new Set(changed.map((event) => event.from))];
  await appendAudit(tx, {
    actor: context.actor,
    action,
    subjectKind: "event",
    subjectId: changed.length === 1 ? changed[0]!.id : null,
    reason: context.reason,
    before: { status: from.length === 1 ? from[0] : from },
    after: { ...after, ...context.options },
    count: changed.length,
    atMs: context.nowMs,
    eventIds: changed.map(({ id }) => id),
  });
}

/**
 * Waits, at most two seconds, for the sends of these events, and changes each event whose send has ended, in a
 * transaction of its own. Returns how many are still being sent; null = the store did not answer.
 */
export async function changeEnded(
  deps: Deps,
  inFlight: readonly string[],
  change: (tx: Tx, candidates: readonly Candidate[]) => Promise<void>,
): Promise<number | null> {
  let left = inFlight;
  if (left.length === 0) return 0;
  try {
    for await (const _ of looks(deps.clock)) {
      const open = new Set(await openSends(deps.db, { ids: left }));
      const ids = left.filter((id) => !open.has(id));
      if (ids.length === 0) continue;
      // The selection was already restricted to the sources of the viewer.
      const selection = scopeSelection(systemViewer("worker"), "view", { ids });
      const page = { selection, asOfMs: 0, cutoff: cutoffOf(selection, 0), after: null, limit: ids.length };
      await inTransaction(deps.db, async (tx) => change(tx, await readCandidates(tx, page)));
      left = [...open];
      if (left.length === 0) break;
    }
    return left.length;
  } catch (error) {
    // The change is committed: the answer must not report a failure.
    deps.log.warn({ err: error }, "events under way not changed");
    return null;
  }
}

/** The events that were not changed, counted by their reasons. */
export function refusals<Event extends { id: string }>(
  events: readonly Event[],
  changed: ReadonlySet<string>,
  why: (event: Event) => string,
): Changed["refused"] {
  const refused: Record<string, number> = {};
  for (const event of events) {
    if (changed.has(event.id)) continue;
    const reason = why(event);
    refused[reason] = (refused[reason] ?? 0) + 1;
  }
  return refused;
}

/** The answer after the sends in `ended` were counted: they no longer count as `in-flight`. */
export function endedDelta({ changed, refused }: Changed, looked: number) {
  return { changed: changed.length, refused: { ...refused, "in-flight": (refused["in-flight"] ?? 0) - looked } };
}

function addTo(answer: BulkAnswer, ended: Changed, looked: number): void {
  const delta = endedDelta(ended, looked);
  answer.changed += delta.changed;
  answer.ids?.push(...ended.changed.map(({ id }) => id));
  for (const [reason, count] of Object.entries(delta.refused)) {
    const sum = (answer.refused[reason] ?? 0) + count;
    if (sum === 0) delete answer.refused[reason];
    else answer.refused[reason] = sum;
  }
}
