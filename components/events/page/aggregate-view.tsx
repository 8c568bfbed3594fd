"use client";

import Link from "next/link";
import { EventBadge } from "@/components/events/event-badge";
import { isBehind } from "@/components/events/event-state";
import { classNames } from "@/components/ui/class-names";
import { Head, Table, Td, Tr } from "@/components/ui/table";
import { TextLink } from "@/components/ui/text-link";
import { TimeAgo } from "@/components/ui/time-ago";
import type { EventDetail } from "@/lib/events/events.shapes";
import { visible } from "@/lib/platform/plain/format.pure";
import { eventsHref } from "@/lib/selection/filter/filter-read.browser";
import { HeldTail } from "./held-tail";

/** The parked events of the aggregate in their order. The others wait while the head fails or cools. */
export function AggregateView({ event }: { event: EventDetail }) {
  if (event.aggregateId === null) {
    return <p className="px-3 py-4 text-muted">It belongs to no aggregate, so it does not wait for other events.</p>;
  }
  const head = event.aggregate.find((member) => member.head);
  const behind = isBehind(event, head);
  // Its redrive may have been told to pass the earlier versions.
  const inRedrive = event.status === "QUEUED";
  return (
    <div>
      <p className="px-3 py-2 text-muted">
        {event.aggregate.length <= 1
          ? "No other event of this aggregate is here."
          : behind
            ? inRedrive
              ? "An earlier version is parked, and this event is in a redrive."
              : "An earlier version is parked. This event waits for it, unless someone chooses to send it out of order."
            : head
              ? "It is sent before the later versions, which it holds while it is parked."
              : "No parked event holds another event here."}{" "}
        <Link
          href={eventsHref({ aggregateId: [event.aggregateId] })}
          prefetch={false}
          className="wrap-anywhere text-accent underline"
        >
          all events of {visible(event.aggregateId)}
        </Link>
      </p>
      <HeldTail event={event} />
      <Table>
        <Head columns={[{ numeric: "version" }, "state", "type", "error code", "seen"]} />
        <tbody>
          {event.aggregate.map((member) => {
            const here = member.id === event.id;
            return (
              <Tr
                key={member.id}
                className={classNames(here && "bg-selected")}
                aria-current={here ? "true" : undefined}
              >
                <Td numeric className="font-mono text-sm">
                  {member.version ?? "–"}
                </Td>
                <Td className="whitespace-nowrap">
                  <EventBadge event={member} />
                  {member.head ? <span className="ml-2 text-sm font-medium">goes first</span> : null}
                </Td>
                <Td>
                  {here ? (
                    <span>{member.eventType ?? member.eventId} (this one)</span>
                  ) : (
                    <TextLink href={`/events/${member.id}`}>{member.eventType ?? member.eventId}</TextLink>
                  )}
                </Td>
                <Td className="font-mono text-sm">{member.errorCode}</Td>
                <Td className="text-muted">
                  <TimeAgo at={member.firstSeen} />
                </Td>
              </Tr>
            );
          })}
        </tbody>
      </Table>
    </div>
  );
}
