import type { PublishPhase, PublishReceipt } from "@/lib/brokers/port";
import { gate } from "@/lib/core/gate";
import { eventAfter, type ItemOutcome } from "@/lib/core/item-outcome";
import { closeOf, logAttempt, textOf } from "@/lib/operations/attempt-record";
import type { ExaminedItem } from "@/lib/operations/examine-items";
import { incomingRetryCount } from "@/lib/operations/incoming-retry-count";
import { readRulesOver } from "@/lib/operations/read-rules";
import type { Finish, RedriveSession, SliceDeps } from "@/lib/operations/slice-deps";
import { outgoingRetryCount } from "@/lib/retry/amplification";
import { type AttemptContext, type AttemptRecord, type Call, execute, type Outcome } from "@/lib/retry/execute";
import { isAggregateBlacklisted } from "@/lib/store/read/candidates";
import type { AttemptClose } from "@/lib/store/write/finish-items";

/** A Retry-After up to this keeps the item open in its redrive; beyond, the event is parked again until then. */
const LATER_MS_MAX = 15 * 60_000;

/** The store refused the intent: paused, cancelled, ignored, blacklisted, or the item is no longer ours. */
class IntentDenied extends Error {}

/**
 * Sends an aggregate's items one after the other. What happens to one before it decides over the next: after a failure
 * or a deferral the tail is held back, so that nothing overtakes its head.
 */
export async function sendRun(
  deps: SliceDeps,
  session: RedriveSession,
  run: readonly ExaminedItem[],
  signal: AbortSignal,
): Promise<void> {
  let head: Head | null = null;
  for (const examined of run) {
    const held: ItemOutcome | null = head && heldBy(head);
    const { outcome, closes, attempts }: Concluded = held
      ? { outcome: held, closes: [], attempts: examined.item.attempts }
      : await conclude(deps, session, examined, signal);
    const after = eventAfter(outcome, examined.item, examined.settings, deps.clock.wallMs());
    const finish: Finish = { item: examined.item, outcome, after, attempts, findings: examined.findings, closes };
    const ours = await session.finish(finish);
    if (!ours) deps.log.warn({ redriveId: examined.item.redriveId, eventId: examined.item.eventId }, "fence lost");
    if (head === null || !held) head = { item: examined.item, outcome };
  }
}

type Head = { item: ExaminedItem["item"]; outcome: ItemOutcome };

/** What a head's outcome means for the event behind it; null = it may go. */
function heldBy(head: Head): ItemOutcome | null {
  const { item, outcome } = head;
  if (item.aggregateId === null) return null;
  switch (outcome.kind) {
    case "failed":
      return { kind: "refused", refusal: "held-by-head", detail: `event ${item.eventId} comes first and failed` };
    case "refused": {
      const holds = outcome.refusal === "cooling" || outcome.refusal === "held-by-head";
      return holds ? { ...outcome, refusal: "held-by-head", detail: `event ${item.eventId} comes first` } : null;
    }
    case "later":
    case "back":
      return { kind: "back" };
    default:
      return null;
  }
}

type Concluded = { outcome: ItemOutcome; closes: AttemptClose[]; attempts: number };

async function conclude(
  deps: SliceDeps,
  session: RedriveSession,
  examined: ExaminedItem,
  signal: AbortSignal,
): Promise<Concluded> {
  const { item, decided } = examined;
  if (decided) return { outcome: decided, closes: [], attempts: item.attempts };
  if (halted(deps, session, signal)) return { outcome: { kind: "back" }, closes: [], attempts: item.attempts };
  return send(deps, session, examined, signal);
}

function halted(deps: SliceDeps, session: RedriveSession, signal: AbortSignal): boolean {
  return signal.aborted || session.stopped.aborted || deps.stopping.aborted;
}

/** Place and token first: that wait is no attempt and spends no deadline. Then the engine. */
async function send(
  deps: SliceDeps,
  session: RedriveSession,
  examined: ExaminedItem,
  signal: AbortSignal,
): Promise<Concluded> {
  const { item } = examined;
  const { target } = examined.send!;
  const waits = AbortSignal.any([signal, session.stopped, deps.stopping]);
  const closes: AttemptClose[] = [];
  let leave = () => {};
  try {
    leave = await target.enter(waits);
    await session.takeToken(waits);
    const outcome = await execute(callOf(deps, session, examined, { waits, closes }), {
      policy: target.policy,
      target: target.state,
      clock: deps.clock,
      random: deps.random,
      signal,
    });
    const attempts = Math.max(item.attempts, ...closes.map((close) => close.attempt));
    return { outcome: outcomeOf(outcome, deps.clock.wallMs()), closes, attempts };
  } catch (error) {
    const attempts = Math.max(item.attempts, ...closes.map((close) => close.attempt));
    if (error instanceof IntentDenied) return { outcome: await whyDenied(deps, session, examined), closes, attempts };
    if (waits.aborted) return { outcome: { kind: "back" }, closes, attempts };
    throw error;
  } finally {
    leave();
  }
}

