"use client";

import { ChartPanel } from "@/components/charts/chart-panel";
import { TimeLines } from "@/components/charts/lazy-charts";
import { ReadError } from "@/components/ui/error-panel";
import { Panel } from "@/components/ui/panel";
import { SkeletonRows } from "@/components/ui/skeleton";
import { TimeAbsolute } from "@/components/ui/time-ago";
import { useAlertTrial } from "@/lib/observe/alerts/alerts.browser";
import { type AlertKind, type AlertWatch, alertKindOf } from "@/lib/observe/alerts/kinds/alert-kinds.pure";
import type { AlertTrialOut } from "@/lib/observe/alerts/rules/alert-rules.shapes";
import { useMarkers } from "@/lib/observe/stats/stats.browser";
import { formatDuration, formatNumber, formatShare, plural } from "@/lib/platform/plain/format.pure";

const SERIES = [
  { key: "value", label: "watched", colour: "var(--series-1)", step: true },
  { key: "threshold", label: "limit", colour: "var(--muted)", dash: "6 4", step: true },
  { key: "fired", label: "would have fired", colour: "var(--state-blacklisted)", step: true },
] as const;

const LISTED = 5;

export function TrialPanel({ watch }: { watch: AlertWatch | null }) {
  const trial = useAlertTrial(watch);
  if (watch === null) return <p className="text-muted">Complete the rule to test it against the past.</p>;
  if (trial.data === undefined) {
    return trial.isError ? <ReadError read={trial} /> : <SkeletonRows rows={3} columns={["w-40", "flex-1"]} />;
  }
  return <Trial trial={trial.data} kind={watch.kind} onRetry={() => void trial.refetch()} />;
}

function Trial({ trial, kind, onRetry }: { trial: AlertTrialOut; kind: AlertKind; onRetry: () => void }) {
  const { fired, moreFired, now, noPast, fault, series } = trial;
  const count = fired.length + moreFired;
  const markers = useMarkers({ from: trial.from });
  const rows = series.points.map(({ at, value, threshold }) => {
    const atMs = Date.parse(at);
    const inside = fired.some(
      (period) =>
        period.key === series.key &&
        Date.parse(period.from) <= atMs &&
        (period.to === null || atMs <= Date.parse(period.to)),
    );
    return { atMs, values: { value, threshold, fired: inside ? value : null } };
  });
  const { unit } = alertKindOf(kind);
  const format = unit === "duration" ? formatDuration : unit === "share" ? formatShare : formatNumber;
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-2">
      <p role="status">
        {fault !== null ? `The rule cannot be tested: ${fault}. ` : ""}
        {noPast !== null
          ? `${noPast}. `
          : `Would have fired ${count === 1 ? "once" : `${formatNumber(count)} times`} since `}
        {noPast === null ? <TimeAbsolute at={trial.from} /> : null}
        {noPast === null ? ". " : ""}
        {now.length === 0 ? "The condition is not met now." : `${plural(now.length, "alert")} would fire now.`}
      </p>
      {rows.length === 0 ? null : (
        <ChartPanel
          title={series.key === null || series.key === "all" ? "Watched" : series.key}
          summary="What the rule watches over time, its limit, and when it would have fired."
          stamp={undefined}
          rows={rows}
          error={null}
          onRetry={onRetry}
          legend={SERIES}
          empty="No data in this time."
          height="h-40"
          markers={markers}
          columns={SERIES.map(({ key, label }) => ({
            label,
            value: (row: (typeof rows)[number]) => {
              const value = row.values[key];
              return value === null ? "none" : format(value);
            },
          }))}
        >
          {(drawn, marks) => <TimeLines markers={marks} rows={drawn} series={SERIES} format={format} />}
        </ChartPanel>
      )}
      {fired.length + now.length === 0 ? null : (
        <Panel title="When">
          <ul>
            {now.slice(0, LISTED).map(({ key, sentence }) => (
              <li key={`now ${key}`} className="border-line px-3 py-1 wrap-anywhere not-first:border-t">
                <span className="text-danger">now</span> {sentence}
              </li>
            ))}
            {fired
              .slice(-LISTED)
              .reverse()
              .map(({ key, from, to, sentence }) => (
                <li key={`${key} ${from}`} className="border-line px-3 py-1 wrap-anywhere not-first:border-t">
                  <TimeAbsolute at={from} className="text-muted" />
                  {to === null ? "" : ` for ${formatDuration(Date.parse(to) - Date.parse(from))}`}: {sentence}
                </li>
              ))}
            {count > LISTED ? (
              <li className="px-3 py-1 text-muted">and {formatNumber(count - LISTED)} earlier</li>
            ) : null}
          </ul>
        </Panel>
      )}
    </div>
  );
}
