import { cpuByLabel } from "./processes";

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

export type Times = {
  name: string;
  p50Ms: number;
  p95Ms: number;
  /** Processor time of one call, of this process and of the servers it started: on a busy machine it is what stays. */
  cpuMs: number;
};

/** Runs the work `warm` times, and then measures it so many times, one after the other. */
export async function percentiles(
  name: string,
  { warm, times }: { warm: number; times: number },
  work: (i: number) => Promise<unknown>,
): Promise<Times> {
  for (let i = 0; i < warm; i++) await work(i);
  const startedCpuMs = cpuMsOfAll();
  const measured: number[] = [];
  for (let i = 0; i < times; i++) measured.push(await timed(() => work(i)));
  return {
    name,
    p50Ms: percentile(measured, 0.5),
    p95Ms: percentile(measured, 0.95),
    cpuMs: (cpuMsOfAll() - startedCpuMs) / times,
  };
}

export function printTimes(label: string, { name, p50Ms, p95Ms, cpuMs }: Times): void {
  const [p50, p95, cpu] = [p50Ms, p95Ms, cpuMs].map((ms) => ms.toFixed(2).padStart(8));
  console.log(`${label} ${name.padEnd(36)} p50 ${p50} ms  p95 ${p95} ms  processor ${cpu} ms`);
}

/** Processor time so far of this process and all it started, milliseconds. Linux. */
export function cpuMsOfAll(): number {
  return [...cpuByLabel(() => "all").values()].reduce((sum, ms) => sum + ms, 0);
}

export function worstOf(times: readonly Times[]): Times {
  return times.reduce((left, right) => (right.p95Ms > left.p95Ms ? right : left));
}

export const mb = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;
