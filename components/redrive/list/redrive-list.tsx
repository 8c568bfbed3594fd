"use client";

import Link from "next/link";
import { paceWords, rateWords } from "@/components/redrive/eta-words";
import { WorkItems, WorkList } from "@/components/redrive/list/work-list";
import { listedOutcome, sizeOf } from "@/components/redrive/progress-segments";
import { placeWords, redriveTitle } from "@/components/redrive/redrive-title";
import { SegmentedBar } from "@/components/redrive/segmented-bar";
import { SelectionWords } from "@/components/redrive/selection-words";
import { StallLine, StallText } from "@/components/redrive/stall-line";
import { StateOfRedrive } from "@/components/redrive/state-of-redrive";
import { Button, LinkButton } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { Td, Th, Tr } from "@/components/ui/table";
import { TextLink } from "@/components/ui/text-link";
import { TimeAgo } from "@/components/ui/time-ago";
import { useStatus } from "@/lib/observe/health/status.browser";
import { formatNumber } from "@/lib/platform/plain/format.pure";
import { redriveListStateOf } from "@/lib/redrive/list/redrive-list.browser";
import { useRedrives } from "@/lib/redrive/redrives.browser";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";
import { usePageParam } from "@/lib/selection/filter/filter-url.browser";
import { isFinal, REDRIVE_STATES } from "@/lib/states/redrive-state.pure";
import { WAITS, type Wait } from "@/lib/states/redrive-wait.pure";

const STATES = [
  { value: "all", label: "any state" },
  ...REDRIVE_STATES.map((state) => ({ value: state, label: state })),
];

/** All redrives, newest first; running redrives update by themselves. */
export function RedrivesPage() {
  const [param, setParam] = usePageParam("state");
  const [wait, setWait] = usePageParam("waitsFor");
  const { state, waitsFor } = redriveListStateOf(param, wait);
  const redrives = useRedrives({ state, waitsFor });
  return (
    <WorkList
      title="Redrives"
      read={redrives}
      states={STATES}
      state={state}
      onState={(next) => setParam(next === "all" ? null : next)}
      above={<WaitingRedrives chosen={waitsFor} />}
      older="Older redrives"
      none={
        <NoRedrives
          filtered={state !== "all" || waitsFor !== null}
          onClear={() => {
            setParam(null);
            setWait(null);
          }}
        />
      }
    >
      {(items) => (
        <WorkItems
          items={items}
          columns={
            <>
              <Th className="w-80">progress</Th>
              <Th numeric>events</Th>
            </>
          }
          row={(redrive) => <Row key={redrive.id} redrive={redrive} />}
          card={(redrive) => <Card key={redrive.id} redrive={redrive} />}
        />
      )}
    </WorkList>
  );
}

function Row({ redrive }: { redrive: RedriveOut }) {
  return (
    <Tr className="relative">
      <Td>
        <StateOfRedrive redrive={redrive} />
      </Td>
      <Td className="max-w-96">
        {/* The link covers the row, so a click anywhere opens the redrive, and the keyboard stops at one link. */}
        <Link href={`/redrives/${redrive.id}`} className="block truncate font-medium after:absolute after:inset-0">
          {redriveTitle(redrive)}
        </Link>
        <span className="block truncate text-sm text-muted">
          <SelectionWords selection={redrive.selection} />
        </span>
      </Td>
      <Td>
        <div className="flex items-center gap-2">
          <SegmentedBar counts={redrive} className="min-w-24 flex-1" />
          <span className="min-w-32 text-right text-sm whitespace-nowrap text-muted">{listedOutcome(redrive)}</span>
        </div>
      </Td>
      <Td numeric className="font-mono">
        {formatNumber(sizeOf(redrive))}
      </Td>
      <Td className="max-w-72 text-muted">
        <Pace redrive={redrive} />
      </Td>
      <Td className="max-w-40 truncate">{redrive.createdBy}</Td>
      <Td>
        <TimeAgo at={redrive.createdAt} />
      </Td>
    </Tr>
  );
}

function Card({ redrive }: { redrive: RedriveOut }) {
  return (
    <li className="relative grid gap-1.5 rounded-lg border border-line bg-surface p-3">
      <div className="flex items-center justify-between gap-2">
        <StateOfRedrive redrive={redrive} />
        <TimeAgo at={redrive.createdAt} className="text-sm whitespace-nowrap text-muted" />
      </div>
      <Link href={`/redrives/${redrive.id}`} className="line-clamp-2 font-medium after:absolute after:inset-0">
        {redriveTitle(redrive)}
      </Link>
      <p className="truncate text-sm text-muted">
        <SelectionWords selection={redrive.selection} />
      </p>
      <SegmentedBar counts={redrive} />
      <p className="text-sm text-muted">
        {listedOutcome(redrive)} · {redrive.stalled ? null : <>{pace(redrive)} · </>}
        {redrive.createdBy}
      </p>
      {redrive.stalled ? (
        <p className="text-sm text-warning">
          <StallLine stalled={redrive.stalled} />
        </p>
      ) : null}
    </li>
  );
}

function Pace({ redrive }: { redrive: RedriveOut }) {
  if (!redrive.stalled) return <span className="whitespace-nowrap">{pace(redrive)}</span>;
  return (
    <span className="line-clamp-2 text-warning" data-tip={redrive.stalled.text}>
      <StallText stalled={redrive.stalled} />
    </span>
  );
}

function pace(redrive: RedriveOut): string {
  if (isFinal(redrive.state)) return redrive.mode === "verify" ? "dry run" : placeWords(redrive);
  if (redrive.state === "RUNNING") return paceWords(redrive.rateNow, redrive.etaMs);
  return `${placeWords(redrive)}, ${rateWords(redrive.effectiveRatePerSecond)}`;
}

function NoRedrives({ filtered, onClear }: { filtered: boolean; onClear: () => void }) {
  if (filtered) {
    return (
      <EmptyState title="No redrives in this state" action={<Button onClick={onClear}>Show all redrives</Button>}>
        There may be redrives in other states.
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No redrives yet" action={<LinkButton href="/events">Find events</LinkButton>}>
      Select events in the list and press <b>Redrive</b>. Every redrive is kept here with the outcome of each event.
    </EmptyState>
  );
}

const WORDS: Record<Wait["for"], string> = { approval: "for approval", time: "for a time", breaker: "for a breaker" };

/** How many redrives wait before they start, by what they wait for; each count is a filter of the list. */
function WaitingRedrives({ chosen }: { chosen: Wait["for"] | null }) {
  const { data } = useStatus();
  const counts = data?.redrivesWaiting;
  const shown = WAITS.filter((wait) => wait === chosen || (counts?.[wait] ?? 0) > 0);
  if (shown.length === 0) return null;
  return (
    <nav aria-label="Redrives that wait" className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 pt-2">
      <span className="text-muted">Waiting</span>
      {shown.map((wait) => (
        <Link
          key={wait}
          href={`/redrives?waitsFor=${wait}`}
          prefetch={false}
          aria-current={wait === chosen ? "true" : undefined}
          className="text-warning hover:underline aria-[current]:font-medium aria-[current]:underline"
        >
          {counts ? formatNumber(counts[wait]) : "?"} {WORDS[wait]}
        </Link>
      ))}
      {chosen === null ? null : <TextLink href="/redrives">Show all</TextLink>}
      {data?.approvalsForViewer ? (
        <TextLink href="/approvals" className="ml-auto">
          {formatNumber(data.approvalsForViewer)} for your approval
        </TextLink>
      ) : null}
    </nav>
  );
}
