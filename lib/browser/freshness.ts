"use client";

import { useSyncExternalStore } from "react";

/**
 * How old what the screen shows is. The age of the last answer of the server decides, whatever the reason: a browser that
 * is offline, a web process that hangs or was killed, a database that is away. Errors alone would not do: a process that
 * hangs gives none.
 */
export type Freshness = "fresh" | "old" | "stale";

/** Five polls of the status that brought nothing: no longer chance. */
const OLD_AFTER_MS = 15_000;
/** After this nobody should act on what they see. */
const STALE_AFTER_MS = 60_000;

const TICK_MS = 1_000;

/** @param unreachable a request just failed without reaching the server: then there is nothing to wait for */
export function freshnessOf(ageMs: number, unreachable: boolean): Freshness {
  if (ageMs > STALE_AFTER_MS) return "stale";
  return ageMs > OLD_AFTER_MS || unreachable ? "old" : "fresh";
}

let answeredAtMs = 0;
let unreachable = false;
let level: Freshness = "fresh";
let timer: ReturnType<typeof setInterval> | null = null;
const listeners = new Set<() => void>();

function update(): void {
  const next = freshnessOf(Date.now() - answeredAtMs, unreachable);
  if (next === level) return;
  level = next;
  for (const listener of listeners) listener();
}

/** The server answered just now with what its database holds. */
export function noteAnswer(): void {
  answeredAtMs = Date.now();
  unreachable = false;
  update();
}

/** A request could not reach the server at all. */
export function noteUnreachable(): void {
  unreachable = true;
  update();
}

/** When the last answer came, epoch ms of this browser. */
export function lastAnswerMs(): number {
  return answeredAtMs;
}

export function freshness(): Freshness {
  return level;
}

export function onFreshness(listener: () => void): () => void {
  // The page itself was an answer.
  if (answeredAtMs === 0) answeredAtMs = Date.now();
  listeners.add(listener);
  timer ??= setInterval(update, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0 && timer !== null) {
      clearInterval(timer);
      timer = null;
    }
  };
}

export function useFreshness(): Freshness {
  return useSyncExternalStore(onFreshness, freshness, () => "fresh");
}

/** Why nothing may be changed now, as a sentence; null while the screen is fresh. */
export function useStaleReason(): string | null {
  const now = useFreshness();
  return now === "fresh" ? null : STALE_REASON;
}

export const STALE_REASON =
  "Parkade does not answer now, and what you see may be old. This works again when it answers.";
