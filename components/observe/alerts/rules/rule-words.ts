import type { AlertWatch } from "@/lib/observe/alerts/rules/alert-rules.shapes";
import { formatDuration, formatNumber, formatShare, plural } from "@/lib/platform/plain/format.pure";

export function watchWords(watch: AlertWatch): string {
  const each = "perSource" in watch && watch.perSource ? " of a source" : "";
  switch (watch.kind) {
    case "size":
      return `More than ${plural(watch.above, "event")}${each} parked`;
    case "inflow":
      return `In ${formatDuration(watch.windowMs)} at least ${formatNumber(watch.factor)} × the usual arrivals${each}, and ${formatNumber(watch.atLeast)}`;
    case "silence":
      return `No arrivals${each} in ${formatDuration(watch.windowMs)}, where ${formatNumber(watch.usualAtLeast)} are usual`;
    case "age":
      return `One parked event${each} in twenty older than ${formatDuration(watch.aboveMs)}`;
    case "new-group":
      return `A group that was never seen before, with ${plural(watch.atLeast, "event")}`;
    case "group-back":
      return `A group with ${plural(watch.atLeast, "event")} after ${formatDuration(watch.quietMs)} without any`;
    case "success":
      return `In ${formatDuration(watch.windowMs)} fewer than ${formatShare(watch.below)} of at least ${plural(watch.atLeast, "redriven event")}${each} stayed processed`;
    case "breaker":
      return "The breaker of a target is open";
    case "healing":
      return "Sends to a target are slowed down";
    case "source":
      return `A source is ${watch.states.join(" or ")}`;
    case "contract":
      return "A target breaks its contract";
    case "storage":
      return `Less than ${formatShare(watch.belowShare)} of the room for events is left`;
    case "audit":
      return "A check of the audit found something";
    case "redrive-still":
      return "A redrive stands still";
  }
}

export function timesWords({ forMs, clearMs, repeatMs }: AlertWatch): string {
  const waits = forMs === 0 ? "at once" : `after ${formatDuration(forMs)}`;
  const ends = clearMs === 0 ? "ends at once" : `ends after ${formatDuration(clearMs)} without`;
  return `fires ${waits}, ${ends}, ${repeatMs === null ? "never repeated" : `repeated every ${formatDuration(repeatMs)}`}`;
}
