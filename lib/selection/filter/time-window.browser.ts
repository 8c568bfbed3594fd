import { resolveInstant } from "@/lib/platform/instant.pure";
import type { Zone } from "@/lib/platform/plain/format.pure";
import { formatAbsolute, formatShort } from "@/lib/platform/plain/format.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";

/** The named windows. They are relative: a shared link shows the last day before it is opened. */
export const WINDOW_PRESETS = [
  { from: "-15m", label: "Last 15 min" },
  { from: "-1h", label: "Last hour" },
  { from: "-6h", label: "Last 6 h" },
  { from: "-24h", label: "Last 24 h" },
  { from: "-7d", label: "Last 7 days" },
  { from: "-30d", label: "Last 30 days" },
] as const;

const RELATIVE = /^(?:now)?-?(\d+)([smhdw])$/;
const UNIT_NAMES: Record<string, string> = { s: "s", m: "min", h: "h", d: "days", w: "weeks" };

function boundText(value: string, zone: Zone): string {
  const relative = RELATIVE.exec(value);
  if (relative) return `${relative[1]} ${UNIT_NAMES[relative[2] ?? ""]} ago`;
  if (value === "now") return "now";
  const ms = resolveInstant(value, 0);
  return ms === null ? value : formatShort(ms, zone);
}

/** `Last 24 h`, `20 Nov 14:00 – 20 Nov 15:00`, `Since 20 Nov 14:00`; `open` is the text when there is no window. */
export function windowLabel({ from, to }: Pick<EventFilter, "from" | "to">, zone: Zone, open = "Any time"): string {
  if (from === undefined && to === undefined) return open;
  if (from !== undefined && (to === undefined || to === "now")) {
    const preset = WINDOW_PRESETS.find((entry) => entry.from === from);
    if (preset) return preset.label;
    const relative = RELATIVE.exec(from);
    if (relative) return `Last ${relative[1]} ${UNIT_NAMES[relative[2] ?? ""]}`;
    return `Since ${boundText(from, zone)}`;
  }
  if (from === undefined) return `Before ${boundText(to ?? "now", zone)}`;
  return `${boundText(from, zone)} – ${boundText(to ?? "now", zone)}`;
}

/** A bound as typed text: `2026-11-20 14:05` in the chosen zone, a relative bound unchanged; "" without a bound. */
export function toTyped(value: string | undefined, zone: Zone): string {
  if (value === undefined) return "";
  if (value === "now" || RELATIVE.test(value)) return value;
  const ms = resolveInstant(value, 0);
  return ms === null ? value : formatAbsolute(ms, zone).slice(0, 19).replace(/:00$/, "");
}

const WITHOUT_ZONE = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?))?$/;

/**
 * A typed text as a bound of the filter: `2026-11-20 14:05` is a time in the chosen zone; every other form that the
 * filter understands is unchanged (`-2h`, `now`, ISO 8601 with an offset, epoch ms). null when it is no time.
 */
export function fromTyped(text: string, zone: Zone): string | null {
  const typed = text.trim();
  const local = WITHOUT_ZONE.exec(typed);
  if (!local) return resolveInstant(typed, 0) === null ? null : typed;
  const iso = `${local[1]}T${local[2] ?? "00:00"}`;
  const ms = Date.parse(zone === "utc" ? `${iso}Z` : iso);
  return Number.isNaN(ms) ? null : new Date(ms).toISOString().replace(".000Z", "Z");
}
