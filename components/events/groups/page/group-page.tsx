"use client";

import { useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { useEffect, useState } from "react";
import { windowed } from "@/components/observe/overview/parked-filter";
import { redriveAtOnce } from "@/components/redrive/one-click/one-click";
import { mendHref } from "@/components/repair/mends/mend-address";
import { ActionButton } from "@/components/ui/action-button";
import { LinkButton } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { ReadError } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { PageHeader } from "@/components/ui/page-header";
import { Panel } from "@/components/ui/panel";
import { Shape } from "@/components/ui/shape";
import { SkeletonRows } from "@/components/ui/skeleton";
import { STATE_LOOKS } from "@/components/ui/state-badge";
import { TextLink } from "@/components/ui/text-link";
import { TimeAbsolute, TimeAgo } from "@/components/ui/time-ago";
import { failureToast, showToast } from "@/components/ui/toast";
import { useTitle } from "@/components/ui/use-title";
import type { GroupOut } from "@/lib/events/events.shapes";
import { groupPath } from "@/lib/events/groups/group-path.pure";
import { useGroup, useLiftMute } from "@/lib/events/groups/groups.browser";
import type { GroupDetail } from "@/lib/events/groups/groups.shapes";
import { useZone } from "@/lib/platform/browser/clock-zone.browser";
import { randomKey } from "@/lib/platform/browser/random-key.browser";
import { formatNumber, visible } from "@/lib/platform/plain/format.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { eventsHref, filterHref, withPart } from "@/lib/selection/filter/filter-read.browser";
import { useEventFilter } from "@/lib/selection/filter/filter-url.browser";
import { windowLabel } from "@/lib/selection/filter/time-window.browser";
import { EVENT_STATUSES } from "@/lib/states/event-state.pure";
import { sourceOf } from "../group-filter";
import { MuteNote } from "../mute-note";
import { VerdictBadge } from "../verdict-badge";
import { GroupInflow } from "./group-inflow";
import { Affected, Fact, GroupAlerts, Past, Sample } from "./group-panels";
import { JoinedGroups } from "./joined-groups";
import { RedriveNow } from "./redrive-now";

const RedriveDialog = lazily(() => import("@/components/redrive/dialog/redrive-dialog"), "RedriveDialog");
const MergeDialog = lazily(() => import("./merge-dialog"), "MergeDialog");
const MuteGroupDialog = lazily(() => import("../mute-group-dialog"), "MuteGroupDialog");

/** One group: since when it rises and how much, who is affected, a sample, and what was done before. */
export function GroupPage({ fingerprint }: { fingerprint: string }) {
  const { filter } = useEventFilter();
  const within = withinOf(filter ?? {});
  const source = sourceOf(within);
  const read = useGroup(fingerprint, within);
  useTitle(read.data && `Group ${visible(read.data.group.errorCode)}`);
  const back = { href: filterHref("/groups", within), label: "Groups" };
  const router = useRouter();
  const now = read.data?.group.fingerprint ?? fingerprint;
  // Another group stands for the one of the address.
  useEffect(() => {
    if (now !== fingerprint) router.replace(groupPath(now, source, within));
  });
  if (read.data === undefined) {
    return (
      <>
        <PageHeader within={back} title="Group" />
        {read.isPending ? <SkeletonRows rows={10} columns={["w-28", "flex-1", "w-40"]} /> : null}
        {read.error?.code === "unknown-group" ? (
          <EmptyState title="The group has no events">
            Its events are no longer in the store{source === null ? "" : `, or none came from ${source}`}.
          </EmptyState>
        ) : (
          <ReadError read={read} />
        )}
      </>
    );
  }
  return <Loaded detail={read.data} within={within} read={read} back={back} />;
}

/** The parts of the address that the page knows: a source, and the window of the arrivals. */
function withinOf({ source, from, to }: EventFilter): EventFilter {
  return {
    ...(source ? { source } : {}),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
}

type Read = ReturnType<typeof useGroup>;

function Loaded(props: {
  detail: GroupDetail;
  within: EventFilter;
  read: Read;
  back: { href: string; label: string };
}) {
  const { detail, within, read, back } = props;
  const { group, affected } = detail;
  const filter: EventFilter = {
    ...(within.source ? { source: within.source } : {}),
    fingerprint: [group.fingerprint],
  };
  return (
    <>
      <PageHeader
        within={back}
        title={<bdi className="font-mono wrap-anywhere">{visible(group.errorCode)}</bdi>}
        meta={
          <span className="flex flex-wrap items-center gap-x-3">
            <VerdictBadge group={group} />
            {group.mute === null ? null : <MuteNote mute={group.mute} sources={group.sources} />}
          </span>
        }
        actions={<Actions group={group} filter={filter} />}
      />
      <p className="px-4 pb-2 font-mono text-sm wrap-anywhere">
        <bdi>{group.pattern === "" ? "without a message" : visible(group.pattern)}</bdi>
      </p>
      <ReadError read={read} stale />
      <div className="grid grid-cols-[minmax(0,1fr)] gap-3 px-3 pb-3 lg:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]">
        <div className="grid grid-cols-[minmax(0,1fr)] content-start gap-3">
          <GroupInflow
            detail={detail}
            readAtMs={read.dataUpdatedAt}
            error={read.error}
            onRetry={() => void read.refetch()}
          />
          <Sample id={group.sampleEvent} />
        </div>
        <div className="grid grid-cols-[minmax(0,1fr)] content-start gap-3">
          <Facts group={group} filter={filter} within={within} />
          <Affected affected={affected} filter={filter} />
          <GroupAlerts alerts={detail.alerts} />
          <JoinedGroups joined={detail.joined} />
          <Past past={detail.past} events={affected?.events ?? 0} />
        </div>
      </div>
    </>
  );
}

function Facts({ group, filter, within }: { group: GroupOut; filter: EventFilter; within: EventFilter }) {
  const { arrivals, since, mute, unstored } = group;
  const zone = useZone();
  const source = sourceOf(within);
  return (
    <Panel title="Facts">
      <dl className="pb-2">
        {since.of === "rise" ? (
          <Fact name="rising since">
            <TimeAbsolute at={since.at} /> (<TimeAgo at={since.at} />)
          </Fact>
        ) : null}
        <Fact name={windowLabel(windowed(within), zone).toLowerCase()}>
          {formatNumber(arrivals.count)} arrived
          {arrivals.usual === null
            ? ", usual not known yet"
            : `, usual ${formatNumber(Math.round(arrivals.usual))} ± ${formatNumber(Math.round(arrivals.spread ?? 0))}`}
        </Fact>
        <Fact name="events">
          <ul className="flex flex-wrap gap-x-3">
            {EVENT_STATUSES.filter((status) => group.counts[status] > 0).map((status) => (
              <li key={status} className={`inline-flex items-center gap-1.5 ${STATE_LOOKS[status].colour}`}>
                <Shape name={STATE_LOOKS[status].shape} />
                <TextLink
                  href={eventsHref(withPart(filter, { status: [status] }))}
                  className="font-mono text-sm text-inherit!"
                >
                  {formatNumber(group.counts[status])} {status}
                </TextLink>
              </li>
            ))}
            <li>
              <TextLink data-command="Events of this group" href={eventsHref(filter)}>
                all events
              </TextLink>
            </li>
          </ul>
        </Fact>
        {unstored === null ? null : (
          <Fact name="not stored">
            <span className="text-warning">
              {formatNumber(unstored.count)} of {formatNumber(arrivals.count)} arrivals are not stored: sampled since{" "}
              <TimeAbsolute at={unstored.since} />
            </span>
          </Fact>
        )}
        <Fact name={source === null ? "sources" : "source"}>
          <ul className="flex flex-wrap gap-x-3">
            {group.sources.map((name) => (
              <li key={name}>
                {source === null && group.sources.length > 1 ? (
                  <TextLink href={groupPath(group.fingerprint, name, within)}>{visible(name)}</TextLink>
                ) : (
                  <TextLink href={`/sources/${encodeURIComponent(name)}`}>{visible(name)}</TextLink>
                )}
              </li>
            ))}
            {source === null ? null : (
              <li>
                <TextLink href={groupPath(group.fingerprint, null, within)}>in all sources</TextLink>
              </li>
            )}
          </ul>
        </Fact>
        <Fact name="first seen">
          <TimeAgo at={group.firstSeen} />
        </Fact>
        <Fact name="last seen">
          <TimeAgo at={group.lastSeen} />
        </Fact>
        {group.exceptionType === null ? null : (
          <Fact name="exception">
            <span className="font-mono text-sm">{visible(group.exceptionType)}</span>
          </Fact>
        )}
        {group.firstFrame === null ? null : (
          <Fact name="first frame">
            <span className="font-mono text-sm">{visible(group.firstFrame)}</span>
          </Fact>
        )}
        {mute === null ? null : <Muted mute={mute} sources={group.sources} />}
      </dl>
    </Panel>
  );
}

function Muted({ mute, sources }: { mute: NonNullable<GroupOut["mute"]>; sources: readonly string[] }) {
  const lift = useLiftMute();
  return (
    <Fact name="muted">
      <MuteNote mute={mute} sources={sources} /> by {mute.createdBy}: {visible(mute.reason)}{" "}
      <ActionButton
        needs="ignore"
        everySource={mute.source === null}
        size="sm"
        busy={lift.isPending}
        onClick={() =>
          lift.mutate(mute.id, {
            onSuccess: () => void showToast({ title: "Its alerts are sent again", tone: "success" }),
            onError: (error) => failureToast("The mute was not lifted", error),
          })
        }
      >
        Lift
      </ActionButton>
    </Fact>
  );
}

function Actions({ group, filter }: { group: GroupOut; filter: EventFilter }) {
  const [act, setAct] = useState<"redrive" | "verify" | "mute" | "merge" | null>(null);
  const client = useQueryClient();
  const router = useRouter();
  const pendingOnly = withPart(filter, { status: ["PENDING"] });
  const pending = group.counts.PENDING;
  const none = pending === 0 ? "None of its events is PENDING" : null;
  return (
    <>
      <ActionButton needs="ignore" data-command="Mute or ignore this group…" onClick={() => setAct("mute")}>
        Mute or ignore…
      </ActionButton>
      <ActionButton needs="ignore" data-command="Merge this group…" onClick={() => setAct("merge")}>
        Merge into…
      </ActionButton>
      {pending === 0 ? null : (
        <LinkButton
          prefetch={false}
          data-command="Mend this group…"
          href={mendHref({ filter: pendingOnly }, randomKey)}
        >
          Mend…
        </LinkButton>
      )}
      <ActionButton needs="redrive" refusal={none} data-command="Verify this group…" onClick={() => setAct("verify")}>
        Verify
      </ActionButton>
      <ActionButton needs="redrive" refusal={none} data-command="Redrive this group…" onClick={() => setAct("redrive")}>
        Redrive…
      </ActionButton>
      <RedriveNow
        filter={pendingOnly}
        pending={pending}
        onClick={(count) =>
          void redriveAtOnce(client, { filter: pendingOnly }, count, {
            open: (href) => router.push(href),
            onAsk: () => setAct("redrive"),
          })
        }
      />
      {act === "redrive" || act === "verify" ? (
        <RedriveDialog
          selection={{ filter: pendingOnly }}
          total={pending}
          initialMode={act === "verify" ? "verify" : "deliver"}
          onClose={() => setAct(null)}
        />
      ) : null}
      {act === "merge" ? (
        <MergeDialog
          group={group}
          onClose={() => setAct(null)}
          onMerged={(into) => router.replace(groupPath(into, sourceOf(filter), filter))}
        />
      ) : null}
      {act === "mute" ? <MuteGroupDialog groups={[group]} filter={filter} onClose={() => setAct(null)} /> : null}
    </>
  );
}
