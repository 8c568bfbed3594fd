import { headerValue, isRedriven } from "@/lib/kit/inbox/confirm";
import type { Inbox } from "@/lib/kit/inbox/consumer";
import type { EventVersion, Processed } from "@/lib/kit/inbox/process-once";
import type { FailedMessage } from "@/lib/kit/park/event";
import type { Parked, Parker } from "@/lib/kit/park/parker-types";
import type { Attempt } from "@/lib/kit/retry/bare";
import { classifyAny } from "@/lib/kit/retry/classify";
import { type Runner, tryExecute } from "@/lib/kit/retry/execute";
import type { RetryPolicy } from "@/lib/kit/retry/policy";
import type { SqlSession } from "@/lib/kit/sql";
import { chain } from "@/lib/retry/classify/facts";
import { NOT_SENT, PERMANENT, type Verdict, verdict } from "@/lib/retry/classify/verdict";
import { OperationError } from "@/lib/retry/errors";

export type ConsumeOptions<Session extends SqlSession> = {
  /** Runs each attempt in a transaction of its own, and knows what was processed. Its shield is asked before. */
  inbox: Inbox<Session>;
  parker: Parker;
  /** How often, and for how long at most, an event is tried. Default: 10 attempts of 5 s, 0.1 s doubled up to 5 s, full jitter. */
  retry?: RetryPolicy | Runner;
  /** Judges what an attempt rejects with; a Target has its own. Default: `classifyConsumed`. */
  classify?(error: unknown): Verdict;
  /** Confirms a redriven event to Parkade by the outbox of the inbox, in the transaction of its effects. */
  confirm?: boolean;
  version?: EventVersion;
  /** Ends the attempts without parking: the consumer stops, and the message comes again. */
  signal?: AbortSignal;
};

/** Acknowledge the message after each but `dropped`. */
export type Consumed = { status: "processed" | "duplicate"; eventId: string } | Parked;

const RETRY: RetryPolicy = {
  maxAttempts: 10,
  attemptTimeoutMs: 5_000,
  backoff: { kind: "exponential", baseMs: 100, factor: 2, capMs: 5_000, jitter: { kind: "full" } },
};

/**
 * Processes an event once: repeats `work` when it fails, and parks the event when no repeat can help or the limit is
 * reached. Each attempt is a transaction that commits with its row of the inbox, so a repeat has no effect twice. Rejects
 * with the signal's reason when it aborts, and with PolicyError; never for an event.
 */
export async function consumeWithRetry<Session extends SqlSession>(
  message: FailedMessage & { eventId: string },
  work: (tx: Session, attempt: Attempt) => Promise<unknown>,
  options: ConsumeOptions<Session>,
): Promise<Consumed> {
  const { inbox, parker, retry = RETRY, classify = classifyConsumed, confirm = false, version, signal } = options;
  const { eventId, headers = [] } = message;
  const source = headerValue(headers, "x-redrive-from") ?? parker.source;
  const confirmed = confirm && isRedriven(headers) ? { confirm: { source } } : {};
  const attempt = (attempt: Attempt): Promise<Processed<unknown>> =>
    inbox.process(eventId, (tx) => work(tx, attempt), { ...confirmed, ...(version && { version }) });
  const outcome = await tryExecute(retry as RetryPolicy, attempt, {
    idempotent: true,
    ...(signal && { signal }),
    ...("run" in retry ? {} : { classify }),
  });
  if (outcome.kind === "ok") return { status: outcome.value.status, eventId };
  if (outcome.kind === "cancelled") throw outcome.reason;
  const attempts = Math.max(message.attempts ?? 1, 1) - 1 + outcome.attempts;
  return parker.park(new OperationError(outcome), { ...message, attempts });
}

/** As `classifyAny`, but unknown errors are retried: their transaction rolled back. Not so with `parkEarly: true` in the chain. */
export function classifyConsumed(error: unknown): Verdict {
  const judged = classifyAny(error);
  if (chain(error).some(({ parkEarly }) => parkEarly === true)) return verdict(judged.code, PERMANENT);
  // Of a permanent verdict only an unknown error has no word on whether it was sent.
  return judged.kind === "permanent" && judged.sent === "maybe" ? verdict(judged.code, NOT_SENT) : judged;
}
