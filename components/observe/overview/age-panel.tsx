"use client";

import { useMemo } from "react";
import { durationTicks } from "@/components/charts/axis";
import { ChartPanel } from "@/components/charts/chart-panel";
import { TimeLines } from "@/components/charts/lazy-charts";
import { useMarkers } from "@/lib/observe/stats/stats.browser";
import type { AgeStats } from "@/lib/observe/stats/stats.shapes";
import { formatDuration } from "@/lib/platform/plain/format.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { type AgeRow, ageRows } from "./age-rows";
import type { Part } from "./tile";

const SERIES = [
  { key: "oldest", label: "oldest", colour: "var(--state-blacklisted)" },
  { key: "p95", label: "p95", colour: "var(--state-pending)", dash: "5 3" },
  { key: "p50", label: "p50", colour: "var(--series-1)", dash: "1 3" },
] as const;

/** The time that events have been parked, on a logarithmic axis: minutes and weeks fit in one chart. */
export function AgePanel(props: { filter: EventFilter; age: Part<AgeStats>; onRetry: () => void }) {
  const { filter, age, onRetry } = props;
  const markers = useMarkers(filter);
  const rows = useMemo(() => (age.data ? ageRows(age.data) : undefined), [age.data]);
  return (
    <ChartPanel
      title="Age"
      summary="Age of what is parked over time: the oldest, the 95th and the 50th percentile, on a logarithmic scale."
      stamp={age.data}
      rows={rows}
      error={age.error}
      onRetry={onRetry}
      empty="Nothing was parked in this window."
      legend={SERIES}
      markers={markers}
      marksExplained
      columns={SERIES.map((series) => ({
        label: series.label,
        value: (row: AgeRow) => ageText(row.values[series.key]),
      }))}
    >
      {(drawn, marks) => {
        const values = drawn.flatMap((row) => Object.values(row.values)).filter((value) => value !== null);
        return (
          <TimeLines
            rows={drawn}
            markers={marks}
            series={SERIES}
            format={formatDuration}
            scale="log"
            ticks={durationTicks(Math.min(...values), Math.max(...values))}
          />
        );
      }}
    </ChartPanel>
  );
}

function ageText(ms: number | null): string {
  return ms === null ? "none" : formatDuration(ms);
}
