"use client";

import { useMemo } from "react";
import { durationTicks } from "@/components/charts/axis";
import { ChartPanel } from "@/components/charts/chart-panel";
import { TimeLines } from "@/components/charts/lazy-charts";
import { useMarkers } from "@/lib/observe/stats/stats.browser";
import type { AgeStats } from "@/lib/observe/stats/stats.shapes";
import { formatDuration } from "@/lib/platform/plain/format.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
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
      summary="Age of parked events over time: the oldest, the 95th and the 50th percentile, on a logarithmic scale."
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

type AgeRow = { atMs: number; values: { p50: number | null; p95: number | null; oldest: number | null } };

/** A logarithmic axis needs values above zero, and ages below a second carry no information. */
const AGE_MS_MIN = 1_000;

/** Ages per bucket. A bucket without parked events is a gap, never zero. Empty when no bucket has any. */
export function ageRows(stats: Pick<AgeStats, "buckets">): AgeRow[] {
  const rows = stats.buckets.map((bucket) => ({
    atMs: Date.parse(bucket.at),
    values: { p50: atLeast(bucket.p50Ms), p95: atLeast(bucket.p95Ms), oldest: atLeast(bucket.oldestMs) },
  }));
  return rows.some((row) => row.values.oldest !== null) ? rows : [];
}

function atLeast(ms: number | null): number | null {
  return ms === null ? null : Math.max(ms, AGE_MS_MIN);
}
