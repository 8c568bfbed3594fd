"use client";

import { Shape } from "@/components/ui/shape";
import { useNow, useZone } from "@/lib/browser/clock-zone";
import { formatAgo, formatClock } from "@/lib/browser/format";
import { useStatus } from "@/lib/browser/status";

/** While Parkade does not answer: says so, and since when what is shown is old. The page below stays, greyed. */
export function OfflineStrip() {
  const { data, error, dataUpdatedAt } = useStatus();
  const now = useNow();
  const zone = useZone();
  if (error?.code !== "offline" || !data) return null;
  return (
    <div role="status" data-offline className="flex items-center gap-2 border-b border-danger bg-surface px-4 py-1.5">
      <Shape name="triangle" className="shrink-0 text-danger" />
      <span>
        Parkade does not answer. What you see is from {formatClock(dataUpdatedAt, zone)}
        {now === 0 ? "" : `, ${formatAgo(dataUpdatedAt, now)}`}; it comes back by itself.
      </span>
    </div>
  );
}
