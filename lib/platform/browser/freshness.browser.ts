"use client";

import { useSyncExternalStore } from "react";

/**
 * The age of the data on the screen. It is the age of the last answer of the server, whatever the cause: a browser that
 * is offline, a web process that hangs or was killed, a database that does not answer. Errors alone are not enough: a
 * hanging process causes none.
 */
export type Freshness = "fresh" | "old" | "stale";

/** Five polls of the status without an answer. */
const OLD_AFTER_MS = 15_000;
/** After this age nobody should act on the data. */
const STALE_AFTER_MS = 60_000;

const TICK_MS = 1_000;

/** @param unreachable a request just failed before it reached the server, so there is no answer to wait for */
export function freshnessOf(ageMs: number, unreachable: boolean): Freshness {
  if (ageMs > STALE_AFTER_MS) return "stale";
  return ageMs > OLD_AFTER_MS || unreachable ? "old" : "fresh";
}

let answeredAtMs = 0;
let answeredAfterMs = 0;
let unreachable = false;
let level: Freshness = "fresh";
let timer: ReturnType<typeof setInterval> | null = null;
const listeners = new Set<() => void>();

/** By the longer of two clocks: the wall clock can be set back, and the monotonic one may stop while the computer sleeps. */
function ageMs(): number {
  return Math.max(Date.now() - answeredAtMs, performance.now() - answeredAfterMs);
}

function update(): void {
  const next = freshnessOf(ageMs(), unreachable);
  if (next === level) return;
  level = next;
  for (const listener of listeners) listener();
}

function ageFromNow(): void {
  answeredAtMs = Date.now();
  answeredAfterMs = performance.now();
}

/** Called when the server answered with data of its database. */
export function noteAnswer(): void {
  ageFromNow();
  unreachable = false;
  update();
}

/** Called when a request could not reach the server. */
export function noteUnreachable(): void {
  unreachable = true;
  update();
}

/** The time of the last answer, epoch ms of this browser. */
export function lastAnswerMs(): number {
  return answeredAtMs;
}

export function freshness(): Freshness {
  return level;
}

export function onFreshness(listener: () => void): () => void {
  // The page itself was an answer.
  if (answeredAtMs === 0) ageFromNow();
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

/** The reason why no change is possible now, as a sentence; null while the data is fresh. */
export function useStaleReason(): string | null {
  const now = useFreshness();
  return now === "fresh" ? null : STALE_REASON;
}

export const STALE_REASON =
  "Parkade does not answer, and what you see may be out of date. This works again when it answers.";
