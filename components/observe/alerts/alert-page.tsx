"use client";

import { type ReactNode, useState } from "react";
import { EventLinks } from "@/components/events/event-links";
import { untilWords } from "@/components/events/groups/mute-until";
import { ActionButton } from "@/components/ui/action-button";
import { LinkButton } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { ReadError } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { PageHeader } from "@/components/ui/page-header";
import { Panel } from "@/components/ui/panel";
import { SkeletonRows } from "@/components/ui/skeleton";
import { TextLink } from "@/components/ui/text-link";
import { TimeAgo } from "@/components/ui/time-ago";
import { useTitle } from "@/components/ui/use-title";
import { groupPath } from "@/lib/events/groups/group-path.pure";
import { aboutPath } from "@/lib/observe/alerts/alert-paths.pure";
import { useAlert } from "@/lib/observe/alerts/alerts.browser";
import type { AlertOut } from "@/lib/observe/alerts/alerts.shapes";
import { alertKindOf } from "@/lib/observe/alerts/kinds/alert-kinds.pure";
import { useZone } from "@/lib/platform/browser/clock-zone.browser";
import { plural, visible } from "@/lib/platform/plain/format.pure";
import { eventsHref } from "@/lib/selection/filter/filter-read.browser";
import { AlertState, SeverityBadge } from "./alert-looks";

const AcknowledgeDialog = lazily(() => import("./acknowledge-dialog"), "AcknowledgeDialog");

const BECAUSE: Record<NonNullable<AlertOut["resolvedBecause"]>, string> = {
  cleared: "its cause has ended",
  "rule-changed": "the condition of its rule was changed",
  "rule-removed": "its rule was deleted",
  "rule-off": "its rule was switched off",
};

export function AlertPage({ id }: { id: string }) {
  const read = useAlert(id);
  const [acknowledging, setAcknowledging] = useState(false);
  const alert = read.data;
  useTitle(alert?.sentence);
  if (alert === undefined) {
    return (
      <>
        <PageHeader title="Alert" actions={<LinkButton href="/alerts">All alerts</LinkButton>} />
        {read.isPending ? <SkeletonRows rows={6} columns={["w-28", "flex-1"]} /> : null}
        {read.error?.code === "unknown-alert" ? (
          <EmptyState title="Alert not found">Alerts are kept for 90 days after they end.</EmptyState>
        ) : (
          <ReadError read={read} />
        )}
      </>
    );
  }
  const canAcknowledge = alert.state === "firing" && alert.acknowledgedBy === null;
  return (
    <>
      <PageHeader
        title={<span className="wrap-anywhere">{alert.sentence}</span>}
        actions={
          <>
            <LinkButton href="/alerts">All alerts</LinkButton>
            {canAcknowledge ? (
              <ActionButton
                needs="acknowledge"
                variant="primary"
                data-command="Acknowledge this alert…"
                onClick={() => setAcknowledging(true)}
              >
                Acknowledge…
              </ActionButton>
            ) : null}
          </>
        }
      />
      <ReadError read={read} stale />
      <div className="grid grid-cols-[minmax(0,1fr)] gap-3 px-3 pb-3 lg:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]">
        <div className="grid content-start gap-3">
          <Groups alert={alert} />
          <Samples alert={alert} />
        </div>
        <Facts alert={alert} />
      </div>
      {acknowledging ? <AcknowledgeDialog ids={[alert.id]} onClose={() => setAcknowledging(false)} /> : null}
    </>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="grid grid-cols-[7.5rem_minmax(0,1fr)] gap-2 px-3 py-1">
      <dt className="text-muted">{name}</dt>
      <dd className="wrap-anywhere">{children}</dd>
    </div>
  );
}

