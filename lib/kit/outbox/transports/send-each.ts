import type { Message, MessageResult, Transport } from "@/lib/kit/outbox/message";
import { classify } from "@/lib/retry/classify/classify";

/** Sends that are under way at the same time. */
const CONCURRENCY = 32;

type Publish = (message: Message, signal: AbortSignal) => Promise<unknown>;
type Judge = (error: unknown) => MessageResult;

/**
 * A transport of a function that sends one message and rejects when it was not stored. The engine judges its errors: a
 * permanent one ends the event, one of the connection counts as an outage, any other as an attempt.
 */
export function fromPublisher(publish: Publish, judge: Judge = failureOf): Transport {
  const each = toReceivers(publish, judge);
  return {
    publishMany: async (...wave) => {
      const results = await each.publishMany(...wave);
      throwOutage(results);
      return results;
    },
  };
}

/** The same for destinations that are servers of their own: the outage of all that a wave was sent to is none of the others. */
export function toReceivers(publish: Publish, judge: Judge): Transport {
  return {
    publishMany: async (messages, signal, beginNoMore = signal) => {
      const results: MessageResult[] = messages.map(() => untried(beginNoMore));
      const ended = abortOf(signal);
      let next = 0;
      const worker = async () => {
        for (let at = next++; at < messages.length && !beginNoMore.aborted; at = next++) {
          const sending = publish(messages[at]!, signal).then(() => ({ ok: true as const }), judge);
          results[at] = await Promise.race([sending, ended]);
        }
      };
      await Promise.all(Array.from({ length: Math.min(CONCURRENCY, messages.length) }, worker));
      return results;
    },
  };
}

/** The result of a message whose send was not begun. */
export function untried({ reason }: AbortSignal): MessageResult {
  return { ok: false, untried: true, error: reason };
}

/** The result of the sends under way when `signal` aborts, also of a client that knows no signal. */
export function abortOf(signal: AbortSignal): Promise<MessageResult> {
  const outage = (): MessageResult => ({ ok: false, outage: true, error: signal.reason });
  return new Promise((resolve) => {
    if (signal.aborted) resolve(outage());
    else signal.addEventListener("abort", () => resolve(outage()), { once: true });
  });
}

/** When not one message arrived and each failed for the connection, the receiver as a whole is away. */
export function throwOutage(results: readonly MessageResult[]): void {
  const [first] = results;
  if (first === undefined || first.ok || !results.every((result) => !result.ok && result.outage)) return;
  throw first.error;
}

/** Answers of a proxy whose service is away, or of a service that is about to stop: they pass, and are no fault of the event. */
const AWAY = new Set(["HTTP_502", "HTTP_503", "HTTP_504"]);

/** A failed send as the engine's tables judge it. */
export function failureOf(error: unknown): MessageResult {
  const { kind, code, retryAfter, retryAfterMs } = classify(error);
  const answered = (/^HTTP_\d/.test(code) && !AWAY.has(code)) || code === "UNKNOWN";
  return {
    ok: false,
    error,
    // An error of no table is tried again: the event waits longer each time, and is FAILED after its attempts.
    permanent: kind === "permanent" && code !== "UNKNOWN",
    outage:
      kind === "throttled" || kind === "cancelled" || ((kind === "transient" || kind === "ambiguous") && !answered),
    // A date needs the wall clock, which its transport has.
    retryAfterMs: retryAfterMs ?? (/^\d+$/.test(retryAfter ?? "") ? Number(retryAfter) * 1_000 : undefined),
  };
}

/** A message that this broker cannot carry. */
export function unfit(text: string): MessageResult {
  return { ok: false, permanent: true, error: new TypeError(text) };
}
