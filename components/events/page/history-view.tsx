"use client";

import Link from "next/link";
import { Findings } from "@/components/events/findings";
import { classNames } from "@/components/ui/class-names";
import { Shape, type ShapeName } from "@/components/ui/shape";
import { TextLink } from "@/components/ui/text-link";
import { TimeAgo } from "@/components/ui/time-ago";
import type { HistoryEntry } from "@/lib/events/events.shapes";
import type { Finding } from "@/lib/redrive/list/redrive-items.shapes";

const LOOKS: Record<HistoryEntry["kind"], { shape: ShapeName; colour: string }> = {
  parked: { shape: "disc", colour: "text-pending" },
  bounced: { shape: "return", colour: "text-bounced" },
  duplicate: { shape: "ring", colour: "text-muted" },
  verdict: { shape: "half", colour: "text-queued" },
  attempt: { shape: "arrow", colour: "text-redriven" },
  state: { shape: "square", colour: "text-muted" },
  control: { shape: "triangle", colour: "text-cooling" },
  confirmed: { shape: "check", colour: "text-confirmed" },
};

function Entry({ entry }: { entry: HistoryEntry }) {
  const look = LOOKS[entry.kind];
  const findings = findingsOf(entry.detail);
  return (
    <li className="relative flex gap-3 pb-4 before:absolute before:top-5 before:bottom-0 before:left-[5.5px] before:w-px before:bg-line last:before:hidden">
      <Shape name={look.shape} className={classNames("mt-1 shrink-0", look.colour)} />
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap items-baseline gap-x-2">
          <span className="wrap-anywhere">{entry.text}</span>
          <span className="text-sm text-faint">
            <TimeAgo at={entry.at} />
            {entry.actor ? ` · ${entry.actor}` : null}
          </span>
        </p>
        {entry.reason ? <p className="wrap-anywhere text-muted">“{entry.reason}”</p> : null}
        {findings.length > 0 ? <Findings findings={findings} /> : null}
        {entry.redriveId ? (
          <TextLink href={`/redrives/${entry.redriveId}`} className="text-sm">
            redrive
          </TextLink>
        ) : null}
      </div>
    </li>
  );
}

export function HistoryView({ eventId, history }: { eventId: string; history: HistoryEntry[] }) {
  const latestFirst = history.toReversed();
  return (
    <div className="px-4 py-3">
      <p className="mb-3 text-muted">
        Latest first. Who changed what is in the{" "}
        <Link href={`/audit?eventId=${eventId}`} prefetch={false} className="text-accent underline">
          audit of this event
        </Link>
        .
      </p>
      <ol aria-label="History">
        {latestFirst.map((entry, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: entries are only added; equal entries may share a millisecond
          <Entry key={history.length - index} entry={entry} />
        ))}
      </ol>
    </div>
  );
}

/** The checks of a dry run, from the detail of its history entry. */
function findingsOf(detail: HistoryEntry["detail"]): Finding[] {
  const { findings } = detail;
  if (!Array.isArray(findings)) return [];
  return findings.filter(
    (entry): entry is Finding =>
      typeof entry === "object" &&
      entry !== null &&
      typeof entry.check === "string" &&
      (typeof entry.ok === "boolean" || entry.ok === null) &&
      typeof entry.detail === "string",
  );
}
