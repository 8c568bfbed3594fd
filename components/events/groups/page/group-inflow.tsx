"use client";

import { useMemo } from "react";
import { ChartPanel } from "@/components/charts/chart-panel";
import { TimeLines } from "@/components/charts/lazy-charts";
import type { GroupDetail } from "@/lib/events/groups/groups.shapes";
import { formatCompact, formatNumber } from "@/lib/platform/plain/format.pure";

const SERIES = [
  { key: "count", label: "arrived", colour: "var(--state-pending)", step: true },
  { key: "usual", label: "usual: median of the same hour", colour: "var(--muted)", dash: "5 3", step: true },
  { key: "usualMax", label: "normal range", colour: "var(--faint)", dash: "1 3", step: true },
] as const;

type Row = { atMs: number; values: Record<"count" | "usual" | "usualMax", number | null> };

/** Arrivals of the group by the hour of the last week, against what usually arrives. */
export function GroupInflow(props: { detail: GroupDetail; readAtMs: number; error: unknown; onRetry: () => void }) {
  const { detail, readAtMs, error, onRetry } = props;
  const rows = useMemo((): Row[] => {
    const all = detail.hours.map(({ at, count, usual, usualMax }) => ({
      atMs: Date.parse(at),
      values: { count, usual, usualMax },
    }));
    return all.some(({ values }) => values.count > 0) ? all : [];
  }, [detail.hours]);
  return (
    <ChartPanel<Row>
      title="Inflow vs usual"
      summary="Hourly arrivals of the group over the last seven days, and the usual arrivals in the same hours."
      stamp={{ asOf: new Date(readAtMs).toISOString(), kind: "exact" }}
      rows={rows}
      error={error}
      onRetry={onRetry}
      empty="No arrivals in the last seven days."
      legend={SERIES}
      columns={SERIES.map(({ key, label }) => ({
        label,
        value: ({ values }: Row) => (values[key] === null ? "unknown" : formatNumber(Math.round(values[key]))),
      }))}
    >
      {(drawn) => <TimeLines rows={drawn} series={SERIES} format={formatCompact} />}
    </ChartPanel>
  );
}
