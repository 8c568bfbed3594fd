"use client";

import { type ReactNode, useState } from "react";
import { ErrorView } from "@/components/events/error-view";
import { EventLinks } from "@/components/events/event-links";
import { PayloadView } from "@/components/events/payload/payload-view";
import { Revealable } from "@/components/guard/masking/reveal";
import { SeverityBadge } from "@/components/observe/alerts/alert-looks";
import { ActionButton } from "@/components/ui/action-button";
import { ReadError } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { Panel } from "@/components/ui/panel";
import { SkeletonRows } from "@/components/ui/skeleton";
import { TextLink } from "@/components/ui/text-link";
import { TimeAgo } from "@/components/ui/time-ago";
import { useEventDetail } from "@/lib/events/events.browser";
import type { GroupDetail } from "@/lib/events/groups/groups.shapes";
import { formatNumber, shortenId, visible } from "@/lib/platform/plain/format.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { eventsHref, withPart } from "@/lib/selection/filter/filter-read.browser";
import { pastWords } from "./past-words";

const AcknowledgeDialog = lazily(() => import("@/components/observe/alerts/acknowledge-dialog"), "AcknowledgeDialog");

/** Who is affected: aggregates and the most frequent tags of the newest events. */
export function Affected({ affected, filter }: { affected: GroupDetail["affected"]; filter: EventFilter }) {
  if (affected === null) {
    return (
      <Panel title="Who is affected">
        <p className="px-3 py-4 text-warning">The events could not be counted in time.</p>
      </Panel>
    );
  }
  const { events, whole, aggregates, tags, since } = affected;
  return (
    <Panel
      title="Who is affected"
      meta={
        whole ? (
          <>all {formatNumber(events)} of the last 7 days</>
        ) : (
          `the newest ${formatNumber(events)} of the last 7 days`
        )
      }
    >
      {events === 0 ? (
        <p className="px-3 py-4 text-muted">
          No events parked since <TimeAgo at={since} />.
        </p>
      ) : (
        <dl className="pb-2">
          <Fact name="aggregates">{aggregates === 0 ? "no aggregates named" : formatNumber(aggregates)}</Fact>
          {tags.map(({ key, values, others }) => (
            <Fact key={key} name={visible(key)}>
              <ul className="flex flex-wrap gap-x-3 gap-y-0.5">
                {values.map(({ value, count }) => (
                  <li key={value} className="flex min-w-0 items-baseline gap-1">
                    <TextLink
                      href={eventsHref(withPart(filter, { tags: { [key]: [value] } }))}
                      className="min-w-0 truncate font-mono text-sm"
                    >
                      {visible(value)}
                    </TextLink>
                    <span className="text-muted">{formatNumber(count)}</span>
                  </li>
                ))}
                {others === 0 ? null : <li className="text-muted">{formatNumber(others)} others</li>}
              </ul>
            </Fact>
          ))}
          {tags.length === 0 ? <Fact name="tags">no tag value repeats</Fact> : null}
        </dl>
      )}
    </Panel>
  );
}

export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="grid grid-cols-[7.5rem_minmax(0,1fr)] gap-2 px-3 py-1">
      <dt className="truncate text-muted" data-tip={name}>
        {name}
      </dt>
      <dd className="min-w-0 wrap-anywhere">{children}</dd>
    </div>
  );
}

/** What was redriven, mended or ignored of the group before, when and by whom. */
export function Past({ past, events }: { past: GroupDetail["past"]; events: number }) {
  return (
    <Panel title="Previous actions" meta={`on the ${formatNumber(events)} events examined`}>
      {past === null ? <p className="px-3 py-4 text-warning">Could not be read in time.</p> : null}
      {past?.length === 0 ? <p className="px-3 py-4 text-muted">No actions yet.</p> : null}
      <ul>
        {past?.map((entry) => (
          <li
            key={`${entry.at}${entry.what}${entry.redriveId ?? ""}`}
            className="grid gap-0.5 border-line px-3 py-1.5 not-first:border-t"
          >
            <span className="flex flex-wrap items-baseline gap-x-2">
              <span>{pastWords(entry)}</span>
              <OperationLink entry={entry} />
              <TimeAgo at={entry.at} className="ml-auto text-sm whitespace-nowrap text-muted" />
            </span>
            {entry.reason === null ? null : <span className="text-muted wrap-anywhere">{visible(entry.reason)}</span>}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function OperationLink({ entry }: { entry: NonNullable<GroupDetail["past"]>[number] }) {
  if (entry.redriveId !== null) {
    return <TextLink href={`/redrives/${entry.redriveId}`}>redrive {shortenId(entry.redriveId)}</TextLink>;
  }
  if (entry.operationId === null) return null;
  return <TextLink href={`/operations/${entry.operationId}`}>bulk change {shortenId(entry.operationId)}</TextLink>;
}

/** The alerts about the group; those that fire can be acknowledged here. */
export function GroupAlerts({ alerts }: { alerts: GroupDetail["alerts"] }) {
  const [acknowledging, setAcknowledging] = useState<string[] | null>(null);
  const open = alerts.filter(({ state, acknowledgedBy }) => state === "firing" && acknowledgedBy === null);
  return (
    <Panel
      title="Alerts"
      actions={
        open.length === 0 ? null : (
          <ActionButton needs="acknowledge" size="sm" onClick={() => setAcknowledging(open.map(({ id }) => id))}>
            Acknowledge…
          </ActionButton>
        )
      }
    >
      {alerts.length === 0 ? <p className="px-3 py-4 text-muted">No alerts about this group.</p> : null}
      <ul>
        {alerts.map(({ id, rule, severity, state, since, acknowledgedBy }) => (
          <li key={id} className="flex flex-wrap items-center gap-x-3 border-line px-3 py-1.5 not-first:border-t">
            <SeverityBadge severity={severity} quiet={state === "resolved"} />
            <TextLink href={`/alerts/${id}`} className="min-w-0 truncate">
              {rule}
            </TextLink>
            <span className="text-muted">
              {state}
              {acknowledgedBy === null ? "" : `, acknowledged by ${acknowledgedBy}`}
            </span>
            <TimeAgo at={since} className="ml-auto text-sm whitespace-nowrap text-muted" />
          </li>
        ))}
      </ul>
      {acknowledging === null ? null : <AcknowledgeDialog ids={acknowledging} onClose={() => setAcknowledging(null)} />}
    </Panel>
  );
}

/** The newest event of the group, with its error and payload as the page of an event shows them. */
export function Sample({ id }: { id: string }) {
  const read = useEventDetail(id, null);
  const event = read.data;
  return (
    <Panel
      title="Sample event"
      meta={event ? <TimeAgo at={event.firstSeen} /> : undefined}
      actions={<TextLink href={`/events/${id}`}>{event ? shortenId(event.eventId) : "open"}</TextLink>}
    >
      <ReadError read={read} stale={event !== undefined} />
      {event ? (
        <>
          <EventLinks links={event.links} className="px-3 pb-2" />
          <Revealable key={event.id} event={event}>
            {(shown) => (
              <>
                <ErrorView event={shown} />
                <div className="max-h-96 overflow-y-auto border-t border-line">
                  <PayloadView eventId={shown.id} body={shown.body} />
                </div>
              </>
            )}
          </Revealable>
        </>
      ) : read.isPending ? (
        <SkeletonRows rows={6} columns={["flex-1"]} />
      ) : null}
    </Panel>
  );
}
