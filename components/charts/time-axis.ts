import { timeTicks } from "@/components/charts/axis";
import type { Zone } from "@/lib/platform/plain/format.pure";
import { formatClock, formatShort } from "@/lib/platform/plain/format.pure";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** The offset of the shown zone at that time, ms east of UTC. */
function zoneOffsetMs(atMs: number, zone: Zone): number {
  return zone === "utc" ? 0 : -new Date(atMs).getTimezoneOffset() * 60_000;
}

/** The common properties of every time axis, for the XAxis of recharts. */
export function timeAxis(rows: { atMs: number }[], zone: Zone, most = 7) {
  const fromMs = rows[0]?.atMs ?? 0;
  const toMs = rows.at(-1)?.atMs ?? 1;
  const spanMs = toMs - fromMs;
  return {
    dataKey: "atMs" as const,
    type: "number" as const,
    scale: "time" as const,
    domain: [fromMs, toMs] as [number, number],
    ticks: timeTicks(fromMs, toMs, most, zoneOffsetMs(toMs, zone)),
    tickFormatter: (ms: number) => tickText(ms, spanMs, zone),
    tick: AXIS_TICK,
    tickLine: false,
    axisLine: { stroke: "var(--line-strong)" },
    minTickGap: 8,
  };
}

function tickText(ms: number, spanMs: number, zone: Zone): string {
  const short = formatShort(ms, zone);
  if (spanMs > 3 * DAY_MS) return short.replace(/ \d\d:\d\d$/, "");
  if (spanMs > HOUR_MS / 6) return short.slice(-5);
  return formatClock(ms, zone);
}

export const AXIS_TICK = { fill: "var(--faint)", fontSize: 11 } as const;
export const GRID = { stroke: "var(--line)", vertical: false } as const;
export const CURSOR = { stroke: "var(--control)", strokeWidth: 1 } as const;
/** Of the axis of numbers, px: the marks above a chart are placed by it. */
export const AXIS_WIDTH = 48;
export const CHART_MARGIN = { top: 8, right: 8, bottom: 0, left: 0 } as const;
