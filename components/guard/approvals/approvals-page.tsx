"use client";

import Link from "next/link";
import { ControlUntil } from "@/components/order/controls/control-badge";
import { WorkList } from "@/components/redrive/list/work-list";
import { Button } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { TimeAgo } from "@/components/ui/time-ago";
import { causeWords } from "@/lib/guard/approvals/approval.pure";
import { useApprovals } from "@/lib/guard/approvals/approvals.browser";
import type { ApprovalOut } from "@/lib/guard/approvals/approvals.shapes";
import { plural } from "@/lib/platform/plain/format.pure";
import { usePageParam } from "@/lib/selection/filter/filter-url.browser";
import { APPROVAL_STATES } from "@/lib/states/approval-state.pure";
import { APPROVAL_WORDS } from "./approval-words";

const STATES = [
  { value: "all", label: "any state" },
  ...APPROVAL_STATES.map((state) => ({ value: state, label: APPROVAL_WORDS[state] })),
];

/** What waits for a second person to approve it, and what was decided. */
export function ApprovalsPage() {
  const [param, setParam] = usePageParam("state");
  const state = param === "all" ? "all" : (APPROVAL_STATES.find((each) => each === param) ?? "asked");
  const approvals = useApprovals(state);
  return (
    <WorkList
      title="Approvals"
      read={approvals}
      states={STATES}
      state={state}
      onState={(next) => setParam(next === "asked" ? null : next)}
      older="Older requests"
      none={
        state === "asked" ? (
          <EmptyState
            title="Nothing is waiting for approval"
            action={<Button onClick={() => setParam("all")}>Show decided requests</Button>}
          >
            Redrives above your approval limit, or of a source or target that needs approval, wait here for a second
            person.
          </EmptyState>
        ) : (
          <EmptyState
            title="No requests in this state"
            action={<Button onClick={() => setParam(null)}>Waiting requests</Button>}
          >
            There may be requests in other states.
          </EmptyState>
        )
      }
    >
      {(items) => (
        <ul className="grid grid-cols-[minmax(0,1fr)] gap-2 px-3 py-3">
          {items.map((approval) => (
            <Line key={`${approval.id} ${approval.askedAt}`} approval={approval} />
          ))}
        </ul>
      )}
    </WorkList>
  );
}

function Line({ approval }: { approval: ApprovalOut }) {
  const { id, subjectKind, state, terms, causes, askedBy, askedAt, decidedBy, reason } = approval;
  const what = subjectKind === "redrive" ? "Redrive" : "Mend";
  return (
    <li className="relative grid grid-cols-[minmax(0,1fr)] gap-1 rounded-lg border border-line bg-surface p-3">
      <div className="flex flex-wrap items-baseline justify-between gap-x-3">
        <Link
          href={subjectKind === "redrive" ? `/redrives/${id}` : `/operations/${id}`}
          className="font-medium after:absolute after:inset-0"
        >
          {what} of {plural(terms.events, "event")}
        </Link>
        <span className={state === "asked" ? "text-warning" : "text-muted"}>
          {APPROVAL_WORDS[state]}
          {decidedBy === null ? "" : ` by ${decidedBy}`}
        </span>
      </div>
      <p className="text-sm wrap-anywhere text-muted">
        {causes.map(causeWords).join(", ")} · requested by {askedBy} <TimeAgo at={askedAt} />
        {state === "asked" ? (
          <>
            {" "}
            · <ControlUntil expiresAt={approval.expiresAt} />
          </>
        ) : null}
        {reason === null ? null : <> · {reason}</>}
      </p>
    </li>
  );
}
