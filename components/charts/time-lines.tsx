"use client";

import { CartesianGrid, Line, LineChart, ReferenceLine, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";
import { valueTicks } from "@/components/charts/axis";
import { ChartTooltip } from "@/components/charts/chart-tooltip";
import type { MarkerGroup } from "@/components/charts/marker-layout";
import { AXIS_TICK, AXIS_WIDTH, CHART_MARGIN, CURSOR, GRID, timeAxis } from "@/components/charts/time-axis";
import { useZone } from "@/lib/platform/browser/clock-zone.browser";
import { formatAbsolute } from "@/lib/platform/plain/format.pure";

type LineSeries = {
  key: string;
  label: string;
  colour: string;
  /** A dash distinguishes lines without colour. */
  dash?: string;
  step?: boolean;
};

export type LineRow = { atMs: number; values: Record<string, number | null> };

export type TimeLinesProps = {
  rows: LineRow[];
  series: readonly LineSeries[];
  format: (value: number) => string;
  /** `log` needs values above zero and ticks of its own. */
  scale?: "linear" | "log";
  ticks?: number[];
  /** The values are no counts. */
  decimals?: boolean;
  /** A horizontal line. Its name stands in the legend, because a line of data could run through a label. */
  level?: number | null;
  markers?: readonly MarkerGroup[];
};

const highest = (rows: LineRow[], level: number | null | undefined) =>
  Math.max(level ?? 0, ...rows.flatMap(({ values }) => Object.values(values).map((value) => value ?? 0)));

/** Lines over time: ages, flows, rates. A bucket without a value is a gap in the line. */
export default function TimeLines({
  rows,
  series,
  format,
  scale = "linear",
  decimals = false,
  level,
  markers = [],
  ticks = valueTicks(highest(rows, level), decimals ? 0.1 : 1),
}: TimeLinesProps) {
  const zone = useZone();
  return (
    <ResponsiveContainer width="100%" height="100%">
      <LineChart data={rows} margin={CHART_MARGIN}>
        <CartesianGrid {...GRID} />
        <XAxis {...timeAxis(rows, zone, 5)} />
        <YAxis
          width={AXIS_WIDTH}
          scale={scale}
          domain={[ticks[0] ?? 0, ticks.at(-1) ?? 1]}
          ticks={ticks}
          tick={AXIS_TICK}
          tickLine={false}
          axisLine={false}
          tickFormatter={format}
          interval={0}
        />
        {level == null ? null : (
          <ReferenceLine y={level} stroke="var(--muted)" strokeDasharray="6 4" ifOverflow="extendDomain" />
        )}
        {markers.map(({ atMs, items }) => (
          <ReferenceLine
            key={`${items[0]!.kind}-${items[0]!.id}`}
            x={atMs}
            stroke="var(--muted)"
            strokeDasharray="2 3"
          />
        ))}
        {series.map((line) => (
          <Line
            key={line.key}
            type={line.step ? "stepAfter" : "linear"}
            dataKey={(row: LineRow) => row.values[line.key] ?? null}
            name={line.label}
            stroke={line.colour}
            strokeWidth={1.75}
            {...(line.dash ? { strokeDasharray: line.dash } : {})}
            dot={rows.length === 1}
            activeDot={{ r: 3, strokeWidth: 0 }}
            isAnimationActive={false}
            connectNulls={false}
          />
        ))}
        <Tooltip
          isAnimationActive={false}
          cursor={CURSOR}
          content={({ active, label }) => {
            const row = active ? rows.find((candidate) => candidate.atMs === label) : undefined;
            if (!row) return null;
            const lines = series.map((line) => {
              const value = row.values[line.key];
              return {
                key: line.key,
                label: line.label,
                colour: line.colour,
                value: value == null ? "none" : format(value),
              };
            });
            return <ChartTooltip title={formatAbsolute(row.atMs, zone)} lines={lines} />;
          }}
        />
      </LineChart>
    </ResponsiveContainer>
  );
}
