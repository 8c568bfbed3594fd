"use client";

import { createContext, useContext, useSyncExternalStore } from "react";
import type { Zone } from "@/lib/platform/plain/format.pure";
import { storedValue, useStoredValue } from "./stored-value.browser";

const stored = storedValue("parkade.zone");

function zoneOf(value: string | null): Zone {
  return value === "local" ? "local" : "utc";
}

export function useZone(): Zone {
  return zoneOf(useStoredValue(stored));
}

export function setZone(zone: Zone): void {
  stored.set(zone);
}

const TICK_MS = 5_000;
const listeners = new Set<() => void>();
let nowMs = 0;
let timer: ReturnType<typeof setInterval> | null = null;

function tick() {
  nowMs = Date.now();
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  if (timer === null) {
    nowMs = Date.now();
    timer = setInterval(tick, TICK_MS);
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0 && timer !== null) {
      clearInterval(timer);
      timer = null;
    }
  };
}

function snapshot(): number {
  if (nowMs === 0) nowMs = Date.now();
  return nowMs;
}

/** When the server rendered this page, epoch ms. Until hydration ends the browser shows the same time. */
export const RenderedAt = createContext(0);

/**
 * The wall clock of this browser in epoch ms, equal for every component, renewed every 5 s. During hydration it is the
 * server's time, so that both render the same text; 0 without a server's time.
 */
export function useNow(): number {
  const renderedAtMs = useContext(RenderedAt);
  return useSyncExternalStore(subscribe, snapshot, () => renderedAtMs);
}
