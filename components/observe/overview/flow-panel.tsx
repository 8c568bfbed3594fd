"use client";

import { useMemo } from "react";
import { ChartPanel } from "@/components/charts/chart-panel";
import { TimeLines } from "@/components/charts/lazy-charts";
import { useMarkers, useStats } from "@/lib/observe/stats/stats.browser";
import { formatCompact, formatNumber } from "@/lib/platform/plain/format.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { flowRows } from "./flow-view";

const SERIES = [
  { key: "in", label: "in: parked, bounced, released", colour: "var(--state-pending)" },
  { key: "out", label: "out: redriven, ignored, expired", colour: "var(--state-redriven)", dash: "5 3" },
] as const;
/** Drawn where there are any. */
const NOT_PARKED = [
  {
    key: "unstored",
    colour: "var(--state-bounced)",
    dash: "1 3",
    words: "arrived in storms: counted and not stored",
  },
  {
    key: "duplicate",
    colour: "var(--state-ignored)",
    dash: "8 3 1 3",
    words: "repeats of events that were already stored",
  },
] as const;
type Values = Record<"in" | "out" | "unstored" | "duplicate", number>;

/** Inflow and outflow over time. Where the lines cross, the number of parked events starts to rise or to fall. */
export function FlowPanel({ filter }: { filter: EventFilter }) {
  const flow = useStats("flow", filter);
  const markers = useMarkers(filter);
  const rows = useMemo(() => {
    if (!flow.data) return undefined;
    const all = flowRows(flow.data).map(({ atMs, ...values }) => ({ atMs, values }));
    return all.some((row) => Object.values(row.values).some((count) => count > 0)) ? all : [];
  }, [flow.data]);
  const further = NOT_PARKED.flatMap(({ words, ...line }) => {
    const count = rows?.reduce((sum, { values }) => sum + values[line.key], 0) ?? 0;
    return count === 0 ? [] : [{ ...line, label: `${formatNumber(count)} ${words}` }];
  });
  const series = [...SERIES, ...further];
  return (
    <ChartPanel
      title="Inflow against outflow"
      summary="Events in and out, per time bucket."
      stamp={flow.data}
      rows={rows}
      error={flow.error}
      onRetry={() => flow.refetch()}
      empty="No events in or out."
      legend={series}
      markers={markers}
      marksExplained
      columns={series.map(({ key }) => ({
        label: key,
        value: (row: { values: Values }) => formatNumber(row.values[key]),
      }))}
    >
      {(drawn, marks) => <TimeLines markers={marks} rows={drawn} series={series} format={formatCompact} />}
    </ChartPanel>
  );
}
