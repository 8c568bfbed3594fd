import type { OutboundMessage, PublishReceipt } from "@/lib/brokers/port";
import { type EndedItem, heldBehind } from "@/lib/order/order-gate.pure";
import { isPassing } from "@/lib/platform/database/retrying";
import { type Span, withSpan } from "@/lib/platform/tracing/spans";
import { gate } from "@/lib/redrive/gate/gate.pure";
import { readRulesOver } from "@/lib/redrive/gate/read-rules";
import { closeOf, logAttempt, lostClose, sentWithout, textOf } from "@/lib/redrive/run/attempt-record";
import { publishInSpan, startAttemptSpan } from "@/lib/redrive/run/attempt-trace";
import { eventAfter } from "@/lib/redrive/run/event-after.pure";
import type { ExaminedItem } from "@/lib/redrive/run/examine";
import { budgetRouteOf } from "@/lib/redrive/run/fallback.pure";
import type { Finish } from "@/lib/redrive/run/finish";
import { incomingRetryCount } from "@/lib/redrive/run/incoming-retry-count";
import type { Redriver } from "@/lib/redrive/run/redriver";
import { sendKey } from "@/lib/redrive/run/send-key.pure";
import type { Session } from "@/lib/redrive/run/session";
import type { SliceSignals } from "@/lib/redrive/run/slice-signals";
import type { AttemptClose } from "@/lib/redrive/run/store/finish-items.write";
import { BEGIN_MS_MAX, type Intent } from "@/lib/redrive/run/store/intents.write";
import type { SliceItem } from "@/lib/redrive/run/store/slice-items.read";
import type { SliceTarget } from "@/lib/redrive/targets/target";
import { outgoingRetryCount } from "@/lib/retry/amplification";
import { type AttemptContext, type AttemptRecord, type Call, execute, type Outcome } from "@/lib/retry/execute";
import type { EventBody } from "@/lib/selection/bodies.read";
import type { ItemOutcome } from "@/lib/states/item-outcome.pure";

/** A Retry-After up to this keeps the item open in its redrive; beyond, the event is parked again until then. */
const LATER_MS_MAX = 15 * 60_000;

/** What found no target is tried again after this. */
const TARGET_WAIT_MS = 2_000;

/** The intent was refused: paused, stopped, cancelled, ignored, blacklisted, held, processed, or another worker owns the slice. */
class IntentDenied extends Error {}

/**
 * Sends an aggregate's items one after the other. After a failure, a refusal or a deferral the items behind it are held
 * back, so that none overtakes its head. False when an end was refused: the slice has another epoch, or a person has taken the item.
 */
export async function sendRun(
  redriver: Redriver,
  session: Session,
  run: readonly ExaminedItem[],
  signals: SliceSignals,
): Promise<boolean> {
  const { earlier } = session.redrive();
  const ended: EndedItem[] = [];
  let allOurs = true;
  for (const examined of run) {
    const held = firstOf(ended, (before) => heldBehind(before, examined.item, earlier));
    const { outcome, closes, attempts }: ItemEnd = held
      ? { outcome: held, closes: [], attempts: examined.item.attempts }
      : await conclude(redriver, session, examined, signals);
    const after = eventAfter(outcome, examined.item, examined.settings, redriver.clock.wallMs());
    const finish: Finish = { item: examined.item, outcome, after, attempts, findings: examined.findings, closes };
    const ours = await session.finish(finish);
    redriver.attempts.ended(closes);
    if (!ours) redriver.log.warn({ redriveId: examined.item.redriveId, eventId: examined.item.eventId }, "fence lost");
    allOurs &&= ours;
    if (!held) ended.push({ ...examined.item, outcome });
  }
  return allOurs;
}

function firstOf<Item, Result>(items: readonly Item[], find: (item: Item) => Result | null): Result | null {
  for (const item of items) {
    const found = find(item);
    if (found !== null) return found;
  }
  return null;
}

type ItemEnd = { outcome: ItemOutcome; closes: AttemptClose[]; attempts: number };

