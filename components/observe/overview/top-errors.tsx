"use client";

import Link from "next/link";
import { useState } from "react";
import { classNames } from "@/components/ui/class-names";
import { ReadState } from "@/components/ui/loaded";
import { Panel } from "@/components/ui/panel";
import { Toggles } from "@/components/ui/toggles";
import { useStats } from "@/lib/observe/stats/stats.browser";
import type { TopErrors as TopErrorsOut } from "@/lib/observe/stats/stats.shapes";
import { useZone } from "@/lib/platform/browser/clock-zone.browser";
import { formatClock, formatNumber } from "@/lib/platform/plain/format.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { filterHref } from "@/lib/selection/filter/filter-read.browser";
import { windowLabel } from "@/lib/selection/filter/time-window.browser";
import { type ArrivalRow, arrivalRows } from "./arrival-rows";

const SHOWN = 9;

const BY = [
  { value: "code", label: "by code" },
  { value: "group", label: "by group" },
] as const;
type By = (typeof BY)[number]["value"];

/** The events that arrived in the window of the page, by error code or by group; each bar links to its events. */
export function TopErrors({ filter }: { filter: EventFilter }) {
  const zone = useZone();
  const [by, setBy] = useState<By>("code");
  const top = useStats("top-errors", filter);
  const stats = top.data?.counts === "arrived" ? top.data : undefined;
  return (
    <Panel
      title="What arrived"
      meta={
        stats ? (
          <span
            data-tip={`${stats.kind}, as of ${formatClock(Date.parse(stats.asOf), zone)}\nfirst parked or bounced in this window`}
          >
            {formatNumber(stats.total)} · {windowLabel(filter, zone)}
          </span>
        ) : undefined
      }
      actions={<Toggles label="What arrived, by" options={BY} value={by} onChange={setBy} />}
    >
      <ReadState read={top} loading={{ rows: 6, columns: ["flex-1", "w-12"] }} />
      {stats ? <Rows stats={stats} by={by} filter={filter} /> : null}
    </Panel>
  );
}

function Rows(props: { stats: Extract<TopErrorsOut, { counts: "arrived" }>; by: By; filter: EventFilter }) {
  const { stats, by, filter } = props;
  const rows = arrivalRows(stats, by, filter);
  if (rows.length === 0) {
    return <p className="px-3 py-6 text-center text-muted">No events in this time window.</p>;
  }
  const most = Math.max(...rows.map((row) => row.count));
  return (
    <>
      <ul className="pb-1">
        {rows.slice(0, SHOWN).map((row) => (
          <li key={row.key}>
            <Row row={row} most={most} />
          </li>
        ))}
      </ul>
      {rows.length > SHOWN ? (
        <Link href={filterHref("/groups", filter)} className="block px-3 pb-2 text-sm text-accent hover:underline">
          {formatNumber(rows.length - SHOWN)} more: all groups
        </Link>
      ) : null}
    </>
  );
}

function Row({ row, most }: { row: ArrivalRow; most: number }) {
  return (
    <Link
      href={row.href}
      prefetch={false}
      className="grid grid-cols-[minmax(0,1fr)_auto_auto] items-center gap-x-3 px-3 py-1 hover:bg-hover"
      data-tip={row.tip}
    >
      <span className="truncate font-mono text-sm">{row.name}</span>
      <span className={classNames("text-sm whitespace-nowrap", row.unusual ? "text-warning" : "text-faint")}>
        {row.against}
      </span>
      <span className="min-w-8 text-right font-mono">{formatNumber(row.count)}</span>
      <span aria-hidden data-bar className="col-span-3 h-1 rounded-sm bg-line">
        <span
          className="block h-full rounded-sm bg-pending"
          style={{ width: `${Math.max(1, (row.count / most) * 100)}%` }}
        />
      </span>
    </Link>
  );
}
