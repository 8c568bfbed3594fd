"use client";

import { classNames } from "@/components/ui/class-names";
import { Shape, type ShapeName } from "@/components/ui/shape";
import { TimeAgo } from "@/components/ui/time-ago";
import type { ControlOut } from "@/lib/order/controls/controls.shapes";
import { useNow, useZone } from "@/lib/platform/browser/clock-zone.browser";
import { formatAbsolute, formatDuration } from "@/lib/platform/plain/format.pure";

const LOOKS: Record<ControlOut["kind"], { shape: ShapeName; colour: string }> = {
  blacklist: { shape: "triangle", colour: "text-blacklisted" },
  whitelist: { shape: "check", colour: "text-ok" },
  cooldown: { shape: "clock", colour: "text-cooling" },
};

const MEANINGS: Record<ControlOut["kind"], string> = {
  blacklist: "Refuses every redrive in its scope until it is lifted.",
  whitelist: "Overrides cooldowns and automatic blacklists in its scope.",
  cooldown: "Refuses redrives in its scope until it ends. Lift it to redrive now.",
};

/** Word, shape and colour of a control's kind. */
export function ControlBadge({ kind, quiet }: { kind: ControlOut["kind"]; quiet?: boolean }) {
  const look = LOOKS[kind];
  return (
    <span
      data-tip={MEANINGS[kind]}
      className={classNames(
        "inline-flex shrink-0 items-center gap-1.5 font-mono text-sm whitespace-nowrap uppercase",
        quiet ? "text-ignored" : look.colour,
      )}
    >
      <Shape name={look.shape} />
      {kind}
    </span>
  );
}

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
