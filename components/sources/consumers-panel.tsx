"use client";

import { useState } from "react";
import { LongText } from "@/components/redrive/long-text";
import { Button } from "@/components/ui/button";
import { classNames } from "@/components/ui/class-names";
import { Panel } from "@/components/ui/panel";
import { Shape } from "@/components/ui/shape";
import { TimeAgo } from "@/components/ui/time-ago";
import { useNow } from "@/lib/platform/browser/clock-zone.browser";
import { formatNumber, formatRate, plural } from "@/lib/platform/plain/format.pure";
import type { SourceConsumerOut, SourceOut } from "@/lib/sources/sources.shapes";
import { isSilent, retryWords, sourceState } from "./source-state";

/** Parts shown before the rest is asked for. */
const PARTS_SHOWN = 8;

export function ConsumersPanel({ source }: { source: SourceOut }) {
  const consumers = source.consumers ?? [];
  return (
    <Panel title="Consumers" meta={plural(consumers.length, "worker")} bodyClassName="grid grid-cols-[minmax(0,1fr)]">
      {consumers.length === 0 ? (
        <p className="p-3 text-muted">
          {source.mode === "stopped"
            ? "The source is stopped: no worker reads it."
            : "No worker is reporting on this source. Check that a worker is running."}
        </p>
      ) : null}
      <ul className="grid grid-cols-[minmax(0,1fr)] divide-y divide-line">
        {consumers.map((consumer) => (
          <Consumer key={consumer.worker} consumer={consumer} source={source} />
        ))}
      </ul>
    </Panel>
  );
}

function Consumer({ consumer, source }: { consumer: SourceConsumerOut; source: SourceOut }) {
  const { mode } = source;
  const now = useNow();
  const { lastError, lastErrorAt, recoveredAt } = consumer;
  const state = { ...consumer, lastError, workers: 1 };
  // A worker is shown by its own word: the mode may be on its way to it.
  const look = sourceState({ mode: mode === "stopped" ? "stopped" : "running", state }, { reads: true, nowMs: now });
  const retry = retryWords(consumer.retryAt, now);
  return (
    <li className="grid grid-cols-[minmax(0,1fr)] gap-2 p-3">
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className={classNames("flex items-center gap-1.5", look.colour)}>
          <Shape name={look.shape} className="shrink-0" />
          <span className="font-mono text-sm">{look.word}</span>
        </span>
        <span className="text-muted">
          since <TimeAgo at={consumer.since} />
        </span>
        <span className="min-w-0 truncate font-mono text-sm" data-tip={consumer.worker}>
          {consumer.worker}
        </span>
        {consumer.obeysMode || isSilent(consumer, now) ? null : (
          <span className="text-pending">has not switched to the new mode yet</span>
        )}
        {retry === null ? null : <span className="text-muted">{retry}</span>}
      </p>
      <dl className="flex flex-wrap gap-x-6 gap-y-1 text-sm">
        <Fact name="parked">{formatNumber(consumer.parked)}</Fact>
        <Fact name="last minute">
          {consumer.ratePerSecond === null ? "unknown" : formatRate(consumer.ratePerSecond)}
        </Fact>
        <Fact name="waiting">{consumer.lag === null ? "unknown" : formatNumber(consumer.lag)}</Fact>
        <Fact name="reported">
          <TimeAgo at={consumer.at} />
        </Fact>
      </dl>
      {lastError === null ? null : (
        <div className="rounded-md bg-canvas px-3 py-2 text-sm">
          <p className={recoveredAt === null ? "text-danger" : "text-muted"}>
            last error <TimeAgo at={lastErrorAt} />
            {recoveredAt === null ? null : (
              <>
                , recovered <TimeAgo at={recoveredAt} />
              </>
            )}
          </p>
          {/* The error of the source stands above this panel. */}
          {lastError === source.state?.lastError && recoveredAt === null ? null : (
            <LongText text={lastError} className="font-mono" />
          )}
        </div>
      )}
      {consumer.partCount > 0 ? <Parts consumer={consumer} /> : null}
    </li>
  );
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div className="flex gap-1.5">
      <dt className="text-muted">{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** The parts that one worker reads, those with the most lag first. */
function Parts({ consumer }: { consumer: SourceConsumerOut }) {
  const [all, setAll] = useState(false);
  const { parts, partCount } = consumer;
  const shown = all ? parts : parts.slice(0, PARTS_SHOWN);
  const most = Math.max(1, ...parts.map(({ lag }) => lag ?? 0));
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-1">
      <h3 className="text-sm text-muted">
        {plural(partCount, "part")}
        {partCount > parts.length ? `; the ${formatNumber(parts.length)} with the largest backlog` : ""}
      </h3>
      <ul className="grid grid-cols-[minmax(0,1fr)] gap-x-6 text-sm sm:grid-cols-2">
        {shown.map(({ name, lag, ratePerSecond, setAside }) => (
          <li key={name} className="flex min-w-0 flex-wrap items-center gap-x-2 leading-6">
            <span className="min-w-0 flex-1 truncate font-mono" data-tip={name}>
              {name}
            </span>
            <span className="w-16 shrink-0 text-right text-muted" data-tip="parked over the last minute">
              {ratePerSecond === null ? null : formatRate(ratePerSecond)}
            </span>
            <span aria-hidden className="h-1.5 w-16 shrink-0 overflow-hidden rounded-sm bg-hover">
              <span className="block h-full bg-pending" style={{ width: `${((lag ?? 0) / most) * 100}%` }} />
            </span>
            <span className="w-16 shrink-0 text-right" data-tip="waiting">
              {lag === null ? "unknown" : formatNumber(lag)}
            </span>
            {setAside === 0 ? null : (
              <span className="w-full text-danger">
                {plural(setAside, "message")} cannot be committed and {setAside === 1 ? "stays" : "stay"} at the broker
              </span>
            )}
          </li>
        ))}
      </ul>
      {parts.length > PARTS_SHOWN ? (
        <Button
          variant="ghost"
          size="sm"
          className="justify-self-start"
          aria-expanded={all}
          onClick={() => setAll(!all)}
        >
          {all ? "Show fewer" : `Show all ${formatNumber(parts.length)}`}
        </Button>
      ) : null}
    </div>
  );
}
