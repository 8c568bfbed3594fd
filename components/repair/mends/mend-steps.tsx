"use client";

import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import {
  awaitsApproval,
  isUndone,
  leftAlone,
  operationTitle,
  paceWords,
  shareWords,
  undoneText,
} from "@/components/events/bulk/bulk-words";
import { OperationBar } from "@/components/events/bulk/operation-bar";
import { takeBack } from "@/components/events/bulk/say-changed";
import { mendableRefusals } from "@/components/redrive/page/cause-words";
import { SendPassed } from "@/components/redrive/page/redrive-passed";
import { ProgressOf } from "@/components/redrive/page/redrive-progress";
import { sizeOf } from "@/components/redrive/progress-segments";
import { refusalShort } from "@/components/redrive/refusal-words";
import { ActionButton } from "@/components/ui/action-button";
import { Button, buttonClass, LinkButton } from "@/components/ui/button";
import { CopyButton } from "@/components/ui/copy-button";
import { ErrorPanel, ReadError } from "@/components/ui/error-panel";
import { Skeleton } from "@/components/ui/skeleton";
import { TextLink } from "@/components/ui/text-link";
import { useSubmit } from "@/components/ui/use-submit";
import { runs, useBulkOperation } from "@/lib/events/bulk/bulk-operations.browser";
import type { BulkOperationOut } from "@/lib/events/bulk/bulk-operations.shapes";
import { type ApprovalCause, causeWords } from "@/lib/guard/approvals/approval.pure";
import { randomKey } from "@/lib/platform/browser/random-key.browser";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";
import { itemsExportHref, requestRedrive, useRedrive } from "@/lib/redrive/redrives.browser";
import { isFinal } from "@/lib/states/redrive-state.pure";
import { mendHref } from "./mend-address";
import { MendHeld } from "./mend-held";
import { recipeWords } from "./recipe-draft";

/** The mend itself: live while it runs; afterwards it can be undone as long as nothing of it was sent. */
export function MendProgress({ id, ...next }: { id: string } & NextProps) {
  const read = useBulkOperation(id);
  const operation = read.data;
  return (
    <div className="grid gap-3">
      <ReadError read={read} stale={operation !== undefined} />
      {operation ? (
        <>
          <div className="flex flex-wrap items-baseline gap-x-4 gap-y-1">
            <p className="text-lg font-semibold">{undoneText(operation) ?? operationTitle(operation)}</p>
            {runs(operation) && !awaitsApproval(operation) ? (
              <p className="text-muted">
                {shareWords(operation)} · {operation.stalled ?? paceWords(operation)}
              </p>
            ) : null}
            <TextLink href={`/operations/${id}`} className="ml-auto">
              Details
            </TextLink>
          </div>
          <OperationBar operation={operation} className="h-3!" />
          {operation.refused > 0 ? (
            <p className="text-muted">Not changed: {leftAlone(operation.refusedByReason)}.</p>
          ) : null}
          {operation.recipe ? <p className="text-muted wrap-anywhere">{recipeWords(operation.recipe)}</p> : null}
          <p className="text-muted wrap-anywhere">“{operation.reason}”</p>
          {awaitsApproval(operation) ? (
            <Awaits id={id} causes={operation.approval!.causes} />
          ) : runs(operation) ? (
            <p className="text-muted">You can leave this page; it continues.</p>
          ) : (
            <Next operation={operation} {...next} />
          )}
        </>
      ) : read.isError ? null : (
        <Skeleton className="h-16 w-full" />
      )}
    </div>
  );
}

/** That approval is needed, with a link for the approver that shows what would change. */
function Awaits({ id, causes }: { id: string; causes: readonly ApprovalCause[] }) {
  const path = `/operations/${id}`;
  return (
    <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <span className="text-warning">
        Nothing changes until a second person approves it: {causes.map(causeWords).join(", ")}.
      </span>
      <CopyButton
        text={typeof window === "undefined" ? path : `${window.location.origin}${path}`}
        label="the link for the approver"
      />
    </p>
  );
}

