"use client";

import type { ReactNode } from "react";
import { AdmissionLines } from "@/components/events/admission-note";
import { EventLinks } from "@/components/events/event-links";
import { SCOPE_LABEL, scopeLimits } from "@/components/order/controls/scope-words";
import { Shape } from "@/components/ui/shape";
import { ShortId } from "@/components/ui/short-id";
import { TextLink } from "@/components/ui/text-link";
import { TimeAgo } from "@/components/ui/time-ago";
import type { EventDetail } from "@/lib/events/events.shapes";
import { groupPath } from "@/lib/events/groups/group-path.pure";
import { scopeOut } from "@/lib/order/controls/control.pure";
import type { AppliedControl } from "@/lib/order/controls/controls.shapes";
import type { Origin } from "@/lib/platform/plain/dead-letter.pure";
import { formatBytes, formatNumber, plural, visible } from "@/lib/platform/plain/format.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { eventsHref } from "@/lib/selection/filter/filter-read.browser";
import { originRows } from "./origin-rows";

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex min-h-6 items-baseline gap-3">
      <dt className="w-24 shrink-0 text-sm text-faint">{name}</dt>
      <dd className="min-w-0 flex-1 wrap-anywhere [unicode-bidi:isolate]">{children}</dd>
    </div>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="border-b border-line px-4 py-3 last:border-0">
      <h2 className="mb-1 text-sm font-medium text-faint">{title}</h2>
      {children}
    </section>
  );
}

/** A value that links to the events with the same value. */
function Only({ filter, children }: { filter: EventFilter; children: ReactNode }) {
  return (
    <TextLink href={eventsHref(filter)} data-tip="Events that share this">
      {children}
    </TextLink>
  );
}

function OriginFacts({ origin }: { origin: Origin }) {
  const rows = originRows(origin);
  if (rows.length === 0) return <p className="text-muted">The source gave no origin.</p>;
  return (
    <dl>
      {rows.map((row) => (
        <Fact key={row.name} name={row.name}>
          <bdi className="font-mono text-sm">{visible(row.value)}</bdi>
        </Fact>
      ))}
    </dl>
  );
}

const CONTROL_LOOKS = {
  blacklist: { name: "triangle", className: "shrink-0 text-blacklisted" },
  cooldown: { name: "clock", className: "shrink-0 text-cooling" },
  whitelist: { name: "check", className: "shrink-0 text-ok" },
} as const;

function ControlLine({ control }: { control: AppliedControl }) {
  return (
    <li className="mb-2 last:mb-0">
      <p className="flex flex-wrap items-center gap-1.5">
        <Shape {...CONTROL_LOOKS[control.kind]} />
        <TextLink href="/controls">{control.kind}</TextLink>
        <span className="wrap-anywhere">
          on {SCOPE_LABEL[control.scope]} <span className="font-mono text-sm">{control.value}</span>{" "}
          {scopeLimits(scopeOut(control))}
        </span>
      </p>
      <p className="wrap-anywhere text-muted">
        “{control.reason}” · {control.createdBy}
        {control.expiresAt ? (
          <>
            {" "}
            · until <TimeAgo at={control.expiresAt} />
          </>
        ) : null}
      </p>
    </li>
  );
}

function EventSection({ event }: { event: EventDetail }) {
  const times = [
    ["first seen", event.firstSeen],
    ["first failed", event.firstFailedAt === event.failedAt ? null : event.firstFailedAt],
    [event.firstFailedAt === event.failedAt ? "failed" : "last failed", event.failedAt],
    ["last attempt", event.lastAttemptAt],
    ["redriven", event.redriveAt],
    ["confirmed", event.confirmedAt],
    ["cooldown until", event.cooldownUntil],
  ] as const;
  return (
    <Section title="Event">
      <dl>
        <Fact name="event id">
          <ShortId id={event.eventId} label="event id" head={14} tail={6} />
        </Fact>
        <Fact name="type">
          {event.eventType ? <Only filter={{ eventType: [event.eventType] }}>{visible(event.eventType)}</Only> : "–"}
        </Fact>
        <Fact name="aggregate">
          {event.aggregateId ? (
            <>
              {event.aggregateType ? <span className="text-muted">{event.aggregateType} </span> : null}
              <Only filter={{ aggregateId: [event.aggregateId] }}>{visible(event.aggregateId)}</Only>
              {event.version === null ? null : <span className="text-muted"> v{event.version}</span>}
            </>
          ) : (
            "–"
          )}
        </Fact>
        {times.map(([name, at]) =>
          at === null ? null : (
            <Fact key={name} name={name}>
              <TimeAgo at={at} />
            </Fact>
          ),
        )}
        <Fact name="attempts">
          {event.attempts === 0 ? "none known" : formatNumber(event.attempts)}
          {event.bounces > 0 ? <span className="text-bounced"> · bounced {plural(event.bounces, "time")}</span> : null}
        </Fact>
        <Fact name="payload">{formatBytes(event.payloadBytes)}</Fact>
        {event.lastOperator ? <Fact name="last operator">{event.lastOperator}</Fact> : null}
        <Fact name="trace">
          {event.traceId ? (
            <span className="flex items-center gap-2">
              <ShortId id={event.traceId} label="trace id" />
              <Only filter={{ traceId: [event.traceId] }}>events of this trace</Only>
            </span>
          ) : (
            "–"
          )}
        </Fact>
        <Fact name="id">
          <ShortId id={event.id} label="id" head={8} tail={6} />
        </Fact>
      </dl>
    </Section>
  );
}

export function Facts({ event }: { event: EventDetail }) {
  const tags = Object.entries(event.tags);
  return (
    <>
      {event.controls.length > 0 ? (
        <Section title="Controls in force">
          <ul>
            {event.controls.map((control) => (
              <ControlLine key={control.id} control={control} />
            ))}
          </ul>
        </Section>
      ) : null}
      {event.admitted ? (
        <Section title="Admission">
          <AdmissionLines admitted={event.admitted} />
        </Section>
      ) : null}
      {event.links.length > 0 ? (
        <Section title="Logs and traces">
          <EventLinks links={event.links} />
        </Section>
      ) : null}
      <EventSection event={event} />
      <Section title="Delivery">
        <dl>
          <Fact name="source">
            <Only filter={{ source: [event.source] }}>{event.source}</Only>
          </Fact>
          <Fact name="main lane">{event.target.main ?? <span className="text-faint">no target</span>}</Fact>
          <Fact name="slow lane">{event.target.slow ?? <span className="text-faint">no target</span>}</Fact>
        </dl>
      </Section>
      {event.group ? (
        <Section title="Group">
          <p className="font-mono text-sm wrap-anywhere">
            <TextLink href={groupPath(event.group.fingerprint, event.source)}>
              {event.group.pattern === "" ? "without a message" : event.group.pattern}
            </TextLink>
          </p>
          <p>
            <Only filter={{ fingerprint: [event.group.fingerprint] }}>{formatNumber(event.group.parked)} parked</Only>
          </p>
        </Section>
      ) : null}
      {tags.length > 0 ? (
        <Section title="Tags">
          <dl>
            {tags.map(([key, value]) => (
              <Fact key={key} name={key}>
                <Only filter={{ tags: { [key]: [value] } }}>{value}</Only>
              </Fact>
            ))}
          </dl>
        </Section>
      ) : null}
      <Section title="Origin">
        <OriginFacts origin={event.origin} />
      </Section>
    </>
  );
}
