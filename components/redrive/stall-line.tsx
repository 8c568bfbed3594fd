"use client";

import { ControlUntil } from "@/components/order/controls/control-badge";
import { TextLink } from "@/components/ui/text-link";
import { useZone } from "@/lib/platform/browser/clock-zone.browser";
import { formatShort } from "@/lib/platform/plain/format.pure";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";

/** The reason why a redrive does not advance, its end, and a link to the page that can change it. */
export function StallLine({ stalled }: { stalled: NonNullable<RedriveOut["stalled"]> }) {
  const way = wayOut(stalled);
  return (
    <>
      <StallText stalled={stalled} />
      {stalled.until ? (
        <span className="text-muted">
          {" "}
          <ControlUntil expiresAt={stalled.until} />
        </span>
      ) : null}
      {way ? (
        <>
          {" "}
          <TextLink href={way.href} className="relative">
            {way.label}
          </TextLink>
        </>
      ) : null}
    </>
  );
}

function wayOut({ code, redriveId }: NonNullable<RedriveOut["stalled"]>): { href: string; label: string } | null {
  if (code === "target-away" || code === "breaker-open" || code === "waits-for-breaker")
    return { href: "/targets", label: "Targets" };
  if (redriveId !== null) return { href: `/redrives/${redriveId}`, label: "The redrive that goes first" };
  return null;
}

/** `Starts at 14:05`, or the sentence of the server. */
export function StallText({ stalled: { code, text, until } }: { stalled: NonNullable<RedriveOut["stalled"]> }) {
  const zone = useZone();
  return code === "starts-later" && until ? `Starts at ${formatShort(Date.parse(until), zone)}.` : text;
}
