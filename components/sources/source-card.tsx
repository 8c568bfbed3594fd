"use client";

import Link from "next/link";
import { TimeAgo } from "@/components/ui/time-ago";
import { formatNumber, formatRate } from "@/lib/platform/plain/format.pure";
import { eventsHref } from "@/lib/selection/filter/filter-read.browser";
import type { KindOut } from "@/lib/sources/kinds.shapes";
import type { SourceOut } from "@/lib/sources/sources.shapes";
import { PARKED_STATUSES } from "@/lib/states/event-state.pure";
import { useSourceActions } from "./source-actions";
import { SourceBadge, SourceTrouble } from "./source-status";

/** One source: its state, its numbers and why it fails. Everything else is on its page. */
export function SourceCard({ source, kind }: { source: SourceOut; kind: KindOut | null }) {
  const { buttons, results } = useSourceActions(source, kind);
  return (
    <li className="grid grid-cols-[minmax(0,1fr)] content-start gap-3 rounded-lg border border-line bg-surface p-3">
      <div className="flex flex-wrap items-start gap-x-3 gap-y-2">
        <div className="min-w-0 flex-1 basis-48">
          <h2 className="truncate font-medium" data-tip={source.name}>
            <Link
              href={`/sources/${encodeURIComponent(source.name)}`}
              className="inline-block min-h-6 max-w-full truncate align-top text-accent hover:underline"
            >
              {source.name}
            </Link>
          </h2>
          <SourceBadge source={source} kind={kind} />
        </div>
        {buttons}
      </div>
      <SourceNumbers source={source} reads={kind?.capabilities.reads ?? true} />
      <SourceTrouble source={source} />
      {results}
    </li>
  );
}

/** The parked events, and of a source that is read what waits, how fast it is read and how old the report is. */
export function SourceNumbers({ source, reads }: { source: SourceOut; reads: boolean }) {
  const { state, parked } = source;
  const number = (value: number | null | undefined, format = formatNumber) =>
    value == null ? <span className="text-faint">unknown</span> : format(value);
  return (
    <dl className="flex flex-wrap gap-x-8 gap-y-2">
      <Figure name="parked">
        {parked === null ? (
          number(null)
        ) : (
          <Link
            href={eventsHref({ source: [source.name], status: [...PARKED_STATUSES] })}
            className="inline-block min-h-6 min-w-6 text-accent hover:underline"
          >
            {formatNumber(parked)}
          </Link>
        )}
      </Figure>
      {reads && source.mode !== "stopped" ? (
        <>
          <Figure name="waiting at the broker">{number(state?.lag)}</Figure>
          <Figure name="read, last minute">{number(state?.ratePerSecond, formatRate)}</Figure>
          <Figure name="workers">{number(state?.workers ?? 0)}</Figure>
        </>
      ) : null}
      {state ? (
        <Figure name="reported">
          <TimeAgo at={state.at} />
        </Figure>
      ) : null}
    </dl>
  );
}

function Figure({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div>
      <dt className="text-sm text-muted">{name}</dt>
      <dd className="text-lg font-medium">{children}</dd>
    </div>
  );
}
