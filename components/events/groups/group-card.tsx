"use client";

import Link from "next/link";
import { useEffect, useRef, useState } from "react";
import { Sparkline } from "@/components/charts/sparkline";
import { against, usualWords } from "@/components/observe/overview/arrival-rows";
import { windowed } from "@/components/observe/overview/parked-filter";
import { mendHref } from "@/components/repair/mends/mend-address";
import { ActionButton } from "@/components/ui/action-button";
import { Button, LinkButton } from "@/components/ui/button";
import { classNames } from "@/components/ui/class-names";
import { Shape } from "@/components/ui/shape";
import { STATE_LOOKS } from "@/components/ui/state-badge";
import { TimeAbsolute, TimeAgo } from "@/components/ui/time-ago";
import { EVENT_STATUSES, type EventStatus } from "@/lib/events/event-state.pure";
import type { GroupOut } from "@/lib/events/events.shapes";
import type { EventFilter } from "@/lib/events/filter/event-filter.shapes";
import { eventsHref } from "@/lib/events/filter/filter-read.browser";
import { windowLabel } from "@/lib/events/filter/time-window.browser";
import { useZone } from "@/lib/platform/browser/clock-zone.browser";
import { randomKey } from "@/lib/platform/browser/random-key.browser";
import { formatNumber, visible } from "@/lib/platform/plain/format.pure";
import { useRedrivePreview } from "@/lib/redrive/redrives.browser";
import { groupFilter } from "./group-filter";
import type { GroupAct } from "./groups-page";

/** One group: its pattern, its counts, its arrivals and its actions. */
export function GroupCard(props: { group: GroupOut; filter: EventFilter; onAct: (act: GroupAct) => void }) {
  const { group, filter, onAct } = props;
  // Only pending events count: a queued event belongs to another redrive, and a redriven or ignored event is decided.
  const parked = group.counts.PENDING;
  return (
    <li className="grid grid-cols-[minmax(0,1fr)] gap-x-6 gap-y-1.5 border-b border-line px-3 py-2.5 lg:grid-cols-[minmax(0,1fr)_12rem_auto]">
      <div className="grid min-w-0 grid-cols-[minmax(0,1fr)] content-start gap-1">
        <p className="flex flex-wrap items-baseline gap-x-3">
          <bdi className="max-w-full truncate font-mono text-sm font-medium">{visible(group.errorCode)}</bdi>
          {group.exceptionType ? (
            <span className="max-w-full truncate text-muted" data-tip={group.exceptionType}>
              {group.exceptionType}
            </span>
          ) : null}
          <span className="text-sm text-faint">{group.sources.join(", ")}</span>
        </p>
        <Link
          href={eventsHref(groupFilter(filter, group))}
          className="line-clamp-2 py-0.5 font-mono text-sm wrap-anywhere hover:underline"
          data-tip={group.pattern.slice(0, 1_000) || undefined}
        >
          {group.pattern === "" ? "without a message" : group.pattern}
        </Link>
        {group.firstFrame ? (
          <p className="truncate font-mono text-sm text-muted" data-tip={group.firstFrame}>
            at {group.firstFrame}
          </p>
        ) : null}
        <Counts group={group} filter={filter} />
        <Unstored group={group} />
      </div>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 lg:grid lg:content-start lg:justify-items-start">
        <Sparkline values={group.trend} width={112} height={22} />
        <Arrived group={group} filter={filter} />
        <span className="text-sm text-muted">
          last <TimeAgo at={group.lastSeen} /> · first <TimeAgo at={group.firstSeen} />
        </span>
      </div>
      <div className="flex flex-wrap content-start items-start gap-2 lg:w-72 lg:justify-end">
        <Button size="sm" disabled={parked === 0} onClick={() => onAct({ kind: "verify", group })}>
          Verify
        </Button>
        <AtOnce group={group} filter={filter} onAct={onAct} />
        <Button size="sm" disabled={parked === 0} onClick={() => onAct({ kind: "redrive", group })}>
          Redrive…
        </Button>
        {parked === 0 ? null : (
          <LinkButton
            size="sm"
            prefetch={false}
            href={mendHref({ filter: { ...groupFilter(filter, group), status: ["PENDING"] } }, randomKey)}
          >
            Mend…
          </LinkButton>
        )}
        <Button size="sm" disabled={parked === 0} onClick={() => onAct({ kind: "ignore", group })}>
          Ignore…
        </Button>
        <Link
          href={`/events/${group.sampleEvent}`}
          className="flex h-6 items-center px-1 text-sm text-accent hover:underline"
        >
          sample
        </Link>
      </div>
    </li>
  );
}

