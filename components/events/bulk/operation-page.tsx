"use client";

import { useQueryClient } from "@tanstack/react-query";
import { Ban, Undo2 } from "lucide-react";
import { useState } from "react";
import { ApprovalPanel } from "@/components/guard/approvals/approval-panel";
import { ChannelChoice } from "@/components/redrive/channel-choice";
import { Fact, WorkFacts } from "@/components/redrive/page/redrive-facts";
import { ActionButton } from "@/components/ui/action-button";
import { Button, LinkButton } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { ErrorPanel } from "@/components/ui/error-panel";
import { lazily, whenOpened } from "@/components/ui/lazily";
import { Breadcrumb, PageHeader } from "@/components/ui/page-header";
import { Panel } from "@/components/ui/panel";
import { Skeleton, SkeletonRows } from "@/components/ui/skeleton";
import { runs, useBulkOperation, useChangeBulkOperation } from "@/lib/events/bulk/bulk-operations.browser";
import type { BulkOperationOut } from "@/lib/events/bulk/bulk-operations.shapes";
import { BULK_ACTION } from "@/lib/guard/viewer/bulk-action.pure";
import { useRefusal } from "@/lib/guard/viewer/me.browser";
import { archiveHref } from "@/lib/keep/archive/archive.browser";
import { formatNumber } from "@/lib/platform/plain/format.pure";
import { INVERSE, isRemoval } from "@/lib/states/bulk-operation.pure";
import {
  awaitsApproval,
  isUndone,
  leftAlone,
  operationTitle,
  paceWords,
  shareWords,
  undoneText,
  VERBS,
} from "./bulk-words";
import { OperationBar } from "./operation-bar";
import { OperationBadge } from "./operations-page";
import { takeBack } from "./say-changed";

const MendAwaited = whenOpened(
  () => import("@/components/repair/mends/mend-awaited").then(({ MendAwaited }) => MendAwaited),
  <Skeleton className="h-24 w-full" />,
);
const CancelDialog = lazily(() => import("./cancel-operation-dialog"), "CancelOperationDialog");

/** One operation over many events: live while it runs, and a record afterwards. */
export function OperationPage({ id }: { id: string }) {
  const { data, error, isPending, refetch } = useBulkOperation(id);
  if (data) {
    return (
      <>
        {error ? <ErrorPanel error={error} inline onRetry={() => refetch()} /> : null}
        <Loaded operation={data} />
      </>
    );
  }
  return (
    <>
      <PageHeader title="Bulk change" />
      {isPending ? (
        <SkeletonRows rows={4} columns={["w-40", "flex-1"]} />
      ) : error?.code === "unknown-operation" ? (
        <EmptyState title="Bulk change not found" action={<LinkButton href="/operations">All bulk changes</LinkButton>}>
          The address may be incomplete.
        </EmptyState>
      ) : (
        <ErrorPanel error={error} onRetry={() => refetch()} />
      )}
    </>
  );
}

function Loaded({ operation }: { operation: BulkOperationOut }) {
  return (
    <>
      <Header operation={operation} />
      {operation.stalled ? (
        <p className="mx-3 mb-3 rounded-md border border-l-2 border-warning bg-surface px-3 py-2 wrap-anywhere">
          {operation.stalled}
        </p>
      ) : null}
      <div className="flex flex-col gap-3 px-3 pb-4 lg:grid lg:grid-cols-[minmax(0,1fr)_20rem] lg:items-start">
        <div className="flex flex-col gap-3">
          {operation.approval ? (
            <ApprovalPanel approval={operation.approval}>
              <MendAwaited operation={operation} />
            </ApprovalPanel>
          ) : null}
          <Progress operation={operation} />
        </div>
        <WorkFacts
          work={operation}
          name="operation"
          audit={{ href: `/audit?operationId=${operation.id}`, text: "who changed which events" }}
        >
          <Fact name="notifies">
            <OperationChannels operation={operation} />
          </Fact>
        </WorkFacts>
      </div>
    </>
  );
}

