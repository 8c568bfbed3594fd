import type { GroupMuteOut, GroupMuteRequest } from "@/lib/events/groups/mutes/group-mutes.shapes";
import { formatAbsolute, formatClock, formatNumber, type Zone } from "@/lib/platform/plain/format.pure";

/** What is typed: `time` is "" (no time), a number of hours as `8h`, or "at" for the time in `at`. */
export type MuteDraft = { time: string; at: string; more: string };

type ReadDraft =
  | { terms: Pick<GroupMuteRequest, "until" | "more"> | null; faults: null }
  | { terms: null; faults: { at?: string; more?: string } };

/** The terms of a mute. `terms` null without faults: nothing is muted. */
export function muteTerms({ time, at, more }: MuteDraft, nowMs: number): ReadDraft {
  const number = Number(more.replaceAll(/[\s,.]/g, ""));
  const untilMs = time === "at" ? Date.parse(at) : time === "" ? null : nowMs + Number.parseInt(time, 10) * 3_600_000;
  const faults = {
    ...(time === "at" && !((untilMs ?? Number.NaN) > nowMs) ? { at: "choose a time in the future" } : {}),
    ...(more.trim() !== "" && !(Number.isInteger(number) && number >= 1) ? { more: "a whole number above 0" } : {}),
  };
  if (Object.keys(faults).length > 0) return { terms: null, faults };
  const terms = {
    ...(untilMs === null ? {} : { until: new Date(untilMs).toISOString() }),
    ...(more.trim() === "" ? {} : { more: number }),
  };
  return { terms: Object.keys(terms).length === 0 ? null : terms, faults: null };
}

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