/** A larger group is counted when its button is approached: a count of many events costs the store a second. */
const COUNTED_MAX = 2_000;

/** Redrives what of the group may go now. Its number is what goes: `Redrive 6 of 19`. */
function AtOnce({ group, filter, onAct }: { group: GroupOut; filter: EventFilter; onAct: (act: GroupAct) => void }) {
  const parked = group.counts.PENDING;
  const [near, setNear] = useState(false);
  const { seen, ref } = useSeen();
  const preview = useRedrivePreview(
    { select: { filter: groupFilter(filter, group, "PENDING") }, mode: "deliver", lane: "slow", sample: false },
    parked > 0 && (near || (seen && parked <= COUNTED_MAX)),
    parked,
  );
  const eligible = preview.data?.eligible ?? null;
  const some = eligible !== null && eligible !== parked;
  const held = preview.data?.refused["held-by-head"] ?? 0;
  return (
    <span ref={ref} className="contents">
      <ActionButton
        size="sm"
        variant="primary"
        disabled={parked === 0}
        onPointerEnter={() => setNear(true)}
        onFocus={() => setNear(true)}
        data-tip={
          held > 0
            ? `${formatNumber(held)} wait behind earlier events: the next step asks what becomes of those`
            : "Slow lane, canary above ten events, brake; sent after 5 s, with Undo until then"
        }
        onClick={() => onAct({ kind: "at-once", group, count: eligible ?? parked })}
      >
        Redrive {some ? `${formatNumber(eligible)} of ${formatNumber(parked)}` : formatNumber(parked)}
      </ActionButton>
    </span>
  );
}

/** Whether the element behind `ref` has been on the screen. */
function useSeen() {
  const ref = useRef<HTMLSpanElement>(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const shown = ref.current?.firstElementChild;
    if (!shown || seen) return;
    const observer = new IntersectionObserver((entries) =>
      setSeen(entries.some(({ isIntersecting }) => isIntersecting)),
    );
    observer.observe(shown);
    return () => observer.disconnect();
  }, [seen]);
  return { seen, ref };
}

/** What arrived of the group in the window of the page, as the overview judges it. */
function Arrived({ group: { arrivals }, filter }: { group: GroupOut; filter: EventFilter }) {
  const zone = useZone();
  const compared = against(arrivals);
  const label = windowLabel(windowed(filter), zone);
  return (
    <span
      className={classNames("text-sm", compared.unusual ? "text-warning" : "text-muted")}
      data-tip={`First parked or come back in this window, whatever its state now\n${usualWords(arrivals)}`}
    >
      {label.startsWith("Last") ? label.toLowerCase() : label}:{" "}
      {arrivals.count === 0 ? null : formatNumber(arrivals.count)}
      {arrivals.count === 0 || compared.against === "" ? null : ", "}
      {compared.against}
    </span>
  );
}

/** What of the group's arrivals in the window of the page is not there to be redriven. */
function Unstored({ group: { unstored, arrivals } }: { group: GroupOut }) {
  if (unstored === null) return null;
  return (
    <p className="text-sm text-warning">
      {formatNumber(unstored.count)} of {formatNumber(arrivals.count)} that came are not stored: sampled since{" "}
      <TimeAbsolute at={unstored.since} />
    </p>
  );
}

function Counts({ group, filter }: { group: GroupOut; filter: EventFilter }) {
  const present = EVENT_STATUSES.filter((status) => group.counts[status] > 0);
  return (
    <p className="flex flex-wrap gap-x-4 text-sm">
      {present.map((status) => (
        <Count key={status} status={status} group={group} filter={filter} />
      ))}
    </p>
  );
}

function Count({ status, group, filter }: { status: EventStatus; group: GroupOut; filter: EventFilter }) {
  const look = STATE_LOOKS[status];
  return (
    <Link
      href={eventsHref(groupFilter(filter, group, status))}
      className={classNames("inline-flex min-h-6 items-center gap-1.5 hover:underline", look.colour)}
    >
      <Shape name={look.shape} />
      <span className="font-mono">{formatNumber(group.counts[status])}</span>
      <span className="font-mono">{status}</span>
    </Link>
  );
}
