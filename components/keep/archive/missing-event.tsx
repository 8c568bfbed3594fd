"use client";

import { aggregateText } from "@/components/events/event-state";
import { ActionButton } from "@/components/ui/action-button";
import { LinkButton } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { Skeleton } from "@/components/ui/skeleton";
import { StateBadge } from "@/components/ui/state-badge";
import { TextLink } from "@/components/ui/text-link";
import { TimeAgo } from "@/components/ui/time-ago";
import { archiveHref, useArchivedEvent } from "@/lib/keep/archive/archive.browser";
import type { ArchivedEvent } from "@/lib/keep/archive/archive.shapes";
import { visible } from "@/lib/platform/plain/format.pure";
import { stateWas } from "./archive-words";
import { RefusedRestores } from "./refused-restores";
import { useRestore } from "./use-restore";

/** The page of an event that is not stored: it lies in the archive, or nothing is known of it. */
export function MissingEvent({ id, level = 1 }: { id: string /** 1 when it is the whole page. */; level?: 1 | 2 }) {
  const archived = useArchivedEvent(id);
  if (archived.isLoading) {
    return (
      <div role="status" aria-label="Loading" className="flex flex-col items-center gap-3 px-4 py-16">
        {level === 1 ? <h1 className="sr-only">Event</h1> : null}
        <Skeleton className="h-5 w-64" />
        <Skeleton className="w-80" />
      </div>
    );
  }
  const { event, place } = archived.data ?? { event: null, place: null };
  if (event !== null) {
    return <Archived event={event} level={level} noRestore={place === null ? "No archive is configured" : null} />;
  }
  return (
    <EmptyState title="Event not found" level={level} action={<LinkButton href="/events">Events</LinkButton>}>
      <p>
        The address may be incomplete.{" "}
        {archived.isError ? "It is not known whether the event is in the archive." : "It is not in the archive either."}
      </p>
      <p className="font-mono text-sm wrap-anywhere">{id}</p>
    </EmptyState>
  );
}

function Archived({ event, level, noRestore }: { event: ArchivedEvent; level: 1 | 2; noRestore: string | null }) {
  const { restore, busy, refused, forgetRefused } = useRestore();
  const { eventId, source, operationId, removedBy, removedAt } = event;
  const aggregate = aggregateText(event);
  return (
    <>
      <EmptyState
        title="This event is in the archive"
        level={level}
        action={
          <>
            <ActionButton
              needs="restore"
              variant="primary"
              refusal={noRestore}
              busy={busy}
              onClick={() => void restore([event])}
              data-tip="Puts it back into the store unchanged; nothing is sent"
            >
              Restore
            </ActionButton>
            <LinkButton href={archiveHref({ eventId, source })} prefetch={false}>
              In the archive
            </LinkButton>
          </>
        }
      >
        <p>
          {removedBy} removed it from the store{" "}
          <TextLink href={`/operations/${operationId}`}>
            <TimeAgo at={removedAt} />
          </TextLink>
          . It can be restored as it was.
        </p>
        <p className="mt-3 flex flex-wrap items-baseline justify-center gap-x-3 gap-y-1">
          <StateBadge state={stateWas(event)} />
          <bdi className="font-mono text-sm wrap-anywhere text-ink">{visible(event.errorCode)}</bdi>
          {event.eventType === null ? null : <bdi className="wrap-anywhere">{visible(event.eventType)}</bdi>}
          {aggregate === "" ? null : <bdi className="font-mono text-sm wrap-anywhere">{visible(aggregate)}</bdi>}
          <bdi className="wrap-anywhere">{visible(source)}</bdi>
        </p>
        <p className="mt-1 font-mono text-sm wrap-anywhere">{visible(eventId)}</p>
      </EmptyState>
      <RefusedRestores refused={refused} onClose={forgetRefused} />
    </>
  );
}
