"use client";

import { useMemo } from "react";
import { ChartPanel } from "@/components/charts/chart-panel";
import { TimeLines } from "@/components/charts/lazy-charts";
import type { EventFilter } from "@/lib/events/filter/event-filter.shapes";
import { useStats } from "@/lib/observe/stats/stats.browser";
import { formatCompact, formatNumber } from "@/lib/platform/plain/format.pure";
import { flowRows } from "./flow-view";

const SERIES = [
  { key: "in", label: "in: parked, bounced, released", colour: "var(--state-pending)" },
  { key: "out", label: "out: redriven, ignored, expired", colour: "var(--state-redriven)", dash: "5 3" },
] as const;

/** Inflow and outflow over time. Where the lines cross, the number of parked events starts to rise or to fall. */
export function FlowPanel({ filter }: { filter: EventFilter }) {
  const flow = useStats("flow", filter);
  const rows = useMemo(() => {
    if (!flow.data) return undefined;
    const all = flowRows(flow.data).map(({ atMs, ...values }) => ({ atMs, values }));
    return all.some((row) => row.values.in + row.values.out > 0) ? all : [];
  }, [flow.data]);
  return (
    <ChartPanel
      title="Inflow against outflow"
      summary="Events that came in and that went out, per bucket of time."
      stamp={flow.data}
      rows={rows}
      error={flow.error}
      onRetry={() => flow.refetch()}
      empty="Nothing came in and nothing went out."
      legend={SERIES}
      columns={SERIES.map((series) => ({
        label: series.key,
        value: (row: { values: { in: number; out: number } }) => formatNumber(row.values[series.key]),
      }))}
    >
      {(drawn) => <TimeLines rows={drawn} series={SERIES} format={formatCompact} />}
    </ChartPanel>
  );
}
