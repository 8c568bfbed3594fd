"use client";

import { Check, X } from "lucide-react";
import { type ReactNode, useState } from "react";
import { ControlUntil } from "@/components/order/controls/control-badge";
import { SampleLines } from "@/components/redrive/dialog/sample-lines";
import { ActionButton } from "@/components/ui/action-button";
import { lazily } from "@/components/ui/lazily";
import { Panel } from "@/components/ui/panel";
import { TimeAgo } from "@/components/ui/time-ago";
import { causeWords } from "@/lib/guard/approvals/approval.pure";
import { useDecideApproval } from "@/lib/guard/approvals/approvals.browser";
import type { ApprovalOut } from "@/lib/guard/approvals/approvals.shapes";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";
import { useFrozenSample, useRedriveItems } from "@/lib/redrive/redrives.browser";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";
import { APPROVAL_WORDS, termRows } from "./approval-words";

const ReasonDialog = lazily(() => import("@/components/ui/reason-dialog"), "ReasonDialog");

/** What a second person approves, who decided, and the two answers for who may give one. */
export function ApprovalPanel(props: {
  approval: ApprovalOut;
  /** Samples of what is approved. */
  children?: ReactNode;
}) {
  const { approval, children } = props;
  const [answer, setAnswer] = useState<"approve" | "reject" | null>(null);
  const open = approval.state === "asked";
  const obstacle = approval.cannotDecide;
  return (
    <Panel
      title="Approval"
      meta={APPROVAL_WORDS[approval.state]}
      bodyClassName="grid grid-cols-[minmax(0,1fr)] gap-3 p-3"
    >
      <p className="wrap-anywhere">
        {open ? (
          <>
            {approval.subjectKind === "redrive" ? "Nothing is sent" : "Nothing is changed"} until a second person
            approves it: {approval.causes.map(causeWords).join(", ")}. Requested by{" "}
            <b className="font-medium">{approval.askedBy}</b> <TimeAgo at={approval.askedAt} />;{" "}
            <ControlUntil expiresAt={approval.expiresAt} />, then it is cancelled.
          </>
        ) : (
          <Ended approval={approval} />
        )}
      </p>
      {open ? (
        <>
          <Terms approval={approval} />
          {children}
        </>
      ) : null}
      {approval.terms.recipe ? (
        <details className="text-sm text-muted">
          <summary>Recipe</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by the keyboard */}
          <pre tabIndex={0} className="mt-1 max-h-64 overflow-auto rounded-md bg-canvas p-2 font-mono text-sm">
            {JSON.stringify(approval.terms.recipe, null, 2)}
          </pre>
        </details>
      ) : null}
      {obstacle === null ? null : <p className="text-warning wrap-anywhere first-letter:uppercase">{obstacle}.</p>}
      {open && obstacle === null ? (
        <div className="flex flex-wrap gap-2">
          <ActionButton
            needs="approve"
            variant="primary"
            data-command="Approve this request…"
            onClick={() => setAnswer("approve")}
          >
            <Check size={13} aria-hidden /> Approve…
          </ActionButton>
          <ActionButton needs="approve" data-command="Reject this request…" onClick={() => setAnswer("reject")}>
            <X size={13} aria-hidden /> Reject…
          </ActionButton>
        </div>
      ) : null}
      {answer === null ? null : <DecisionDialog answer={answer} approval={approval} onClose={() => setAnswer(null)} />}
    </Panel>
  );
}

function Ended({ approval: { state, decidedBy, decidedAt, reason, expiresAt } }: { approval: ApprovalOut }) {
  if (state === "expired")
    return (
      <>
        No one answered before <TimeAgo at={expiresAt} />, so it was cancelled.
      </>
    );
  return (
    <>
      <span className="inline-block first-letter:uppercase">{APPROVAL_WORDS[state]}</span>
      {decidedBy === null ? null : (
        <>
          {" "}
          by <b className="font-medium">{decidedBy}</b>
        </>
      )}{" "}
      {decidedAt === null ? null : <TimeAgo at={decidedAt} />}
      {reason === null ? null : <>: {reason}</>}
    </>
  );
}

function Terms({ approval }: { approval: ApprovalOut }) {
  return (
    <dl className="grid grid-cols-[6rem_minmax(0,1fr)] gap-x-3 gap-y-1">
      {termRows(approval).map(({ name, words }) => (
        <div key={name} className="contents">
          <dt className="text-muted">{name}</dt>
          <dd className="min-w-0 wrap-anywhere">{words}</dd>
        </div>
      ))}
    </dl>
  );
}

const SAMPLES = 5;

/** Some of the frozen events; the table of items below has them all. */
export function RedriveSamples({ redrive }: { redrive: RedriveOut }) {
  const items = useRedriveItems(redrive.id, ["open"], false).data?.pages[0]?.items ?? [];
  const sample = useFrozenSample(redrive.id).data;
  if (items.length === 0) return null;
  return (
    <div>
      {sample ? <SampleLines preview={{ sample, total: redrive.open, eligible: redrive.open }} /> : null}
      <h3 className="text-sm text-muted">
        {plural(Math.min(SAMPLES, items.length), "event")} of {formatNumber(redrive.open)}
      </h3>
      <ul className="mt-1 grid gap-0.5">
        {items.slice(0, SAMPLES).map((item) => (
          <li key={item.id} className="flex min-w-0 gap-3">
            <a href={`/events/${item.id}`} className="truncate font-mono text-accent hover:underline">
              {item.eventId}
            </a>
            <span className="truncate text-muted">
              {item.source} · {item.errorCode}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function DecisionDialog(props: { answer: "approve" | "reject"; approval: ApprovalOut; onClose: () => void }) {
  const { answer, approval, onClose } = props;
  const decide = useDecideApproval(approval.id);
  const approves = answer === "approve";
  const events = plural(approval.terms.events, "event");
  const what = approval.subjectKind === "redrive" ? "redrive" : "mend";
  return (
    <ReasonDialog
      needs="approve"
      title={approves ? `Approve the ${what} of ${events}?` : `Reject the ${what} of ${events}?`}
      size="sm"
      verb={approves ? `Approve ${events}` : "Reject"}
      variant={approves ? "primary" : "danger"}
      keep="Back"
      reason={approves ? "optional" : "required"}
      onClose={onClose}
      onSubmit={async (reason) => {
        const digest = approval.digest;
        await decide.mutateAsync({ decision: answer, digest, ...(reason === "" ? {} : { reason }) });
        return { title: `The ${what} was ${approves ? "approved" : "rejected"}` };
      }}
    >
      <p className="text-muted">
        {approves
          ? "It starts at once, unless it also waits for a time or a breaker. If the set or its terms change, approval is asked for again."
          : "It is cancelled. The person who asked sees your reason."}
      </p>
      {approves ? (
        <p className="mt-2 text-muted">
          Without a sign-in in front of Parkade, anyone can claim any name, so the approval does not prove that it came
          from a second person.
        </p>
      ) : null}
    </ReasonDialog>
  );
}
