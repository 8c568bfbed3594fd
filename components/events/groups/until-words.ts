import type { GroupMuteOut } from "@/lib/observe/mutes/group-mutes.shapes";
import { formatAbsolute, formatClock, formatNumber, type Zone } from "@/lib/platform/plain/format.pure";

type Terms = Pick<GroupMuteOut, "until" | "untilMore"> & { arrived?: number | null };

const DAY_MS = 86_400_000;

/** `until 18:00`, `until 988 more arrive`, or both. */
export function untilWords({ until, untilMore, arrived }: Terms, zone: Zone, nowMs = Date.now()): string {
  const more = untilMore === null ? null : `${formatNumber(untilMore - (arrived ?? 0))} more arrive`;
  if (until === null) return `until ${more}`;
  const ms = Date.parse(until);
  const time = ms - nowMs < DAY_MS ? formatClock(ms, zone).slice(0, 5) : formatAbsolute(ms, zone).slice(0, 16);
  return `until ${time}${more === null ? "" : ` or ${more}`}`;
}
