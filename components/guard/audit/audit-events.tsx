"use client";

import { ErrorPanel } from "@/components/ui/error-panel";
import { Skeleton } from "@/components/ui/skeleton";
import { StateBadge } from "@/components/ui/state-badge";
import { TextLink } from "@/components/ui/text-link";
import { AUDIT_EVENTS_SHOWN, useAuditEvents } from "@/lib/guard/audit/audit.browser";
import { formatNumber, plural, shortenId } from "@/lib/platform/plain/format.pure";
import { eventsHref } from "@/lib/selection/filter/filter-read.browser";

/** The events that an audit entry covers, with their present states. */
export function AuditEvents({ entryId, count }: { entryId: string; count: number }) {
  const events = useAuditEvents(entryId);
  if (events.isError) return <ErrorPanel error={events.error} onRetry={() => events.refetch()} inline />;
  if (!events.data) return <Skeleton className="w-72" />;
  const { items, nextCursor } = events.data;
  const present = items.flatMap(({ eventId, source }) =>
    eventId === null || source === null ? [] : [{ eventId, source }],
  );
  const whole = nextCursor === null && present.length > 0;
  return (
    <div className="grid gap-1">
      <p className="flex flex-wrap items-baseline gap-x-3 text-muted">
        {nextCursor === null
          ? plural(items.length, "event")
          : `The newest ${formatNumber(AUDIT_EVENTS_SHOWN)} of ${formatNumber(count)} events`}
        {whole ? (
          <TextLink
            href={eventsHref({
              eventId: present.map(({ eventId }) => eventId),
              source: [...new Set(present.map(({ source }) => source))],
            })}
          >
            Show them in Events
          </TextLink>
        ) : null}
      </p>
      <ul className="grid max-h-48 grid-cols-[repeat(auto-fill,minmax(18rem,1fr))] gap-x-4 overflow-y-auto">
        {items.map((event) => (
          <li key={event.id} className="flex min-w-0 items-center gap-2">
            {event.status ? <StateBadge state={event.status} className="w-28 shrink-0" /> : null}
            {event.eventId === null ? (
              // Its page says where it is: in the archive, or nowhere.
              <TextLink href={`/events/${event.id}`} className="min-h-6 font-mono text-sm">
                {shortenId(event.id)} is gone
              </TextLink>
            ) : (
              <TextLink
                href={`/events/${event.id}`}
                data-tip={event.eventId}
                className="min-h-6 truncate font-mono text-sm"
              >
                {shortenId(event.eventId, 20, 8)}
              </TextLink>
            )}
            <span className="truncate text-sm text-faint">{event.source}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
