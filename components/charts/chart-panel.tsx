"use client";

import Link from "next/link";
import { type ReactNode, useCallback, useId, useMemo, useState } from "react";
import { type Marker, type MarkerGroup, markerLegend, placedMarkers } from "@/components/charts/marker-layout";
import { MarkerList, MarkerStrip } from "@/components/charts/marker-strip";
import { AXIS_WIDTH, CHART_MARGIN } from "@/components/charts/time-axis";
import { Button } from "@/components/ui/button";
import { ErrorPanel } from "@/components/ui/error-panel";
import { Panel } from "@/components/ui/panel";
import { Skeleton } from "@/components/ui/skeleton";
import { Td, Th, Tr } from "@/components/ui/table";
import { useZone } from "@/lib/platform/browser/clock-zone.browser";
import { formatAbsolute, formatClock } from "@/lib/platform/plain/format.pure";
// Imported here and not with the drawing: the legend shows its colours before recharts is loaded.
import "./charts.css";

type ChartPanelProps<Row extends { atMs: number }> = {
  title: string;
  /** The text alternative of the chart, in one sentence. */
  summary: string;
  /** The kind and the age of the numbers; undefined during the first read. */
  stamp: { asOf: string; kind: "exact" | "estimated" } | undefined;
  /** undefined during the first read. */
  rows: Row[] | undefined;
  error: unknown;
  onRetry: () => void;
  /** An entry with `href` links to its events. */
  legend?: readonly { key: string; label: string; colour: string; dash?: string; glyph?: string; href?: string }[];
  /** The same numbers as a table. */
  columns: { label: string; value: (row: Row) => ReactNode }[];
  empty: string;
  height?: string;
  className?: string;
  /** What happened, drawn over the chart and listed in the table. The drawing waits for it, because its strip takes height from it. */
  markers?: readonly Marker[] | "pending";
  /** The marks are explained by another chart of the page. */
  marksExplained?: boolean;
  children: (rows: Row[], markers: MarkerGroup[]) => ReactNode;
};

const NONE: readonly Marker[] = [];

/** The frame of every chart, with the same numbers as a table. After a failed read the last data stays below the error. */
export function ChartPanel<Row extends { atMs: number }>(props: ChartPanelProps<Row>) {
  const { error, height = "h-48" } = props;
  const markers = props.markers === "pending" ? NONE : (props.markers ?? NONE);
  const rows = props.markers === "pending" ? undefined : props.rows;
  const [asTable, setAsTable] = useState(false);
  const zone = useZone();
  const id = useId();
  const [widthPx, measure] = useAxisWidth();
  const groups = useMemo(
    () =>
      placedMarkers(markers, {
        fromMs: rows?.[0]?.atMs ?? 0,
        toMs: rows?.at(-1)?.atMs ?? 0,
        widthPx,
      }),
    [markers, rows, widthPx],
  );
  return (
    <Panel
      title={props.title}
      meta={
        props.stamp ? (
          <span data-tip={props.stamp.kind}>
            {props.stamp.kind === "estimated" ? "estimated, " : ""}as of{" "}
            {formatClock(Date.parse(props.stamp.asOf), zone)}
          </span>
        ) : undefined
      }
      className={props.className}
      actions={
        rows && rows.length > 0 ? (
          <Button size="sm" variant="ghost" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
            {asTable ? "Chart" : "Table"}
          </Button>
        ) : null
      }
    >
      {error && rows !== undefined ? <ErrorPanel error={error} onRetry={props.onRetry} inline /> : null}
      {rows === undefined ? (
        error ? (
          // As high as the chart: the page must not jump when the chart fails or comes back.
          <div className={`overflow-y-auto ${height}`}>
            <ErrorPanel error={error} onRetry={props.onRetry} />
          </div>
        ) : (
          <>
            <div role="status" aria-label={`Loading ${props.title}`} className={`p-3 ${height}`}>
              <Skeleton className="h-full!" />
            </div>
            {props.legend ? <Legend legend={props.legend} /> : null}
          </>
        )
      ) : rows.length === 0 ? (
        <p className={`grid place-items-center px-3 text-muted ${height}`}>{props.empty}</p>
      ) : asTable ? (
        <ChartTable
          rows={rows}
          columns={props.columns}
          title={props.title}
          markers={groups.flatMap(({ items }) => items)}
        />
      ) : (
        <figure aria-labelledby={id}>
          <figcaption id={id} className="sr-only">
            {props.summary}
          </figcaption>
          <div ref={measure} className={`flex flex-col px-2 pt-1 ${height}`}>
            <MarkerStrip groups={groups} />
            <div className="min-h-0 flex-1 select-none">{props.children(rows, groups)}</div>
          </div>
          {props.legend ? (
            <Legend legend={[...props.legend, ...(props.marksExplained ? [] : markerLegend(groups))]} />
          ) : (
            <div className="h-2" />
          )}
        </figure>
      )}
    </Panel>
  );
}

