/**
 * Nobody is notified about a muted group until a time, or until so many more of it have arrived, whichever is first. Its alerts fire
 * and are shown in the console, and its arrivals are left out of what alerts of inflow count. Times are epoch milliseconds.
 */
export type GroupMute = {
  id: string;
  fingerprint: string;
  /** null = in every source. */
  source: string | null;
  untilMs: number | null;
  untilMore: number | null;
};

/** Longer is no pause: reject or ignore what nobody wants to know about, or change the rule. */
export const MUTE_MS_MAX = 90 * 86_400_000;

/**
 * Why a mute is over; null = it is in force.
 *
 * @param facts `nowMs`: the clock of the database. `arrived`: arrivals of the group since the mute began.
 */
export function muteEnded(
  { untilMs, untilMore }: Pick<GroupMute, "untilMs" | "untilMore">,
  { nowMs, arrived }: { nowMs: number; arrived: number },
): "time" | "count" | null {
  if (untilMs !== null && nowMs >= untilMs) return "time";
  return untilMore !== null && arrived >= untilMore ? "count" : null;
}

/** Whether it keeps an alert about this group quiet; one of every source only when the mute is of every source. */
export function mutes(
  { fingerprint, source }: Pick<GroupMute, "fingerprint" | "source">,
  alert: { fingerprint: string; source: string | null },
): boolean {
  return fingerprint === alert.fingerprint && (source === null || source === alert.source);
}