function Facts({ alert }: { alert: AlertOut }) {
  const { source, subject, rule } = alert;
  const zone = useZone();
  return (
    <Panel title="Facts" className="self-start">
      <dl className="pb-2">
        <Fact name="state">
          <AlertState alert={alert} />
        </Fact>
        <Fact name="severity">
          <SeverityBadge severity={alert.severity} />
        </Fact>
        <Fact name="rule">
          <TextLink href={`/alerts/rules#${rule.id}`}>{rule.name}</TextLink>
          <span className="block text-sm text-muted">{alertKindOf(alert.kind).words}</span>
        </Fact>
        <Fact name="since">
          <TimeAgo at={alert.since} />
        </Fact>
        {alert.firedAt !== null && alert.firedAt !== alert.since ? (
          <Fact name="fired">
            <TimeAgo at={alert.firedAt} />
          </Fact>
        ) : null}
        {source === null ? null : (
          <Fact name="source">
            <TextLink href={`/sources/${encodeURIComponent(source)}`}>{source}</TextLink>
          </Fact>
        )}
        {subject.target === undefined ? null : (
          <Fact name="target">
            <TextLink href="/targets">{subject.target}</TextLink>
          </Fact>
        )}
        {subject.redriveId === undefined ? null : (
          <Fact name="redrive">
            <TextLink href={`/redrives/${subject.redriveId}`}>open the redrive</TextLink>
          </Fact>
        )}
        {subject.fingerprint === undefined && subject.errorCode === undefined ? null : (
          <Fact name="about">
            <TextLink href={aboutPath(alert)}>
              {subject.fingerprint === undefined ? "groups with its error code" : "view group"}
            </TextLink>
          </Fact>
        )}
        <Fact name="events">
          <TextLink href={eventsHref(eventsOf(alert))}>view events</TextLink>
        </Fact>
        {alert.maintenanceUntil === null ? null : (
          <Fact name="no messages">
            until <TimeAgo at={alert.maintenanceUntil} />: <TextLink href="/alerts/channels">maintenance</TextLink>
          </Fact>
        )}
        {alert.mute === null ? null : (
          <Fact name="no messages">
            its group is muted {untilWords(alert.mute, zone)}, by {alert.mute.createdBy}
          </Fact>
        )}
        {alert.acknowledgedBy === null ? null : (
          <Fact name="acknowledged">
            by {alert.acknowledgedBy} <TimeAgo at={alert.acknowledgedAt} />
            {alert.acknowledgeNote ? <span className="block">{alert.acknowledgeNote}</span> : null}
          </Fact>
        )}
        {alert.resolvedAt === null ? null : (
          <Fact name="resolved">
            <TimeAgo at={alert.resolvedAt} />
            {alert.resolvedBecause === null ? "" : `: ${BECAUSE[alert.resolvedBecause]}`}
          </Fact>
        )}
        <Fact name="what to do">
          <a href={alert.runbookUrl} target="_blank" rel="noreferrer noopener" className="text-accent hover:underline">
            runbook
          </a>
        </Fact>
      </dl>
    </Panel>
  );
}

function eventsOf({ source, subject }: AlertOut) {
  return {
    ...(source === null ? {} : { source: [source] }),
    ...(subject.errorCode === undefined ? {} : { errorCode: [subject.errorCode] }),
    ...(subject.fingerprint === undefined ? {} : { fingerprint: [subject.fingerprint] }),
  };
}

function Groups({ alert: { evidence, source } }: { alert: AlertOut }) {
  return (
    <Panel title="Groups" meta="when it fired: still parked first, then by arrivals">
      {evidence.groups.length === 0 ? (
        <p className="px-3 py-4 text-muted">The alert is not about a group, or no events arrived recently.</p>
      ) : null}
      <ul>
        {evidence.groups.map(({ fingerprint, errorCode, pattern, count }) => (
          <li key={fingerprint} className="grid gap-0.5 border-line px-3 py-2 not-first:border-t">
            <span className="flex gap-3">
              <span className="font-mono text-sm">{errorCode}</span>
              <span className="ml-auto text-muted">{plural(count, "event")}</span>
            </span>
            <TextLink href={groupPath(fingerprint, source)} className="min-h-6 wrap-anywhere">
              <bdi>{visible(pattern)}</bdi>
            </TextLink>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Samples({ alert: { evidence } }: { alert: AlertOut }) {
  if (evidence.samples.length === 0) return null;
  return (
    <Panel title="Sample events" meta="the newest when it fired">
      <ul>
        {evidence.samples.map(({ id, eventId, errorCode, errorText, firstSeen, links }) => (
          <li key={id} className="grid gap-0.5 border-line px-3 py-2 not-first:border-t">
            <span className="flex flex-wrap gap-x-3">
              <TextLink href={`/events/${id}`} className="min-h-6 font-mono text-sm wrap-anywhere">
                {eventId}
              </TextLink>
              <span className="font-mono text-sm text-muted">{errorCode}</span>
              <TimeAgo at={firstSeen} className="ml-auto text-sm text-muted" />
            </span>
            {errorText === null ? null : <bdi className="wrap-anywhere">{visible(errorText)}</bdi>}
            <EventLinks links={links} className="text-sm" />
          </li>
        ))}
      </ul>
    </Panel>
  );
}
