"use client";

import { Shape } from "@/components/ui/shape";
import { useStatus } from "@/lib/observe/health/status.browser";
import type { StatusOut } from "@/lib/observe/stats/stats.shapes";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { useNow, useZone } from "@/lib/platform/browser/clock-zone.browser";
import { lastAnswerMs, useFreshness } from "@/lib/platform/browser/freshness.browser";
import { formatAgo, formatClock } from "@/lib/platform/plain/format.pure";

/**
 * Shown while the data of the page is old: since when and why. The page below stays, in grey. Amber from 15 s on (at
 * once when the server cannot be reached), red after a minute.
 */
export function OfflineStrip() {
  const level = useFreshness();
  const { data, error } = useStatus();
  const now = useNow();
  const zone = useZone();
  if (level === "fresh") return null;
  const at = lastAnswerMs();
  return (
    <div
      role="status"
      data-offline={level}
      className={`flex items-center gap-2 border-b bg-surface px-4 py-1.5 ${level === "stale" ? "border-danger" : "border-warning"}`}
    >
      <Shape name="triangle" className={`shrink-0 ${level === "stale" ? "text-danger" : "text-warning"}`} />
      <span>
        {reasonOf(data, error)} This data is from {formatClock(at, zone)}
        {now === 0 ? "" : `, ${formatAgo(at, now)}`}; the console reconnects automatically.
      </span>
    </div>
  );
}

function reasonOf(status: StatusOut | undefined, error: unknown): string {
  if (!navigator.onLine) return "This browser is offline.";
  if (status && !status.store.ok && !error) return "Parkade cannot reach its database.";
  if (error instanceof ApiError && error.status > 0) return `Parkade returned an error: ${error.detail}`;
  return "Parkade is not responding.";
}
