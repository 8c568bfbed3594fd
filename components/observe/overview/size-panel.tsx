"use client";

import { X } from "lucide-react";
import { useRouter } from "next/navigation";
import { useMemo, useState } from "react";
import { seriesColours } from "@/components/charts/chart-palette";
import { ChartPanel } from "@/components/charts/chart-panel";
import { SizeChart } from "@/components/charts/lazy-charts";
import { sizeSeries } from "@/components/charts/size-series";
import { Button, IconButton, LinkButton } from "@/components/ui/button";
import { useMarkers } from "@/lib/observe/stats/stats.browser";
import type { SizeStats } from "@/lib/observe/stats/stats.shapes";
import { useZone } from "@/lib/platform/browser/clock-zone.browser";
import { formatNumber, formatShort } from "@/lib/platform/plain/format.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { eventsHref, withPart } from "@/lib/selection/filter/filter-read.browser";
import { parkedNow } from "./parked-filter";
import type { Part } from "./tile";

type Window = { fromMs: number; toMs: number };

/** Parked events over time by error code. A drag chooses a window, a press on an area lists its events. */
export function SizePanel(props: {
  className: string;
  filter: EventFilter;
  size: Part<SizeStats>;
  onRetry: () => void;
  onZoom: (window: { from: string; to: string }) => void;
}) {
  const { filter, size } = props;
  const router = useRouter();
  const [chosen, setChosen] = useState<Window | null>(null);
  const markers = useMarkers(filter);
  const data = useMemo(() => (size.data ? sizeSeries(size.data) : undefined), [size.data]);
  const colours = useMemo(() => seriesColours(data?.series.map((series) => series.key) ?? []), [data]);
  const codesHref = (codes: string[]) => eventsHref(parkedNow(filter, { errorCode: codes }));

  return (
    <ChartPanel
      title="Parked over time, by error code"
      className={props.className}
      summary={
        data
          ? `dlq_size over time. Now ${formatNumber(size.data?.now ?? 0)} events: ${data.series.map((series) => `${formatNumber(series.last)} ${series.key}`).join(", ")}.`
          : ""
      }
      height="h-64"
      stamp={size.data}
      rows={data && data.series.length === 0 ? [] : data?.rows}
      error={size.error}
      onRetry={props.onRetry}
      empty="Nothing was parked in this window."
      legend={(data?.series ?? []).map((series) => ({
        key: series.key,
        label: `${series.key} ${formatNumber(series.last)}`,
        colour: colours.get(series.key)!,
        href: codesHref(series.codes),
      }))}
      markers={markers}
      columns={[
        { label: "parked", value: (row) => formatNumber(row.total) },
        ...(data?.series ?? []).map((series) => ({
          label: series.key,
          value: (row: { values: Record<string, number> }) => formatNumber(row.values[series.key] ?? 0),
        })),
      ]}
    >
      {(_, groups) =>
        data ? (
          <div className="relative h-full">
            <SizeChart
              data={data}
              markers={groups}
              chosen={chosen}
              onChoose={setChosen}
              onPick={(codes) => router.push(codesHref(codes))}
            />
            {chosen ? (
              <Chosen window={chosen} filter={filter} onZoom={props.onZoom} onDrop={() => setChosen(null)} />
            ) : null}
          </div>
        ) : null
      }
    </ChartPanel>
  );
}

function Chosen(props: {
  window: Window;
  filter: EventFilter;
  onZoom: (window: { from: string; to: string }) => void;
  onDrop: () => void;
}) {
  const zone = useZone();
  const window = { from: new Date(props.window.fromMs).toISOString(), to: new Date(props.window.toMs).toISOString() };
  return (
    // Over the drawing, not above it: the chart must not move when a window is chosen.
    <div className="absolute top-0 right-0 flex max-w-full flex-wrap items-center justify-end gap-1 rounded-md border border-line-strong bg-raised p-1 shadow-pop">
      <span className="px-1 text-sm whitespace-nowrap text-muted">
        {formatShort(props.window.fromMs, zone)} – {formatShort(props.window.toMs, zone)}
      </span>
      <LinkButton size="sm" href={eventsHref(withPart(props.filter, window))}>
        Show events parked then
      </LinkButton>
      <Button
        size="sm"
        onClick={() => {
          props.onZoom(window);
          props.onDrop();
        }}
      >
        Zoom
      </Button>
      <IconButton size="sm" label="Clear the selected window" onClick={props.onDrop}>
        <X size={12} aria-hidden />
      </IconButton>
    </div>
  );
}
