import { redactText } from "@/lib/guard/masking/mask-text.pure";
import type { Deps } from "@/lib/lane/deps";
import { currentIds } from "@/lib/platform/tracing/spans";
import { leftOutText } from "@/lib/redrive/gate/dry-run.pure";
import { sendKey } from "@/lib/redrive/run/send-key.pure";
import type { AttemptClose } from "@/lib/redrive/run/store/finish-items.write";
import type { Intent } from "@/lib/redrive/run/store/intents.write";
import type { SliceItem } from "@/lib/redrive/run/store/slice-items.read";
import type { SliceTarget } from "@/lib/redrive/targets/target";
import { chain } from "@/lib/retry/classify/facts";
import type { AttemptRecord } from "@/lib/retry/execute";
import type { RecordedOperation } from "@/lib/retry/replay";

/**
 * The part of a decision that is kept beside the attempt's row: enough to decide it again from the store alone. Never a payload,
 * a header or an error's text.
 */
export type StoredDecision = {
  policy: { name: string; version: number };
  retryable: boolean;
} & Omit<RecordedOperation["attempts"][number], "attempt">;

/** An attempt's end as the store keeps it. */
export function closeOf(item: SliceItem, target: SliceTarget, record: AttemptRecord, intent: Intent): AttemptClose {
  const failed = record.result !== "ok";
  return {
    ...endedSend(item, target, { attempt: record.attempt, intent }),
    state: failed ? (record.verdict?.sent === "maybe" ? "ambiguous" : "failed") : "delivered",
    latencyMs: record.elapsedMs,
    code: record.verdict?.code ?? "OK",
    detail: failed ? chainText(record.error) : null,
    decision: decisionOf(target, record),
  };
}

type Sent = { attempt: number; intent: Intent };

/** The end of a send whose answer nobody waits for: it may have been delivered. */
export function lostClose(item: SliceItem, target: SliceTarget, sent: Sent): AttemptClose {
  const detail = "its answer was not waited for: it may have been delivered";
  const end = { state: "ambiguous", latencyMs: 0, code: "ANSWER_LOST", detail, decision: null } as const;
  return { ...endedSend(item, target, sent), ...end };
}

function endedSend(item: SliceItem, { row }: SliceTarget, sent: Sent) {
  const { id, redriveId, fence, revision } = item;
  return { id, redriveId, fence, revision, target: row.name, targetId: row.id, idempotencyKey: sendKey(item), ...sent };
}

/** The same with the headers that the attempt was sent without: a target may answer what it does because of them. */
export function sentWithout(close: AttemptClose, leftOut: readonly string[]): AttemptClose {
  const without = leftOutText(leftOut);
  if (without === null) return close;
  return { ...close, detail: close.detail === null ? without : `${close.detail}; ${without}` };
}

function decisionOf(target: SliceTarget, record: AttemptRecord): StoredDecision | null {
  if (record.inputs === null) return null;
  const { attempt: _attempt, error: _error, ...decided } = record;
  return { policy: target.policyVersion, retryable: target.row.retryable, ...decided };
}

/** An error's own words, for the store and the console of an operator; never for an anonymous client. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * An error's own words, then those of its causes that say something more. An adapter writes its own words without
 * credentials; those of a client library are masked here.
 */
function chainText(error: unknown): string {
  const said: string[] = [textOf(error)];
  for (const { message } of chain(error).slice(1)) {
    const text = typeof message === "string" ? redactText(message.trim()) : "";
    if (text !== "" && !said.some((one) => one.includes(text))) said.push(text);
  }
  return said.join("; caused by: ");
}

/**
 * One wide line per attempt: whatever is asked about it later is in it. `traceId` is the trace of the attempt where sends are
 * traced, and the parked one elsewhere.
 */
export function logAttempt(
  { log, clock }: Pick<Deps, "log" | "clock">,
  { item, target, retryCount }: { item: SliceItem; target: SliceTarget; retryCount: number },
  record: AttemptRecord,
  close: AttemptClose,
): void {
  const { verdict, next } = record;
  const nowMs = clock.nowMs();
  const { available } = target.state.budget.snapshot(nowMs);
  log.info(
    {
      redriveId: item.redriveId,
      eventId: item.eventId,
      aggregateType: item.aggregateType,
      aggregateId: item.aggregateId,
      ...(currentIds() === null ? { traceId: item.traceId } : { parkedTraceId: item.traceId }),
      source: item.source,
      errorCode: item.errorCode,
      target: target.row.name,
      lane: target.row.lane,
      policy: `${target.policyVersion.name}@${target.policyVersion.version}`,
      attempt: record.attempt,
      retryCount,
      hedge: record.hedge,
      outcome: close.state,
      code: close.code,
      status: statusOf(record.error),
      kind: verdict?.kind ?? null,
      sent: verdict?.sent ?? null,
      latencyMs: Math.round(record.elapsedMs * 10) / 10,
      waitedMs: Math.round(record.waitedMs),
      timeoutMs: Math.round(record.timeoutMs),
      next: next?.kind ?? null,
      reason: next?.kind === "give-up" ? next.reason : null,
      delayMs:
        next === null || next.kind === "give-up"
          ? null
          : Math.round(next.kind === "retry" ? next.delayMs : next.waitMs),
      retryAfterHonored: next?.kind === "defer" || (next?.kind === "retry" && next.honored),
      breaker: target.state.breaker?.snapshot(nowMs).state ?? null,
      budgetLeft: Number.isFinite(available) ? available : null,
    },
    "attempt",
  );
}

/** The protocol's status of a failed publish, if it has one. */
function statusOf(error: unknown): number | null {
  return error instanceof Error && "status" in error && typeof error.status === "number" ? error.status : null;
}