async function conclude(
  redriver: Redriver,
  session: Session,
  examined: ExaminedItem,
  signals: SliceSignals,
): Promise<ItemEnd> {
  const { item, decided } = examined;
  if (decided) return { outcome: decided, closes: [], attempts: item.attempts };
  if (signals.halt.aborted) return { outcome: { kind: "back" }, closes: [], attempts: item.attempts };
  return send(redriver, session, examined, signals);
}

type Operation = {
  /** Of the attempts under way, by their number. */
  intents: Map<number, Intent>;
  /** Ends of attempts that are not in the store yet. */
  closes: AttemptClose[];
  /** Number of the last attempt that has ended. */
  attempts: number;
  /** Sends at once of the redrive that it holds; -1 = it has ended, and keeps none. */
  places: number;
  /** Monotonic ms before which the target has asked not to be sent to; 0 = it has not. */
  askedUntilMs: number;
};

/**
 * One operation of the engine, which alone takes tokens and places at the target. The wait for the first attempt's turn is no
 * attempt and spends no deadline, and a breaker that lets nothing pass hands the item back.
 */
async function send(
  redriver: Redriver,
  session: Session,
  examined: ExaminedItem,
  { sends, haltAt }: SliceSignals,
): Promise<ItemEnd> {
  const { target, standIn } = examined.send!;
  let halt = haltAt(target);
  let sentBy = target;
  const operation: Operation = {
    intents: new Map(),
    closes: [],
    attempts: examined.item.attempts,
    places: 0,
    askedUntilMs: 0,
  };
  const conclude = (outcome: ItemOutcome): ItemEnd => {
    const { closes, attempts, askedUntilMs } = operation;
    const waitMs = askedUntilMs - redriver.clock.nowMs();
    // The next try must wait as long as the target has asked for.
    return { outcome: outcome.kind === "back" && waitMs > 0 ? { kind: "later", waitMs } : outcome, closes, attempts };
  };
  const sendTo = (target: SliceTarget) => {
    halt = haltAt(target);
    sentBy = target;
    return execute(callOf(redriver, session, { examined, target, operation }), {
      policy: target.policy,
      target: target.state,
      clock: redriver.clock,
      random: redriver.random,
      signal: sends,
      halt,
      patient: true,
    });
  };
  try {
    let outcome = await sendTo(target);
    if (outcome.kind === "failed" && outcome.reason === "budget") {
      const { sent } = outcome;
      const ordered = examined.item.aggregateId !== null;
      const route = budgetRouteOf(target.row.fallback, { sent, ordered, standInTakes: standIn !== null });
      if (route?.kind === "wait") return conclude({ kind: "later", waitMs: route.waitMs });
      if (route?.kind === "stand-in") {
        // In the store before the next send: a crash must not make an attempt that did not arrive look like one that may have.
        while (operation.closes.length > 0) {
          await redriver.attempts.close(operation.closes[0]!, null);
          operation.closes.shift();
        }
        outcome = await sendTo(standIn!);
      }
    }
    const spent = operation.attempts - examined.send!.unreached >= 2 * target.policy.maxAttempts;
    if (isLost(outcome) && !spent && !(await sentBy.reachedNow())) {
      return conclude({ kind: "later", waitMs: TARGET_WAIT_MS });
    }
    return conclude(outcomeOf(outcome, redriver.clock.wallMs(), sentBy.row.sourceId === examined.item.sourceId));
  } catch (error) {
    // The attempts and the wait that the target has asked for must reach the store, with the end of the item. An answer that the
    // engine did not wait for is lost.
    for (const [attempt, intent] of operation.intents) {
      operation.closes.push(lostClose(examined.item, sentBy, { attempt, intent }));
      operation.attempts = Math.max(operation.attempts, attempt);
    }
    if (error instanceof IntentDenied) return conclude(await outcomeOfDeniedIntent(redriver, session, examined));
    if (halt.aborted || isPassing(error)) return conclude({ kind: "back" });
    throw error;
  } finally {
    releasePlaces(session, operation, operation.places);
    operation.places = -1;
  }
}

