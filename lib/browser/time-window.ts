import type { EventFilter } from "@/lib/contract/event-filter";
import { resolveInstant } from "@/lib/contract/event-filter";
import type { Zone } from "./clock-zone";
import { formatAbsolute, formatShort } from "./format";

/** Windows offered by name. Relative ones slide: shared tomorrow, they mean tomorrow's last day. */
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

/** A bound as the value of `<input type="datetime-local">` in the chosen zone; "" when there is none. */
export function toInputValue(value: string | undefined, nowMs: number, zone: Zone): string {
  if (value === undefined) return "";
  const ms = resolveInstant(value, nowMs);
  return ms === null ? "" : formatAbsolute(ms, zone).slice(0, 16).replace(" ", "T");
}

/** What `<input type="datetime-local">` gives, as an ISO 8601 instant; undefined when it is empty or no time. */
export function fromInputValue(value: string, zone: Zone): string | undefined {
  if (value === "") return undefined;
  const ms = Date.parse(zone === "utc" ? `${value}Z` : value);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString().replace(".000Z", "Z");
}