const WIDTH_GUESSED_PX = 500;

/** The width of the time axis, px, and the ref of the element that holds the chart. */
function useAxisWidth() {
  const [widthPx, setWidthPx] = useState(WIDTH_GUESSED_PX);
  const measure = useCallback((element: HTMLElement | null) => {
    if (element === null) return;
    const resized = new ResizeObserver(([entry]) =>
      setWidthPx(Math.round(entry!.contentRect.width) - AXIS_WIDTH - CHART_MARGIN.left - CHART_MARGIN.right),
    );
    resized.observe(element);
    return () => resized.disconnect();
  }, []);
  return [widthPx, measure] as const;
}

function Legend({ legend }: { legend: NonNullable<ChartPanelProps<{ atMs: number }>["legend"]> }) {
  return (
    <ul className="flex min-h-9 flex-wrap gap-x-4 gap-y-0.5 px-3 pt-1 pb-2 text-sm text-muted">
      {legend.map((entry) => (
        <li key={entry.key} className="flex min-w-0 items-center gap-1.5">
          {entry.glyph ? (
            <span aria-hidden className="text-xs" style={{ color: entry.colour }}>
              {entry.glyph}
            </span>
          ) : (
            <svg aria-hidden="true" width="14" height="8" className="shrink-0">
              <line x1="0" x2="14" y1="4" y2="4" stroke={entry.colour} strokeWidth="2.5" strokeDasharray={entry.dash} />
            </svg>
          )}
          {entry.href ? (
            <Link
              href={entry.href}
              className="inline-flex min-h-6 min-w-0 items-center truncate hover:text-ink hover:underline"
              data-tip={entry.label}
            >
              {entry.label}
            </Link>
          ) : (
            <span className="truncate">{entry.label}</span>
          )}
        </li>
      ))}
    </ul>
  );
}

function ChartTable<Row extends { atMs: number }>(
  props: Pick<ChartPanelProps<Row>, "columns" | "title"> & { rows: Row[]; markers: Marker[] },
) {
  const { rows, columns, title, markers } = props;
  const zone = useZone();
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region without a link must take the focus itself
    <section className="h-64 overflow-auto" aria-label={`${title} as a table`} tabIndex={0}>
      <table className="w-full border-collapse text-left">
        <thead className="sticky top-0 bg-surface">
          <tr>
            <Th>time</Th>
            {columns.map((column) => (
              <Th key={column.label} numeric>
                {column.label}
              </Th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.toReversed().map((row) => (
            <Tr key={row.atMs}>
              <Td className="whitespace-nowrap">{formatAbsolute(row.atMs, zone)}</Td>
              {columns.map((column) => (
                <Td key={column.label} numeric className="font-mono">
                  {column.value(row)}
                </Td>
              ))}
            </Tr>
          ))}
        </tbody>
      </table>
      {markers.length === 0 ? null : (
        <div className="px-3 py-2">
          <h3 className="pb-1 font-medium">What happened</h3>
          <MarkerList items={markers.toReversed()} />
        </div>
      )}
    </section>
  );
}
