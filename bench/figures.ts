import { cpuByLabel } from "./processes";
import type { Reading } from "./scenario";

/** Milliseconds that the work takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

/** The value that a share of the values, from 0 to 1, lies below. */
export function percentile(values: readonly number[], share: number): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length * share)] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

export function mean<Key extends string>(values: readonly Record<Key, number>[], key: Key): number {
  return values.reduce((sum, one) => sum + one[key], 0) / values.length;
}

type Calls = { warm: number; times: number; bound?: Reading["bound"] };

/**
 * Runs the work `warm` times, and then measures it so many times, one after the other: the reading is the p95. The processor time of
 * one call is that of this process and of the servers it started: on a busy machine it is what stays.
 */
export async function percentiles(
  name: string,
  { warm, times, bound }: Calls,
  work: (i: number) => Promise<unknown>,
): Promise<Reading> {
  for (let i = 0; i < warm; i++) await work(i);
  const startedCpuMs = cpuMsOfAll();
  const measured: number[] = [];
  for (let i = 0; i < times; i++) measured.push(await timed(() => work(i)));
  const cpuMs = (cpuMsOfAll() - startedCpuMs) / times;
  const note = `p50 ${median(measured).toFixed(2)} ms, processor ${cpuMs.toFixed(2)} ms`;
  return { name, value: percentile(measured, 0.95), unit: "ms p95", note, ...(bound ? { bound } : {}) };
}

/** Processor time so far of this process and all it started, milliseconds. Linux. */
export function cpuMsOfAll(): number {
  return [...cpuByLabel(() => "all").values()].reduce((sum, ms) => sum + ms, 0);
}

/** The reading with the largest value. */
export function worstOf(readings: readonly Reading[]): Reading {
  return readings.reduce((left, right) => (right.value > left.value ? right : left));
}