type NextProps = {
  /** A dry run of what the mend changed was started, and then a redrive. */
  verified: boolean;
  sent: boolean;
  onVerify: (redriveId: string) => void;
  /** Back to the recipe; null = the address does not say of which events. */
  onAgain: (() => void) | null;
};

function Next({ operation, verified, sent, onVerify, onAgain }: { operation: BulkOperationOut } & NextProps) {
  const client = useQueryClient();
  const { busy, error, submit } = useSubmit();
  // Until the server knows of the undo.
  const [asked, setAsked] = useState(false);
  const { id, changed, undo: known } = operation;
  const undoing = asked || known?.running === true;
  const verify = () =>
    submit(async () => {
      const accepted = await requestRedrive(client, {
        idempotencyKey: randomKey(),
        request: {
          select: { operation: id },
          mode: "verify",
          lane: "slow",
          reason: `Dry run of the mended events: ${operation.reason}`.slice(0, 2_000),
        },
      });
      onVerify(accepted.id);
    });
  const undo = async () => {
    setAsked(true);
    await takeBack(client, "mend", "undo-mend", { operation: id });
    setAsked(false);
  };
  const again = onAgain ? (
    <div>
      <Button onClick={onAgain}>Mend again</Button>
    </div>
  ) : null;
  if (changed === 0)
    return (
      <>
        <p className="text-muted">It changed no event, so there is nothing to verify.</p>
        {again}
      </>
    );
  if (isUndone(operation)) return again;
  return (
    <>
      {error ? <ErrorPanel error={error} inline title="The dry run was not started" /> : null}
      {known && !undoing ? <NotUndone id={known.id} /> : null}
      <div className="flex flex-wrap items-center gap-2">
        {/* It stays after its work is done: otherwise Undo would move under the pointer of a second click. */}
        <ActionButton
          needs="redrive"
          variant={verified ? "secondary" : "primary"}
          busy={busy}
          disabled={undoing || verified}
          onClick={() => void verify()}
        >
          Verify {plural(changed - (known?.changed ?? 0), "mended event")}
        </ActionButton>
        <ActionButton
          needs="edit"
          disabled={undoing}
          data-tip="The revisions from before the mend become current again, except for events sent or revised since"
          onClick={() => void undo()}
        >
          {undoing
            ? "Undoing the mend…"
            : sent
              ? "Undo the mend of unsent events"
              : known && known.changed > 0
                ? "Undo the rest"
                : "Undo the mend"}
        </ActionButton>
        {verified ? null : <span className="text-sm text-faint">A dry run checks everything and sends nothing.</span>}
      </div>
    </>
  );
}

/** Which events the undo has left as the mend made them, and why. */
function NotUndone({ id }: { id: string }) {
  const { data } = useBulkOperation(id);
  if (!data || runs(data) || data.refused === 0) return null;
  return (
    <p role="status" className="text-warning">
      Not undone: {leftAlone(data.refusedByReason)}.
    </p>
  );
}

