"use client";

import { useNow, useZone } from "@/lib/platform/browser/clock-zone.browser";
import { formatAbsolute, formatAgo, formatShort } from "@/lib/platform/plain/format.pure";

/** `3m ago`, with the absolute time in the chosen zone on hover. While the clock is unknown: `20 Nov 14:02`. */
export function TimeAgo({ at, className }: { at: string | null; className?: string }) {
  const now = useNow();
  const zone = useZone();
  if (at === null) return <span className="text-faint">never</span>;
  const ms = Date.parse(at);
  return (
    <time dateTime={at} data-tip={formatAbsolute(ms, zone)} className={className ?? "whitespace-nowrap"}>
      {now === 0 ? formatShort(ms, "utc") : formatAgo(ms, now)}
    </time>
  );
}

/** The absolute time in the chosen zone, with its age on hover. */
export function TimeAbsolute({ at, className }: { at: string; className?: string }) {
  const now = useNow();
  const zone = useZone();
  const ms = Date.parse(at);
  return (
    <time
      dateTime={at}
      data-tip={now === 0 ? undefined : formatAgo(ms, now)}
      className={className ?? "whitespace-nowrap"}
    >
      {formatAbsolute(ms, zone)}
    </time>
  );
}
