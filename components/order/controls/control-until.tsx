"use client";

import { TimeAgo } from "@/components/ui/time-ago";
import { useNow, useZone } from "@/lib/platform/browser/clock-zone.browser";
import { formatAbsolute, formatDuration } from "@/lib/platform/plain/format.pure";

/** `until lifted`, or the time left: `41 min left`, with the end on hover. */
export function ControlUntil({ expiresAt }: { expiresAt: string | null }) {
  const now = useNow();
  const zone = useZone();
  if (expiresAt === null) return <span className="whitespace-nowrap">until lifted</span>;
  const atMs = Date.parse(expiresAt);
  if (now === 0) return <TimeAgo at={expiresAt} />;
  return (
    <time dateTime={expiresAt} data-tip={`until ${formatAbsolute(atMs, zone)}`} className="whitespace-nowrap">
      {atMs <= now ? "ending" : `${formatDuration(atMs - now)} left`}
    </time>
  );
}
