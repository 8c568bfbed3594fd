"use client";

import { useNow, useZone } from "@/lib/platform/browser/clock-zone.browser";
import { formatAbsolute, formatAgo, formatShort } from "@/lib/platform/plain/format.pure";

type TimeAgoProps = {
  at: string | null;
  /** Other times by their names, shown on hover. */
  beside?: Record<string, string | null>;
  className?: string;
};

/** `3m ago`, with the absolute time in the chosen zone on hover. While the clock is unknown: `20 Nov 14:02`. */
export function TimeAgo({ at, beside = {}, className }: TimeAgoProps) {
  const now = useNow();
  const zone = useZone();
  if (at === null) return <span className="text-faint">never</span>;
  const ms = Date.parse(at);
  const others = Object.entries(beside).flatMap(([name, other]) =>
    other === null ? [] : [`${name} ${formatAbsolute(Date.parse(other), zone)}`],
  );
  return (
    <time
      dateTime={at}
      data-tip={[formatAbsolute(ms, zone), ...others].join("\n")}
      className={className ?? "whitespace-nowrap"}
    >
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
