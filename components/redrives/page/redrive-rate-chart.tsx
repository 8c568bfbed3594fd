"use client";

import { useMemo } from "react";
import { ChartPanel } from "@/components/charts/chart-panel";
import { TimeLines } from "@/components/charts/lazy-charts";
import { rateWords } from "@/components/redrives/eta-words";
import { went } from "@/components/redrives/progress-segments";
import { useRedriveRate } from "@/lib/browser/redrives";
import type { RedriveOut } from "@/lib/contract/redrives";
import { formatRate } from "@/lib/core/format";
import { type RateRow, rateRows } from "./rate-rows";

const REST = [
  { key: "failed", label: "failed", colour: "var(--state-blacklisted)", dash: "4 2", step: true },
  { key: "refused", label: "refused", colour: "var(--state-ignored)", dash: "1 3", step: true },
] as const;

/** The samples of the rate do not tell the deduplicated events from the sent ones. */
function seriesOf({ deduplicated }: Pick<RedriveOut, "deduplicated">) {
  const label = deduplicated === 0 ? "sent" : "sent or deduplicated";
  return [{ key: "delivered", label, colour: "var(--state-redriven)", step: true }, ...REST] as const;
}

/** Outcomes per second over time, with the set rate as a line. */
export function RedriveRateChart({
  redrive,
  live,
  className,
}: {
  redrive: RedriveOut;
  live: boolean;
  className?: string;
}) {
  const rate = useRedriveRate(redrive.id, live);
  const rows = useMemo(() => (rate.data ? rateRows(rate.data) : undefined), [rate.data]);
  const set = redrive.effectiveRatePerSecond;
  const { deduplicated } = redrive;
  const series = useMemo(() => seriesOf({ deduplicated }), [deduplicated]);
  return (
    <ChartPanel
      title="Rate over time"
      className={className}
      summary={`Events per second${set === null ? "" : `; the set rate is ${rateWords(set)}`}`}
      stamp={rate.data && { asOf: rate.data.asOf, kind: "exact" }}
      rows={rows}
      error={rate.error}
      onRetry={() => rate.refetch()}
      legend={
        set === null
          ? series
          : [...series, { key: "set", label: `set rate ${rateWords(set)}`, colour: "var(--muted)", dash: "6 4" }]
      }
      columns={series.map(({ key, label }) => ({ label, value: (row: RateRow) => formatRate(row.values[key]) }))}
      // The samples of the rate are deleted after a while; the counts stay.
      empty={
        live ? "Nothing was sent yet." : went(redrive) > 0 ? "Its rate over time is not kept." : "Nothing was sent."
      }
    >
      {(drawn) => <TimeLines rows={drawn} series={series} format={formatRate} level={set} />}
    </ChartPanel>
  );
}
