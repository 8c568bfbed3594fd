/** A time in which nobody is notified about alerts, for planned work. It always ends. Times are epoch milliseconds. */
export type Maintenance = {
  /** null = every source. */
  sources: readonly string[] | null;
  fromMs: number;
  untilMs: number;
};

/** Longer is no planned work: the alert that was forgotten would be missed. */
export const MAINTENANCE_MS_MAX = 7 * 86_400_000;

/** Whether it keeps an alert of this source quiet now; one about every source only when it covers all. */
export function covers({ sources, fromMs, untilMs }: Maintenance, source: string | null, nowMs: number): boolean {
  if (nowMs < fromMs || nowMs >= untilMs) return false;
  return sources === null || (source !== null && sources.includes(source));
}