type CallFacts = { waits: AbortSignal; closes: AttemptClose[] };

function callOf(
  deps: SliceDeps,
  session: RedriveSession,
  examined: ExaminedItem,
  { waits, closes }: CallFacts,
): Call<PublishReceipt> {
  const { item } = examined;
  const { target, body, whitelisted, ambiguous } = examined.send!;
  const idempotencyKey = `${item.source}:${item.eventId}`;
  const repeatedBefore = incomingRetryCount(body.headers);
  return {
    idempotencyKey,
    retryable: target.row.retryable,
    ambiguous,
    firstAttempt: item.attempts + 1,
    incomingRetryCount: repeatedBefore,
    attempt: (context: AttemptContext) =>
      target.publisher.publish(
        {
          eventId: item.eventId,
          payload: body.payload,
          contentType: body.contentType,
          headers: body.headers,
          origin: body.origin,
          idempotencyKey,
          redriveId: item.redriveId,
          attempt: context.attempt,
          retryCount: context.retryCount,
          from: item.source,
          traceId: item.traceId,
        },
        context.signal,
        (phase: PublishPhase) => context.reached(phase),
      ),
    takeToken: firstTokenTaken(async () => {
      await target.takeToken(waits);
      await session.takeToken(waits);
    }),
    onOpen: async (attempt: number) => {
      const open = await deps.openAttempt({
        id: item.id,
        redriveId: item.redriveId,
        fence: item.fence,
        attempt,
        target: target.row.name,
        idempotencyKey,
        eventId: item.eventId,
        aggregateType: item.aggregateType,
        aggregateId: item.aggregateId,
        errorCode: item.errorCode,
        sourceId: item.sourceId,
        source: item.source,
        whitelisted,
      });
      if (!open) throw new IntentDenied();
    },
    onClose: async (record: AttemptRecord) => {
      const close = closeOf(item, target, record);
      const retryCount = outgoingRetryCount(repeatedBefore, record.attempt);
      logAttempt(deps, { item, target, retryCount }, record, close);
      if (record.next?.kind === "retry") await deps.closeAttempt(close);
      else closes.push(close);
    },
  };
}

/** The first attempt's token was taken before the operation began. */
function firstTokenTaken(take: () => Promise<void>): () => Promise<void> {
  let first = true;
  return async () => {
    if (!first) return take();
    first = false;
  };
}

function outcomeOf(outcome: Outcome<PublishReceipt>, nowMs: number): ItemOutcome {
  switch (outcome.kind) {
    case "ok":
      return { kind: "delivered", code: outcome.value.status };
    case "cancelled":
      return { kind: "back" };
    case "deferred":
      if (outcome.cause === "no-permit") return { kind: "back" };
      if (outcome.untilMs - nowMs <= LATER_MS_MAX) return { kind: "later", untilMs: outcome.untilMs };
      return { kind: "failed", code: outcome.code, detail: textOf(outcome.error), untilMs: outcome.untilMs };
    case "failed": {
      // Nothing was sent, and not for a reason of this event: it keeps its place and is examined again.
      const untouched = outcome.attempts === 0 && ["breaker-open", "bulkhead-full"].includes(outcome.reason);
      if (untouched) return { kind: "back" };
      const detail = outcome.error === null || outcome.error === undefined ? outcome.reason : textOf(outcome.error);
      return { kind: "failed", code: outcome.code, detail, untilMs: outcome.untilMs };
    }
  }
}

/** A denied intent: stopped as a whole, or this event was taken out or blacklisted meanwhile. */
async function whyDenied(deps: SliceDeps, session: RedriveSession, examined: ExaminedItem): Promise<ItemOutcome> {
  const rules = await readRulesOver(deps.db, [examined.item]);
  const aggregateBlacklisted = await isAggregateBlacklisted(deps.db, examined.item.id);
  const ruling = gate(
    { ...examined.item, aggregateBlacklisted },
    {
      controls: rules.index,
      redriveLimit: rules.settings.redriveLimit,
      nowMs: deps.clock.wallMs(),
      at: "run",
    },
  );
  if (!ruling.pass) return { kind: "refused", refusal: ruling.refusal, detail: "imposed while it waited" };
  deps.log.info({ redriveId: session.redrive().id, eventId: examined.item.eventId }, "send withdrawn");
  return { kind: "back" };
}
