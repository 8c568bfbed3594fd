"use client";

import { useRef, useState } from "react";
import {
  Area,
  AreaChart,
  CartesianGrid,
  ReferenceArea,
  ReferenceLine,
  ResponsiveContainer,
  Tooltip,
  XAxis,
  YAxis,
} from "recharts";
import { seriesColours } from "@/components/charts/chart-palette";
import { ChartTooltip } from "@/components/charts/chart-tooltip";
import { draggedWindow, MARKER_GLYPH, type MarkerGroup } from "@/components/charts/marker-layout";
import type { SizeSeries } from "@/components/charts/size-series";
import { AXIS_TICK, AXIS_WIDTH, CHART_MARGIN, CURSOR, GRID, timeAxis } from "@/components/charts/time-axis";
import { useZone } from "@/lib/platform/browser/clock-zone.browser";
import { formatAbsolute, formatCompact, formatNumber } from "@/lib/platform/plain/format.pure";

export type SizeChartProps = {
  data: SizeSeries;
  markers: MarkerGroup[];
  /** The window of the last drag, drawn until it is dropped; null = none. */
  chosen: { fromMs: number; toMs: number } | null;
  onChoose: (window: { fromMs: number; toMs: number } | null) => void;
  /** Called after a press on an area without a drag, with the error codes of the area. */
  onPick: (codes: string[]) => void;
};

type ChartPointer = { activeLabel?: string | number | undefined };

/** A drag over the chart chooses a window; a press without a drag picks the error codes of the pressed area. */
function useWindowDrag({ onChoose, onPick }: Pick<SizeChartProps, "onChoose" | "onPick">) {
  const [drag, setDrag] = useState<{ fromMs: number; toMs: number } | null>(null);
  // A chart that is drawn again between press and release has another element under the pointer. The browser then sends
  // no click, so press and release are read here.
  const down = useRef<{ atMs: number; codes: string[] | null } | null>(null);
  const leave = () => {
    down.current = null;
    if (drag) onChoose(draggedWindow(drag.fromMs, drag.toMs));
    setDrag(null);
  };
  return {
    window: drag,
    pressArea: (codes: string[]) => {
      down.current = { atMs: Number.NaN, codes };
    },
    chart: {
      onMouseDown: (state: ChartPointer) => {
        // The area under the pointer has had the event before the chart.
        const codes = down.current?.codes ?? null;
        const atMs = Number(state.activeLabel);
        down.current = Number.isFinite(atMs) ? { atMs, codes } : null;
      },
      onMouseMove: (state: ChartPointer) => {
        const atMs = Number(state.activeLabel);
        const fromMs = down.current?.atMs;
        if (fromMs === undefined || !Number.isFinite(atMs) || (atMs === fromMs && !drag)) return;
        setDrag({ fromMs, toMs: atMs });
      },
      onMouseUp: () => {
        const pressed = down.current;
        if (pressed?.codes && !drag) onPick(pressed.codes);
        else if (pressed && !drag) onChoose(null);
        leave();
      },
      onMouseLeave: leave,
    },
  };
}

/** The number of parked events as stacked areas, one an error code. A drag across the chart chooses a window. */
export default function SizeChart({ data, markers, chosen, onChoose, onPick }: SizeChartProps) {
  const zone = useZone();
  const colours = seriesColours(data.series.map((series) => series.key));
  const drag = useWindowDrag({ onChoose, onPick });
  const shaded = drag.window ?? chosen;

  return (
    <ResponsiveContainer width="100%" height="100%">
      <AreaChart
        data={data.rows}
        margin={CHART_MARGIN}
        style={{ cursor: "crosshair", userSelect: "none" }}
        {...drag.chart}
      >
        <CartesianGrid {...GRID} />
        <XAxis {...timeAxis(data.rows, zone)} />
        <YAxis
          width={AXIS_WIDTH}
          tick={AXIS_TICK}
          tickLine={false}
          axisLine={false}
          tickFormatter={formatCompact}
          allowDecimals={false}
        />
        {data.series.map((series) => (
          <Area
            key={series.key}
            type="linear"
            stackId="size"
            dataKey={(row: SizeSeries["rows"][number]) => row.values[series.key] ?? 0}
            name={series.key}
            stroke="var(--surface)"
            strokeWidth={1}
            fill={colours.get(series.key)!}
            fillOpacity={0.9}
            isAnimationActive={false}
            activeDot={false}
            onMouseDown={() => drag.pressArea(series.codes)}
          />
        ))}
        {markers.map((group) => (
          <ReferenceLine
            key={`${group.items[0]!.kind}-${group.items[0]!.id}`}
            x={group.atMs}
            stroke="var(--muted)"
            strokeDasharray="2 3"
          />
        ))}
        {shaded ? (
          <ReferenceArea
            x1={shaded.fromMs}
            x2={shaded.toMs}
            fill="var(--accent)"
            fillOpacity={0.18}
            stroke="var(--accent)"
          />
        ) : null}
        <Tooltip
          isAnimationActive={false}
          cursor={CURSOR}
          content={({ active, label }) => {
            const row = active ? data.rows.find((candidate) => candidate.atMs === label) : undefined;
            return row ? <SizeTooltip row={row} data={data} markers={markers} colours={colours} /> : null;
          }}
        />
      </AreaChart>
    </ResponsiveContainer>
  );
}

function SizeTooltip(
  props: Pick<SizeChartProps, "data" | "markers"> & { row: SizeSeries["rows"][number]; colours: Map<string, string> },
) {
  const { row, data, markers, colours } = props;
  const zone = useZone();
  const near = markers
    .filter((group) => Math.abs(group.atMs - row.atMs) <= data.bucketMs)
    .flatMap((group) => group.items);
  return (
    <ChartTooltip
      title={`${formatAbsolute(row.atMs, zone)} · ${formatNumber(row.total)} parked`}
      lines={data.series
        .map(({ key }) => ({
          key,
          label: key,
          value: formatNumber(row.values[key] ?? 0),
          colour: colours.get(key)!,
        }))
        .reverse()}
      note={near.slice(0, 3).map((marker) => (
        <p key={`${marker.kind}-${marker.id}`} className="mt-1 truncate text-muted">
          {MARKER_GLYPH[marker.kind]} {marker.label}
        </p>
      ))}
    />
  );
}
