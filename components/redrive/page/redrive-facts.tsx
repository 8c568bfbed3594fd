"use client";

import Link from "next/link";
import type { ReactNode } from "react";
import { FilterWords } from "@/components/events/filter-words";
import { ChannelChoice } from "@/components/redrive/channel-choice";
import { LongText } from "@/components/redrive/long-text";
import { becameWords, selectionTerms } from "@/components/redrive/redrive-title";
import { refusalShort } from "@/components/redrive/refusal-words";
import { ErrorPanel } from "@/components/ui/error-panel";
import { Panel } from "@/components/ui/panel";
import { ShortId } from "@/components/ui/short-id";
import { TimeAbsolute, TimeAgo } from "@/components/ui/time-ago";
import { useRefusal } from "@/lib/guard/viewer/me.browser";
import { useLiftable } from "@/lib/order/controls/controls.browser";
import { formatDuration, plural } from "@/lib/platform/plain/format.pure";
import { useChangeRedrive } from "@/lib/redrive/redrives.browser";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";
import { isFinal } from "@/lib/states/redrive-state.pure";

type Work = Pick<RedriveOut, "id" | "createdBy" | "reason" | "selection" | "createdAt" | "startedAt" | "finishedAt">;

/** The creator, the reason, the selection and the times of a redrive or of a bulk operation. `children`: further facts. */
export function WorkFacts(props: {
  work: Work;
  /** What the id is of. */
  name: string;
  audit: { href: string; text: string };
  times?: ReactNode;
  children?: ReactNode;
  className?: string;
}) {
  const { work, name, audit, times, children, className } = props;
  const { startedAt, finishedAt } = work;
  return (
    <Panel className={className} title="Who and why" bodyClassName="p-3">
      <dl className="grid grid-cols-[6rem_1fr] gap-x-3 gap-y-1.5">
        <Fact name="by">{work.createdBy}</Fact>
        <Fact name="reason">
          <LongText text={work.reason} />
        </Fact>
        <Fact name="selected">
          <Selected selection={work.selection} />
        </Fact>
        <Fact name="requested">
          <TimeAgo at={work.createdAt} />
        </Fact>
        {times}
        {finishedAt ? (
          <Fact name="ended">
            <TimeAgo at={finishedAt} />
            {startedAt ? (
              <span className="text-muted">
                {" "}
                after {formatDuration(Date.parse(finishedAt) - Date.parse(startedAt))}
              </span>
            ) : null}
          </Fact>
        ) : null}
        {children}
        <Fact name="id">
          <ShortId id={work.id} label={`${name} id`} />
        </Fact>
        <Fact name="audit">
          <Link className="text-accent hover:underline" href={audit.href}>
            {audit.text}
          </Link>
        </Fact>
      </dl>
    </Panel>
  );
}

export function RedriveFacts({ redrive, className }: { redrive: RedriveOut; className?: string }) {
  const { plannedAt, startedAt, canary } = redrive;
  const times = (
    <>
      {plannedAt ? (
        <Fact name="frozen">
          <TimeAgo at={plannedAt} />
        </Fact>
      ) : null}
      {startedAt ? (
        <Fact name="started">
          <TimeAgo at={startedAt} />
        </Fact>
      ) : null}
    </>
  );
  const audit = { href: `/audit?redriveId=${redrive.id}`, text: "what was done and by whom" };
  return (
    <WorkFacts work={redrive} name="redrive" audit={audit} times={times} className={className}>
      {redrive.despite.length > 0 ? (
        <Fact name="overrides">{redrive.despite.map((reason) => refusalShort(reason)).join(", ")}</Fact>
      ) : null}
      <Fact name="target">{redrive.target ?? `each source's own target on the ${redrive.lane} lane`}</Fact>
      {redrive.failed > 0 || redrive.bounced > 0 ? <Blacklists id={redrive.id} /> : null}
      <Fact name="canary">{canary ? `${canary.steps.join(", ")}, then all` : "none"}</Fact>
      <Fact name="notifies">
        <RedriveTells redrive={redrive} />
      </Fact>
    </WorkFacts>
  );
}

/** Users who cannot lift them do not see them here. */
function Blacklists({ id }: { id: string }) {
  const controls = useLiftable({ redrive: id }).data?.controls ?? 0;
  if (controls === 0) return null;
  return (
    <Fact name="blacklists">
      <Link href={`/controls?redrive=${id}`} className="touch text-accent underline">
        lift {plural(controls, "blacklist")} caused by this redrive…
      </Link>
    </Fact>
  );
}

function RedriveTells({ redrive: { id, tell, state } }: { redrive: RedriveOut }) {
  const change = useChangeRedrive(id);
  const refusal = useRefusal("redrive");
  if (isFinal(state)) return <>{tell.length === 0 ? "nobody" : tell.join(", ")}</>;
  return (
    <>
      <ChannelChoice
        tell={tell}
        disabled={change.isPending || refusal !== null}
        onTell={(next) => change.mutate({ tell: next })}
      />
      {change.isError ? <ErrorPanel error={change.error} inline /> : null}
    </>
  );
}

const BOUNDS = new Set(["from", "to", "failedFrom", "failedTo"]);

/** A fixed bound of the window in the shown zone; a relative bound (`-24h`) unchanged. */
function isMoment(term: { name: string; values: string[] }): boolean {
  return BOUNDS.has(term.name) && !Number.isNaN(Date.parse(term.values[0] ?? ""));
}

export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-muted">{name}</dt>
      <dd className="min-w-0 wrap-anywhere">{children}</dd>
    </>
  );
}

function Selected({ selection }: { selection: unknown }) {
  const selected = selectionTerms(selection);
  if (selected.kind === "ids") return <>{plural(selected.count, "event")}, selected individually</>;
  if (selected.kind === "operation") {
    return (
      <Link className="text-accent hover:underline" href={`/operations/${selected.id}`}>
        events from a bulk change
      </Link>
    );
  }
  if (selected.kind === "redrive") {
    return (
      <>
        {becameWords(selected.outcome)} in{" "}
        <Link className="text-accent hover:underline" href={`/redrives/${selected.id}`}>
          another redrive
        </Link>
      </>
    );
  }
  if (selected.terms.length === 0) return <>everything parked</>;
  return (
    <ul className="grid gap-0.5">
      {selected.terms.map((term) => (
        <li key={term.name}>
          {isMoment(term) ? (
            <>
              <span className="text-muted">{term.name}</span>{" "}
              <TimeAbsolute at={term.values[0]!} className="wrap-anywhere" />
            </>
          ) : (
            <FilterWords mono terms={term.values.map((value) => ({ name: term.name, value }))} />
          )}
        </li>
      ))}
    </ul>
  );
}