/** Ended without an answer: whether the event or its target is at fault shows when the target is looked at. */
function isLost(outcome: Outcome<PublishReceipt>): boolean {
  if (outcome.kind !== "failed" || outcome.sent === "no" || outcome.code.startsWith("HTTP_")) return false;
  return outcome.reason === "budget" || outcome.reason === "exhausted" || outcome.reason === "deadline";
}

async function takePlace(session: Session, operation: Operation, signal: AbortSignal): Promise<void> {
  await session.takePlace(signal);
  // The operation did not wait for this: it was halted meanwhile.
  if (operation.places < 0) session.releasePlace();
  else operation.places++;
}

function releasePlaces(session: Session, operation: Operation, count: number): void {
  for (let left = Math.min(count, operation.places); left > 0; left--) {
    operation.places--;
    session.releasePlace();
  }
}

function callOf(
  redriver: Redriver,
  session: Session,
  { examined, target, operation }: { examined: ExaminedItem; target: SliceTarget; operation: Operation },
): Call<PublishReceipt> {
  const { item } = examined;
  const { body, ambiguous, unreached } = examined.send!;
  const idempotencyKey = sendKey(item);
  const repeatedBefore = incomingRetryCount(body.headers);
  /** Of the attempts under way, by their number; empty when nothing is traced. */
  const spans = new Map<number, Span>();
  const endSpan = (attempt: number, failure: string | null) => {
    const span = spans.get(attempt);
    if (failure !== null) span?.fail(failure);
    span?.end();
    spans.delete(attempt);
  };
  return {
    idempotencyKey,
    retryable: target.row.retryable,
    ambiguous,
    firstAttempt: operation.attempts + 1,
    unreached,
    incomingRetryCount: repeatedBefore,
    attempt: (context) =>
      publishInSpan(
        spans.get(context.attempt) ?? null,
        { target, message: messageOf(item, body, context) },
        (message) => target.publisher.publish(message, context.signal, (phase) => context.reached(phase)),
      ),
    takeOwnToken: async (signal) => {
      await takePlace(session, operation, signal);
      await session.takeToken(target.row, signal);
    },
    takeToken: target.takeToken,
    onOpen: async (attempt) => {
      const span = startAttemptSpan(item, body, { target, attempt });
      if (span !== null) spans.set(attempt, span);
      try {
        const { whitelisted, passes } = examined.send!;
        const to = { idempotencyKey, target: target.row.name, targetId: target.row.id };
        const intent = await redriver.attempts.open({ ...item, ...to, attempt, whitelisted, passes });
        if (intent === null) throw new IntentDenied();
        operation.intents.set(attempt, intent);
      } catch (error) {
        endSpan(attempt, error instanceof IntentDenied ? "intent-denied" : "intent-not-written");
        throw error;
      }
    },
    mayBeginUntilMs: (attempt) => operation.intents.get(attempt)!.lookedMs + BEGIN_MS_MAX,
    onClose: async (record) => {
      releasePlaces(session, operation, 1);
      if (record.verdict?.away) target.markUnreachable(textOf(record.error));
      const intent = operation.intents.get(record.attempt)!;
      operation.intents.delete(record.attempt);
      const close = sentWithout(closeOf(item, target, record, intent), target.publisher.leftOut?.(body) ?? []);
      const retryCount = outgoingRetryCount(repeatedBefore, record.attempt);
      const span = spans.get(record.attempt) ?? null;
      span?.set({ "parkade.outcome": close.state, "parkade.code": close.code ?? "OK" });
      withSpan(span, () => logAttempt(redriver, { item, target, retryCount }, record, close));
      endSpan(record.attempt, close.state === "delivered" ? null : (close.code ?? close.state));
      operation.attempts = Math.max(operation.attempts, record.attempt);
      await keepClose(redriver, item, record, { operation, close });
    },
  };
}

