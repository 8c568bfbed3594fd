"use client";

import Link from "next/link";
import type { ReactNode } from "react";
import { TimeAgo } from "@/components/ui/time-ago";
import { formatNumber, formatRate } from "@/lib/platform/plain/format.pure";
import { eventsHref } from "@/lib/selection/filter/filter-read.browser";
import type { SourceOut } from "@/lib/sources/sources.shapes";
import { PARKED_STATUSES } from "@/lib/states/event-state.pure";

/** The parked events, and what waits at the broker, how fast it is read and by how many workers; null = it is not read. */
export function sourceNumbers({ name, state, parked, mode }: SourceOut, reads: boolean): Record<string, ReactNode> {
  const number = (value: number | null | undefined, format = formatNumber) =>
    value == null ? <span className="text-faint">unknown</span> : format(value);
  const isRead = reads && mode !== "stopped";
  return {
    parked:
      parked === null ? (
        number(null)
      ) : (
        <Link
          href={eventsHref({ source: [name], status: [...PARKED_STATUSES] })}
          className="inline-block min-w-6 leading-6 text-accent hover:underline"
        >
          {formatNumber(parked)}
        </Link>
      ),
    "waiting at the broker": isRead ? number(state?.lag) : null,
    "read, last minute": isRead ? number(state?.ratePerSecond, formatRate) : null,
    workers: isRead ? number(state?.workers ?? 0) : null,
  };
}

export function SourceNumbers({ source, reads }: { source: SourceOut; reads: boolean }) {
  const reported = source.state ? <TimeAgo at={source.state.at} /> : null;
  return (
    <dl className="flex flex-wrap gap-x-8 gap-y-2">
      {Object.entries({ ...sourceNumbers(source, reads), reported }).map(([name, value]) =>
        value === null ? null : (
          <div key={name}>
            <dt className="text-sm text-muted">{name}</dt>
            <dd className="text-lg font-medium">{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}
