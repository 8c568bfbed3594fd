"use client";

import Link from "next/link";
import { holderText, stateOf } from "@/components/events/event-state";
import { StateBadge } from "@/components/ui/state-badge";
import type { AggregateMember, ListedEvent } from "@/lib/events/events.shapes";
import { controlCause } from "@/lib/order/controls/control.pure";
import { useNow } from "@/lib/platform/browser/clock-zone.browser";
import { visible } from "@/lib/platform/plain/format.pure";

const LINK = "text-accent underline";

/** The state of an event; a held one names what it waits for and leads there. */
export function EventBadge({ event, linked }: { event: ListedEvent | AggregateMember; linked?: boolean }) {
  const { state, remainingMs, heldBehind } = stateOf(event, useNow());
  const behind = heldBehind && (
    <>
      behind{" "}
      <Link
        href={`/events/${heldBehind.id}`}
        prefetch={false}
        tabIndex={-1}
        data-tip={`Event ${visible(heldBehind.eventId)} goes first`}
        className="inline-block max-w-24 truncate align-bottom underline decoration-dotted hover:decoration-solid"
        onClick={(click) => click.stopPropagation()}
      >
        {visible(holderText(heldBehind))}
      </Link>
    </>
  );
  const cause = "control" in event && event.control ? controlCause(event.control) : null;
  return <StateBadge {...{ state, remainingMs, behind, cause: cause ?? undefined, linked }} />;
}

/** What holds the event, and where one can act on it; nothing when it is not held. */
export function HeldCause({ event }: { event: ListedEvent }) {
  const { heldBehind } = stateOf(event, useNow());
  if (heldBehind === null) return null;
  return (
    <p className="border-b border-line px-3 py-1.5 text-muted wrap-anywhere">
      Held: an earlier event of its aggregate,{" "}
      <Link href={`/events/${heldBehind.id}`} prefetch={false} className={LINK}>
        {visible(heldBehind.eventId)}
        {heldBehind.version === null ? "" : ` v${heldBehind.version}`}
      </Link>
      , goes first ·{" "}
      <Link href={`/events/${event.id}?tab=aggregate`} prefetch={false} className={LINK}>
        mend or skip the earlier one, or send this one out of order
      </Link>
    </p>
  );
}