function OperationChannels({ operation: { id, kind, tell, state } }: { operation: BulkOperationOut }) {
  const change = useChangeBulkOperation(id);
  const refusal = useRefusal(BULK_ACTION[kind]);
  if (!runs({ state })) return <>{tell.length === 0 ? "nobody" : tell.join(", ")}</>;
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

function Header({ operation }: { operation: BulkOperationOut }) {
  const client = useQueryClient();
  const [cancelling, setCancelling] = useState(false);
  const [undone, setUndone] = useState(false);
  const inverse = INVERSE[operation.kind];
  const undo = async () => {
    setUndone(true);
    await takeBack(client, operation.kind, inverse!, { operation: operation.id });
  };
  return (
    <header className="flex min-h-12 flex-wrap items-center gap-x-3 gap-y-2 px-4 py-2">
      <Breadcrumb href="/operations" label="Bulk changes" />
      <h1 className="line-clamp-2 min-w-0 text-xl font-semibold tracking-tight wrap-anywhere">
        {isUndone(operation) ? undoneText(operation) : operationTitle(operation)}
      </h1>
      <OperationBadge operation={operation} />
      <div className="ml-auto flex gap-2">
        {operation.kind === "mend" && !runs(operation) && operation.changed > (operation.undo?.changed ?? 0) ? (
          <LinkButton href={`/mend?mend=${operation.id}`} prefetch={false}>
            Verify and redrive…
          </LinkButton>
        ) : null}
        {isRemoval(operation.kind) && operation.changed > 0 ? (
          <LinkButton href={archiveHref({ operation: operation.id })} prefetch={false}>
            Show in the archive
          </LinkButton>
        ) : null}
        {runs(operation) ? (
          <Button needs={BULK_ACTION[operation.kind]} variant="danger" onClick={() => setCancelling(true)}>
            <Ban size={13} aria-hidden /> Cancel…
          </Button>
        ) : inverse !== null && operation.changed > (operation.undo?.changed ?? 0) ? (
          <ActionButton
            needs={BULK_ACTION[inverse]}
            disabled={undone || operation.undo?.running}
            onClick={() => void undo()}
            data-tip={`${VERBS[inverse].verb} the events that this bulk change changed, except those changed since`}
          >
            <Undo2 size={13} aria-hidden /> Undo
          </ActionButton>
        ) : null}
      </div>
      {cancelling ? <CancelDialog operation={operation} onClose={() => setCancelling(false)} /> : null}
    </header>
  );
}

function Progress({ operation }: { operation: BulkOperationOut }) {
  const { changed, refused, refusedByReason } = operation;
  const running = runs(operation);
  const awaits = awaitsApproval(operation);
  return (
    <Panel bodyClassName="grid gap-3 p-3">
      <div className="flex flex-wrap items-baseline gap-x-4 gap-y-1">
        <p className="text-2xl font-semibold">
          {awaits ? "Waiting for approval" : running ? shareWords(operation) : formatNumber(changed)}
        </p>
        <p className="text-muted">
          {awaits
            ? "nothing changes until then"
            : running
              ? `${formatNumber(changed + refused)} finished`
              : `changed, ${formatNumber(refused)} not changed`}
        </p>
        <p className="ml-auto text-muted">{running && !awaits ? paceWords(operation) : null}</p>
      </div>
      <OperationBar operation={operation} className="h-3!" />
      {refused > 0 ? <p className="text-muted">Not changed: {leftAlone(refusedByReason)}.</p> : null}
      {undoneText(operation) === null ? null : <p>{undoneText(operation)}.</p>}
      {operation.state === "CANCELLED" ? (
        <p className="text-muted">Cancelled by {operation.cancelledBy}. Events already changed stay changed.</p>
      ) : null}
      <span className="sr-only" role="status">
        {running ? "" : operationTitle(operation)}
      </span>
    </Panel>
  );
}
