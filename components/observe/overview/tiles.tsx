"use client";

import { changeOver } from "@/components/charts/size-series";
import { Sparkline } from "@/components/charts/sparkline";
import { useStats } from "@/lib/observe/stats/stats.browser";
import type { AgeStats } from "@/lib/observe/stats/stats.shapes";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { useNow, useZone } from "@/lib/platform/browser/clock-zone.browser";
import { formatClock, formatDuration, formatNumber } from "@/lib/platform/plain/format.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { eventsHref } from "@/lib/selection/filter/filter-read.browser";
import { flowTile, perMinuteWords, successWords } from "./flow-view";
import { lately, parkedBefore, parkedNow } from "./parked-filter";
import { type Part, Tile } from "./tile";

const HOUR_MS = 3_600_000;

type Props = { filter: EventFilter; age: Part<AgeStats> };

export function Tiles({ filter, age }: Props) {
  return (
    <ul className="grid grid-cols-2 rounded-lg border border-line md:grid-cols-3 lg:grid-cols-5 max-md:[&>li:last-child]:col-span-2 max-md:[&>li:nth-child(even)]:border-l max-md:[&>li:nth-child(n+3)]:border-t md:max-lg:[&>li:not(:nth-child(3n+1))]:border-l md:max-lg:[&>li:nth-child(n+4)]:border-t lg:[&>li+li]:border-l">
      <ParkedTile filter={filter} />
      <AgeTile title="oldest" filter={filter} age={age} of={(stats) => stats.oldestMs} />
      <AgeTile title="age p95" filter={filter} age={age} of={(stats) => stats.p95Ms} />
      <FlowTile filter={filter} />
      <SuccessTile filter={filter} />
    </ul>
  );
}

/** `exact, as of 14:02:11`: the kind and the age of a number. */
function useStamp() {
  const zone = useZone();
  return ({ kind, asOf }: { kind: string; asOf: string }) => `${kind}, as of ${formatClock(Date.parse(asOf), zone)}`;
}

/** The number now and its change in an hour, whatever the window of the page; the chart below shows the window. */
function ParkedTile({ filter }: Pick<Props, "filter">) {
  const stamp = useStamp();
  const size = useStats("size", lately(filter, "-70m"), { bucket: "5m" });
  return (
    <Tile
      title="parked now"
      part={asPart(size)}
      tip={(stats) => `${stamp(stats)}\nall parked events, whatever the time window`}
    >
      {(stats) => ({
        href: eventsHref(parkedNow(filter)),
        value: formatNumber(stats.now),
        detail: <Change change={changeOver(stats, HOUR_MS)} />,
      })}
    </Tile>
  );
}

function Change({ change }: { change: number | null }) {
  if (change === null) return null;
  if (change === 0) return <>unchanged in 1 h</>;
  const grew = change > 0;
  return (
    <span className={grew ? "text-warning" : "text-ok"}>
      <span aria-hidden>{grew ? "▲ +" : "▼ −"}</span>
      <span className="sr-only">{grew ? "up by " : "down by "}</span>
      {formatNumber(Math.abs(change))} in 1 h
    </span>
  );
}

function AgeTile(props: Pick<Props, "filter" | "age"> & { title: string; of: (stats: AgeStats) => number | null }) {
  const stamp = useStamp();
  const now = useNow();
  return (
    <Tile title={props.title} part={props.age} tip={stamp}>
      {(stats) => {
        const ageMs = props.of(stats);
        if (ageMs === null) return { href: eventsHref(parkedNow(props.filter)), value: "none" };
        return { href: eventsHref(parkedBefore(props.filter, ageMs, now)), value: formatDuration(ageMs) };
      }}
    </Tile>
  );
}

function FlowTile({ filter }: { filter: EventFilter }) {
  const stamp = useStamp();
  const flow = useStats("flow", lately(filter, "-1h"), { bucket: "1m" });
  return (
    <Tile title="in / out per min" part={flow} tip={(stats) => `mean of 5 min, ${stamp(stats)}`}>
      {(stats) => {
        const { inPerMinute, outPerMinute, spark } = flowTile(stats);
        return {
          href: eventsHref(lately(filter, "-1h")),
          value:
            inPerMinute + outPerMinute === 0 ? (
              "none"
            ) : (
              <>
                {perMinuteWords(inPerMinute)} <span className="text-base font-normal text-muted">in</span>{" "}
                {perMinuteWords(outPerMinute)} <span className="text-base font-normal text-muted">out</span>
              </>
            ),
          detail: <Sparkline values={spark} />,
        };
      }}
    </Tile>
  );
}

function SuccessTile({ filter }: { filter: EventFilter }) {
  const stamp = useStamp();
  const success = useStats("redrive-success", lately(filter, "-24h"));
  return (
    <Tile
      title="redrives confirmed in 24 h"
      part={asPart(success)}
      tip={(stats) =>
        `${formatNumber(stats.confirmed)} confirmed, ${formatNumber(stats.bounced)} bounced, ${formatNumber(stats.failed)} failed\n${stamp(stats)}`
      }
    >
      {(stats) => ({
        href: "/redrives",
        value: successWords(stats.rate),
        detail:
          stats.rate === null
            ? stats.delivered > 0
              ? `${formatNumber(stats.delivered)} not confirmed yet`
              : null
            : `${formatNumber(stats.bounced)} bounced`,
      })}
    </Tile>
  );
}

function asPart<Data>(query: { data: Data | undefined; error: ApiError | null }): Part<Data> {
  return { data: query.data, error: query.error };
}
