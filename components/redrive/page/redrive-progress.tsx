"use client";

import { useMemo } from "react";
import { waitWords } from "@/components/guard/approvals/approval-words";
import { paceWords, stallWords } from "@/components/redrive/eta-words";
import {
  decided,
  leftOutWords,
  outcomeWords,
  progressSentence,
  sizeOf,
  stayedWords,
} from "@/components/redrive/progress-segments";
import { SegmentedBar, SegmentLegend } from "@/components/redrive/segmented-bar";
import { Panel } from "@/components/ui/panel";
import { TimeAbsolute } from "@/components/ui/time-ago";
import { useNow } from "@/lib/platform/browser/clock-zone.browser";
import { formatNumber } from "@/lib/platform/plain/format.pure";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";
import { isFinal } from "@/lib/states/redrive-state.pure";

export function RedriveProgress({ redrive }: { redrive: RedriveOut }) {
  return (
    <Panel bodyClassName="p-3">
      <ProgressOf redrive={redrive} />
    </Panel>
  );
}

/** The same within another panel. */
export function ProgressOf({ redrive }: { redrive: RedriveOut }) {
  const now = useNow();
  const leftOut = leftOutWords(redrive);
  return (
    <div className="grid gap-3">
      <div className="flex flex-wrap items-baseline gap-x-4 gap-y-1">
        <p className="text-2xl font-semibold">{outcomeWords(redrive)}</p>
        <p className="text-muted">
          {formatNumber(decided(redrive))} of {formatNumber(sizeOf(redrive))} finished
        </p>
        {leftOut === null ? null : <p className="text-muted">{leftOut}</p>}
        <p className="ml-auto text-muted">{stateWords(redrive, now)}</p>
      </div>
      <Stayed redrive={redrive} />
      <SegmentedBar counts={redrive} className="h-3!" />
      <SegmentLegend counts={redrive} />
      {redrive.canary && redrive.canary.released !== null && redrive.startedAt !== null && !isFinal(redrive.state) ? (
        <p className="text-muted">
          Canary: {formatNumber(redrive.canary.released)} released of {formatNumber(sizeOf(redrive))}
          {redrive.canary.waitingUntil && redrive.state === "RUNNING" ? (
            <>
              ; waits for bounces until <TimeAbsolute at={redrive.canary.waitingUntil} />
            </>
          ) : null}
          .
        </p>
      ) : null}
      {redrive.brake && !isFinal(redrive.state) ? (
        <p className="text-muted">
          Pauses when more than {Math.round(redrive.brake.ratio * 100)}% of the last {redrive.brake.window} fail or
          bounce
          {redrive.brake.latencyMsMax === null
            ? null
            : `, or when more than 5% of them take longer than ${formatNumber(redrive.brake.latencyMsMax)} ms`}
          .
        </p>
      ) : null}
      {redrive.state === "PLANNING" ? (
        <p className="text-muted">Its events are being collected. Sending begins when the set is complete.</p>
      ) : null}
      <Announcement redrive={redrive} />
    </div>
  );
}

/** How many were confirmed, of the events that their target has; with the time at which the rest is known. */
function Stayed({ redrive }: { redrive: RedriveOut }) {
  const words = stayedWords(redrive);
  if (words === null || redrive.mode === "verify") return null;
  return (
    <p className="text-lg">
      {words}
      {redrive.unknownUntil ? (
        <span className="text-muted">
          {" "}
          until <TimeAbsolute at={redrive.unknownUntil} />
        </span>
      ) : null}
    </p>
  );
}

function stateWords(redrive: RedriveOut, nowMs: number): string | null {
  switch (redrive.state) {
    case "RUNNING":
      return redrive.stalled
        ? stallWords(redrive.stalled, redrive.etaMs, nowMs)
        : paceWords(redrive.rateNow, redrive.etaMs);
    case "PLANNING":
      return "freezing the set";
    case "PLANNED":
      return waitWords(redrive.waitsFor) ?? "waiting for a worker";
    case "PAUSED":
      return "paused: nothing is sent";
    case "DONE":
      return null;
    case "CANCELLED":
      return "cancelled";
  }
}

/**
 * For screen readers: changes at every tenth and with the state, because speech each second disturbs. After the end what
 * becomes known is read at long intervals, so each change of it is said.
 */
function Announcement({ redrive }: { redrive: RedriveOut }) {
  const tenth = Math.floor((decided(redrive) / Math.max(1, sizeOf(redrive))) * 10);
  const known = isFinal(redrive.state) ? redrive.confirmed + redrive.bounced : 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: changes only by tenth, state and what is known at the end
  const text = useMemo(() => `${redrive.state}. ${progressSentence(redrive)}`, [tenth, redrive.state, known]);
  return (
    <p aria-live="polite" className="sr-only">
      {text}
    </p>
  );
}