function messageOf(item: SliceItem, body: EventBody, { attempt, retryCount }: AttemptContext): OutboundMessage {
  const { eventId, producer, redriveId, revision, source, traceId, aggregateId } = item;
  const facts = { eventId, redriveId, revision, traceId, aggregateId, from: source, idempotencyKey: sendKey(item) };
  return { ...body, ...facts, ...(producer === "" ? {} : { producer }), attempt, retryCount };
}

/** The end of the last attempt is written with the end of its item. Another one is written now: its repeat comes later. */
async function keepClose(
  { attempts, clock }: Redriver,
  { id, redriveId, slice, fence }: SliceItem,
  { next }: AttemptRecord,
  { operation, close }: { operation: Operation; close: AttemptClose },
): Promise<void> {
  if (next?.kind !== "retry") {
    operation.closes.push(close);
    return;
  }
  const { honored, delayMs } = next;
  operation.askedUntilMs = honored ? clock.nowMs() + delayMs : 0;
  try {
    await attempts.close(close, honored ? { id, redriveId, slice, fence, waitMs: delayMs } : null);
  } catch (error) {
    operation.closes.push(close);
    throw error;
  }
}

/** `toOwnSource`: another source may be another cluster, where the same name means another log. */
function outcomeOf(outcome: Outcome<PublishReceipt>, nowMs: number, toOwnSource: boolean): ItemOutcome {
  switch (outcome.kind) {
    case "ok":
      return {
        kind: "delivered",
        code: outcome.value.status,
        ...(outcome.value.deduplicated ? { deduplicated: true } : {}),
        ...(toOwnSource && outcome.value.record !== undefined ? { record: outcome.value.record } : {}),
      };
    case "cancelled":
      return { kind: "back" };
    case "deferred":
      if (outcome.cause === "overload") return { kind: "later", waitMs: TARGET_WAIT_MS };
      if (outcome.cause !== "retry-after") return { kind: "back" };
      if (outcome.untilMs - nowMs <= LATER_MS_MAX) return { kind: "later", waitMs: outcome.untilMs - nowMs };
      return { kind: "failed", code: outcome.code, detail: textOf(outcome.error), untilMs: outcome.untilMs };
    case "failed": {
      // Its attempts are not used up: the item stays open, and goes on with them when the target takes sends again.
      if (outcome.reason === "breaker-open") return { kind: "back" };
      if (outcome.reason === "overload") return { kind: "later", waitMs: TARGET_WAIT_MS };
      if (outcome.reason === "bulkhead-full" && outcome.attempts === 0) return { kind: "back" };
      // No target was there to be sent to: that is not the event's fault. What may have arrived goes again only if it may.
      if (outcome.away && (outcome.reason !== "not-retryable" || outcome.sent === "no")) {
        return { kind: "later", waitMs: TARGET_WAIT_MS };
      }
      const detail = outcome.error === null || outcome.error === undefined ? outcome.reason : textOf(outcome.error);
      return { kind: "failed", code: outcome.code, detail, untilMs: outcome.untilMs };
    }
  }
}

/** Outcome of an item whose intent was denied: its redrive has stopped, or its event was taken out or blacklisted meanwhile. */
async function outcomeOfDeniedIntent(
  redriver: Redriver,
  session: Session,
  examined: ExaminedItem,
): Promise<ItemOutcome> {
  // A stop of the target is one of the causes: the next page must know it.
  await redriver.targets.reread();
  const rules = await readRulesOver(redriver.keyedDb, [examined.item]);
  const ruling = gate(examined.item, {
    controls: rules.index,
    redriveLimit: rules.settings.redriveLimit,
    nowMs: redriver.clock.wallMs(),
    at: "run",
    despite: session.redrive().despite,
  });
  if (!ruling.pass) return { kind: "refused", refusal: ruling.refusal, detail: "imposed while it waited" };
  redriver.log.info({ redriveId: session.redrive().id, eventId: examined.item.eventId }, "send withdrawn");
  return { kind: "back" };
}
