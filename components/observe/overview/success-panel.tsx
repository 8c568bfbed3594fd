"use client";

import { useMemo } from "react";
import { ChartPanel } from "@/components/charts/chart-panel";
import { TimeLines } from "@/components/charts/lazy-charts";
import type { EventFilter } from "@/lib/events/filter/event-filter.shapes";
import { useMarkers, useStats } from "@/lib/observe/stats/stats.browser";
import { formatCompact, formatNumber } from "@/lib/platform/plain/format.pure";

const SERIES = [
  { key: "delivered", label: "sent", colour: "var(--state-redriven)" },
  { key: "confirmed", label: "confirmed", colour: "var(--state-confirmed)", dash: "5 3" },
  { key: "bounced", label: "bounced", colour: "var(--state-bounced)", dash: "1 3" },
  { key: "failed", label: "failed", colour: "var(--state-blacklisted)", dash: "6 4" },
] as const;

/** What became of redriven events over time: an event counts when it was sent, and again when its outcome is known. */
export function SuccessPanel({ filter }: { filter: EventFilter }) {
  const success = useStats("redrive-success", filter);
  const markers = useMarkers(filter);
  const rows = useMemo(() => {
    if (!success.data) return undefined;
    const all = success.data.buckets.map(({ at, delivered, confirmed, bounced, failed }) => ({
      atMs: Date.parse(at),
      values: { delivered, confirmed, bounced, failed },
    }));
    return all.some(({ values }) => Object.values(values).some((count) => count > 0)) ? all : [];
  }, [success.data]);
  return (
    <ChartPanel
      title="Redrives by outcome"
      className="lg:col-span-2"
      summary="Redriven events that were sent, confirmed, bounced and failed, per bucket of time."
      stamp={success.data}
      rows={rows}
      error={success.error}
      onRetry={() => success.refetch()}
      empty="Nothing was redriven in this window."
      legend={SERIES}
      markers={markers}
      columns={SERIES.map(({ key, label }) => ({
        label,
        value: (row: NonNullable<typeof rows>[number]) => formatNumber(row.values[key]),
      }))}
    >
      {(drawn, marks) => <TimeLines markers={marks} rows={drawn} series={SERIES} format={formatCompact} />}
    </ChartPanel>
  );
}