/** The dry run of what was mended, and the redrive of what passed it. */
export function VerifyProgress(props: {
  id: string;
  /** The bulk operation whose events it checks; null = the address does not say. */
  mend: string | null;
  sent: boolean;
  /** Another dry run was started in its place. */
  onVerify: (redriveId: string) => void;
  /** null: it was undone. */
  onSent: (redriveId: string | null) => void;
}) {
  const { id, mend, sent, onVerify, onSent } = props;
  const read = useRedrive(id);
  const redrive = read.data;
  const over = redrive !== undefined && isFinal(redrive.state);
  const mended = useBulkOperation(mend).data;
  if (!sent && mended && isUndone(mended)) return <VoidDryRun id={id} />;
  const undoing = mended?.undo?.running === true;
  const mendable = mendableRefusals(redrive?.refusedByReason ?? {});
  const mendableOnly = mendable.reduce((sum, [, count]) => sum + count, 0) === redrive?.refused;
  return (
    <div className="grid gap-3">
      <ReadError read={read} stale={redrive !== undefined} />
      {redrive ? <ProgressOf redrive={redrive} /> : read.isError ? null : <Skeleton className="h-20 w-full" />}
      {over && !sent && mend !== null ? <MendHeld key={id} mend={mend} redrive={redrive} onVerify={onVerify} /> : null}
      {over && !sent && !undoing ? (
        redrive.passed > 0 ? (
          <SendPassed redrive={redrive} onSent={onSent} onUndone={() => onSent(null)} />
        ) : (
          <p>Nothing passed, so there is nothing to redrive.</p>
        )
      ) : null}
      {over ? (
        <div className="flex flex-wrap items-center gap-2">
          {redrive.refused > 0 ? (
            <>
              {mendableOnly ? (
                <LinkButton href={mendHref({ redrive: id, outcome: ["refused"] }, randomKey)} prefetch={false}>
                  Mend the {formatNumber(redrive.refused)} refused
                </LinkButton>
              ) : (
                mendable.map(([reason, count]) => (
                  <LinkButton
                    key={reason}
                    href={mendHref({ redrive: id, outcome: ["refused"], result: reason }, randomKey)}
                    prefetch={false}
                  >
                    Mend the {formatNumber(count)} refused: {refusalShort(reason)}
                  </LinkButton>
                ))
              )}
              <a className={buttonClass({})} href={itemsExportHref(id, ["refused"])} download>
                Export the {formatNumber(redrive.refused)} refused
              </a>
            </>
          ) : null}
          <LinkButton href={`/redrives/${id}`} prefetch={false}>
            View reasons by event
          </LinkButton>
        </div>
      ) : null}
    </div>
  );
}

function VoidDryRun({ id }: { id: string }) {
  return (
    <p role="status" className="flex flex-wrap items-baseline gap-x-4 gap-y-1">
      It checked the mended payloads, and the mend has been undone: its result no longer applies.
      <TextLink href={`/redrives/${id}`} className="ml-auto">
        Details
      </TextLink>
    </p>
  );
}

/** The redrive of what passed, until its last event is confirmed. */
export function SendProgress({ id, onAgain }: { id: string; onAgain: () => void }) {
  const read = useRedrive(id);
  const redrive = read.data;
  return (
    <div className="grid gap-3">
      <ReadError read={read} stale={redrive !== undefined} />
      {redrive ? (
        <>
          <ProgressOf redrive={redrive} />
          {redrive.stalled ? <p className="text-warning">{redrive.stalled.text}</p> : null}
          {redrive.state === "CANCELLED" && redrive.delivered === 0 ? (
            <p className="flex flex-wrap items-center gap-3">
              It was cancelled before any event was sent.
              <Button onClick={onAgain}>Back to the events that passed</Button>
            </p>
          ) : isFinal(redrive.state) ? (
            <p>
              {formatNumber(redrive.confirmed)} of {plural(sizeOf(redrive), "event")} confirmed
              {redrive.delivered > redrive.confirmed + redrive.bounced
                ? "; Parkade watches the others until their quiet window ends."
                : "."}
            </p>
          ) : null}
          <div className="flex flex-wrap gap-2">
            <LinkButton href={`/redrives/${id}`} prefetch={false}>
              Open the redrive: rate, pause, cancel
            </LinkButton>
            {redrive.failed + redrive.bounced > 0 ? (
              <LinkButton href={mendHref({ redrive: id, outcome: ["failed", "bounced"] }, randomKey)} prefetch={false}>
                Mend the {formatNumber(redrive.failed + redrive.bounced)} that failed or bounced
              </LinkButton>
            ) : null}
          </div>
        </>
      ) : read.isError ? null : (
        <Skeleton className="h-20 w-full" />
      )}
    </div>
  );
}
