"use client";

import { useMemo } from "react";
import { ChartPanel } from "@/components/charts/chart-panel";
import { TimeLines } from "@/components/charts/lazy-charts";
import { rateWords } from "@/components/redrive/eta-words";
import { useRedriveAudit } from "@/lib/guard/audit/audit.browser";
import { useMarkers } from "@/lib/observe/stats/stats.browser";
import { formatRate } from "@/lib/platform/plain/format.pure";
import { useRedriveRate } from "@/lib/redrive/redrives.browser";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";
import { pauseMarkers, type RateRow, rateLines, rateRows } from "./rate-rows";

/** Sends per second over time, with the set rate as a line. The table beside it has the refusals too. */
export function RedriveRateChart(props: { redrive: RedriveOut; live: boolean; className?: string }) {
  const { redrive, live, className } = props;
  const rate = useRedriveRate(redrive.id, live);
  const rows = useMemo(() => (rate.data ? rateRows(rate.data) : undefined), [rate.data]);
  const window = useMemo(() => windowOf(rows), [rows]);
  const markers = useMarkers(window);
  const audit = useRedriveAudit(redrive.id, live);
  const marks = useMemo(
    () => (markers === "pending" ? markers : [...markers, ...pauseMarkers(audit.data?.items ?? [])]),
    [markers, audit.data],
  );
  const set = redrive.effectiveRatePerSecond;
  const { deduplicated } = redrive;
  const series = useMemo(() => rateLines(deduplicated), [deduplicated]);
  // The samples of the rate are deleted after a while; the counts stay.
  if (!live && rows?.length === 0) return null;
  return (
    <ChartPanel
      title="Rate over time"
      className={className}
      summary={`Sends per second${set === null ? "" : `; the set rate is ${rateWords(set)}`}`}
      stamp={rate.data && { asOf: rate.data.asOf, kind: "exact" }}
      rows={rows}
      error={rate.error}
      onRetry={() => rate.refetch()}
      legend={
        set === null
          ? series
          : [...series, { key: "set", label: `set rate ${rateWords(set)}`, colour: "var(--muted)", dash: "6 4" }]
      }
      markers={rows && rows.length > 1 ? marks : []}
      columns={[...series, { key: "refused", label: "refused" } as const].map(({ key, label }) => ({
        label,
        value: (row: RateRow) => formatRate(row.values[key]),
      }))}
      empty="Nothing sent yet."
    >
      {(drawn, groups) => (
        <TimeLines markers={groups} rows={drawn} series={series} format={formatRate} level={set} decimals />
      )}
    </ChartPanel>
  );
}

/** From the first sample on; its end is that of the read, so that the address does not change with each poll. */
function windowOf(rows: RateRow[] | undefined): { from?: string } {
  const fromMs = rows?.[0]?.atMs;
  return fromMs === undefined ? {} : { from: new Date(fromMs).toISOString() };
}
