"use client";

import Link from "next/link";
import { ErrorPanel } from "@/components/ui/error-panel";
import { Panel } from "@/components/ui/panel";
import { SkeletonRows } from "@/components/ui/skeleton";
import { useZone } from "@/lib/browser/clock-zone";
import { eventsHref } from "@/lib/browser/filter-read";
import { formatClock, formatNumber } from "@/lib/browser/format";
import { useStats } from "@/lib/browser/stats";
import type { EventFilter } from "@/lib/contract/event-filter";
import { parkedNow } from "./parked-filter";

const SHOWN = 9;

/** Error codes by what is parked now; each bar opens its events. */
export function TopErrors({ filter, className }: { filter: EventFilter; className?: string }) {
  const zone = useZone();
  const top = useStats("top-errors", filter);
  const codes = top.data?.buckets ?? [];
  const most = codes[0]?.count ?? 1;
  return (
    <Panel
      title="Top error codes"
      meta={top.data ? `as of ${formatClock(Date.parse(top.data.asOf), zone)}` : undefined}
      className={className}
    >
      {top.isError ? <ErrorPanel error={top.error} onRetry={() => top.refetch()} inline={codes.length > 0} /> : null}
      {top.isPending ? <SkeletonRows rows={6} columns={["flex-1", "w-12"]} /> : null}
      {top.isSuccess && codes.length === 0 ? (
        <p className="px-3 py-6 text-center text-muted">Nothing is parked.</p>
      ) : null}
      <ul className="pb-1">
        {codes.slice(0, SHOWN).map((bucket) => (
          <li key={bucket.errorCode}>
            <Link
              href={eventsHref(parkedNow(filter, { errorCode: [bucket.errorCode] }))}
              className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 px-3 py-1 hover:bg-hover"
              data-tip={bucket.errorCode}
            >
              <span className="truncate font-mono text-sm">{bucket.errorCode}</span>
              <span className="font-mono">{formatNumber(bucket.count)}</span>
              <span aria-hidden className="col-span-2 h-1 rounded-sm bg-line">
                <span
                  className="block h-full rounded-sm bg-pending"
                  style={{ width: `${Math.max(1, (bucket.count / most) * 100)}%` }}
                />
              </span>
            </Link>
          </li>
        ))}
      </ul>
      {codes.length > SHOWN ? (
        <p className="px-3 pb-2 text-sm text-muted">and {formatNumber(codes.length - SHOWN)} more codes</p>
      ) : null}
    </Panel>
  );
}
