"use client";

import { ChevronDown, ChevronUp, Maximize2, X } from "lucide-react";
import { AdmissionNote } from "@/components/events/admission-note";
import { ErrorView } from "@/components/events/error-view";
import { EventActions } from "@/components/events/event-actions";
import { EventBadge, HeldCause } from "@/components/events/event-badge";
import { EventLinks } from "@/components/events/event-links";
import { aggregateText } from "@/components/events/event-state";
import { PayloadView } from "@/components/events/payload/payload-view";
import { Revealable } from "@/components/guard/masking/reveal";
import { MissingEvent } from "@/components/keep/archive/missing-event";
import { IconButton } from "@/components/ui/button";
import { ErrorPanel } from "@/components/ui/error-panel";
import { ShortId } from "@/components/ui/short-id";
import { Skeleton } from "@/components/ui/skeleton";
import { TextLink } from "@/components/ui/text-link";
import { TimeAbsolute, TimeAgo } from "@/components/ui/time-ago";
import { useEventDetail } from "@/lib/events/events.browser";
import type { ListedEvent } from "@/lib/events/events.shapes";
import { controlCause } from "@/lib/order/controls/control.pure";
import { visible } from "@/lib/platform/plain/format.pure";

/** One event beside the list: its error and its payload. The list keeps the keyboard, so j and k still move. */
export function SidePanel(props: {
  id: string;
  /** The place among the loaded rows; -1 when the event is not in the list. */
  position: number;
  onMove: (step: number) => void;
  onClose: () => void;
  onPage: () => void;
}) {
  const { id, position, onMove, onClose, onPage } = props;
  const { data: event, error, refetch } = useEventDetail(id);
  const gone = error?.code === "unknown-event";
  return (
    <aside
      aria-label="Event"
      className="flex w-[min(46%,640px)] shrink-0 flex-col border-l border-line bg-surface max-md:hidden"
    >
      <header className="flex h-9 shrink-0 items-center gap-2 border-b border-line pr-2 pl-3">
        {event ? <EventBadge event={event} /> : <Skeleton className="w-24" />}
        <span className="ml-auto" />
        <IconButton size="sm" label="Previous event" shortcut="k" disabled={position === -1} onClick={() => onMove(-1)}>
          <ChevronUp size={14} aria-hidden />
        </IconButton>
        <IconButton size="sm" label="Next event" shortcut="j" disabled={position === -1} onClick={() => onMove(1)}>
          <ChevronDown size={14} aria-hidden />
        </IconButton>
        <IconButton size="sm" label="Open its page" shortcut="Enter" onClick={onPage}>
          <Maximize2 size={13} aria-hidden />
        </IconButton>
        <IconButton size="sm" label="Close" shortcut="Esc" onClick={onClose}>
          <X size={14} aria-hidden />
        </IconButton>
      </header>
      {gone ? (
        <MissingEvent id={id} level={2} />
      ) : error ? (
        <ErrorPanel error={error} onRetry={() => void refetch()} inline={event !== undefined} />
      ) : null}
      {gone ? null : event ? (
        // The `key` scrolls a new event to its top.
        <div key={event.id} className="min-h-0 flex-1 overflow-y-auto">
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-3 py-2">
            <p className="flex min-w-0 flex-wrap items-baseline gap-x-3 text-muted">
              <ShortId id={event.eventId} label="event id" />
              {event.aggregateId === null ? null : (
                <bdi className="line-clamp-2 font-mono text-sm wrap-anywhere">{visible(aggregateText(event))}</bdi>
              )}
              <span>{event.source}</span>
              <TimeAgo at={event.firstSeen} />
            </p>
            <div className="ml-auto flex items-center gap-1.5">
              <EventActions event={event} size="sm" />
            </div>
          </div>
          {event.links.length === 0 ? null : (
            <EventLinks links={event.links} className="border-b border-line px-3 py-1" />
          )}
          <ControlCause event={event} />
          <HeldCause event={event} />
          <AdmissionNote event={event} />
          <Revealable event={event}>
            {(shown) => (
              <>
                <ErrorView event={shown} />
                <div className="border-t border-line">
                  <PayloadView eventId={shown.id} body={shown.body} />
                </div>
              </>
            )}
          </Revealable>
        </div>
      ) : error ? null : (
        <PanelSkeleton />
      )}
    </aside>
  );
}

/** The cause that holds the event, with a link to its page. */
function ControlCause({ event }: { event: ListedEvent }) {
  if (!event.control || event.status !== "PENDING") return null;
  const cause = controlCause(event.control);
  return (
    <p className="border-b border-line px-3 py-1.5 text-muted wrap-anywhere">
      {cause.charAt(0).toUpperCase() + cause.slice(1)}
      {event.control.expiresAt ? (
        <>
          {" "}
          · until <TimeAbsolute at={event.control.expiresAt} />
        </>
      ) : null}{" "}
      · <TextLink href="/controls">see the control</TextLink>
    </p>
  );
}

function PanelSkeleton() {
  return (
    <div role="status" aria-label="Loading" className="flex flex-col gap-4 px-3 py-4">
      <Skeleton className="w-2/3" />
      <Skeleton className="w-5/6" />
      <Skeleton className="h-40 w-full" />
      <Skeleton className="w-1/2" />
      <Skeleton className="h-64 w-full" />
    </div>
  );
}
