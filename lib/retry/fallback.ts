import type { Outcome } from "@/lib/retry/call";

/** A second best answer for outcomes that are not a success. */
export type Fallback<T> = {
  /** Named in the answer, so that nobody mistakes it for the real one. */
  name: string;
  /** Which ends it stands in for. */
  handles(outcome: NotOk): boolean;
  value(outcome: NotOk): T | Promise<T>;
};

export type NotOk = Exclude<Outcome<never>, { kind: "ok" }>;

/** The outcome itself, or a value that stood in for it and says so. */
export type FallenBack<T> = Outcome<T> | { kind: "fallback"; name: string; value: T; instead: NotOk };

/**
 * Answers with the first fallback that handles the outcome. A cancellation is never papered over: whoever cancelled
 * does not want an answer. Rejects with what the fallback itself rejects with.
 */
export async function withFallback<T>(outcome: Outcome<T>, fallbacks: readonly Fallback<T>[]): Promise<FallenBack<T>> {
  if (outcome.kind === "ok" || outcome.kind === "cancelled") return outcome;
  const fallback = fallbacks.find((candidate) => candidate.handles(outcome));
  if (fallback === undefined) return outcome;
  return { kind: "fallback", name: fallback.name, value: await fallback.value(outcome), instead: outcome };
}
