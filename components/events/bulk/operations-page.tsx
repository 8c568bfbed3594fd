"use client";

import Link from "next/link";
import { WorkItems, WorkList } from "@/components/redrive/list/work-list";
import { SelectionWords } from "@/components/redrive/selection-words";
import { Button, LinkButton } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { RedriveBadge } from "@/components/ui/state-badge";
import { Td, Th, Tr } from "@/components/ui/table";
import { TimeAgo } from "@/components/ui/time-ago";
import { useBulkOperations } from "@/lib/events/bulk/bulk-operations.browser";
import type { BulkOperationOut } from "@/lib/events/bulk/bulk-operations.shapes";
import { usePageParam } from "@/lib/selection/filter/filter-url.browser";
import { BULK_STATES } from "@/lib/states/bulk-operation.pure";
import { awaitsApproval, isUndone, leftAlone, operationTitle, paceWords } from "./bulk-words";
import { OperationBar } from "./operation-bar";

const STATES = [{ value: "all", label: "any state" }, ...BULK_STATES.map((state) => ({ value: state, label: state }))];

/** The operations that a worker ran, newest first. */
export function OperationsPage() {
  const [param, setParam] = usePageParam("state");
  const state = BULK_STATES.find((each) => each === param) ?? "all";
  const operations = useBulkOperations(state);
  return (
    <WorkList
      title="Bulk changes"
      read={operations}
      states={STATES}
      state={state}
      onState={(next) => setParam(next === "all" ? null : next)}
      older="Older changes"
      none={<None filtered={state !== "all"} onClear={() => setParam(null)} />}
    >
      {(items) => (
        <WorkItems
          items={items}
          columns={
            <>
              <Th className="w-48">progress</Th>
              <Th>not changed</Th>
            </>
          }
          row={(operation) => (
            <Tr key={operation.id} className="relative">
              <Td>
                <OperationBadge operation={operation} />
              </Td>
              <Td className="max-w-96">
                <What operation={operation} />
              </Td>
              <Td>
                <OperationBar operation={operation} />
              </Td>
              <Td className="max-w-72 truncate text-muted">{leftAlone(operation.refusedByReason)}</Td>
              <Td className="max-w-72 text-muted">{pace(operation)}</Td>
              <Td className="max-w-40 truncate">{operation.createdBy}</Td>
              <Td>
                <TimeAgo at={operation.createdAt} />
              </Td>
            </Tr>
          )}
          card={(operation) => (
            <li key={operation.id} className="relative grid gap-1.5 rounded-lg border border-line bg-surface p-3">
              <div className="flex items-center justify-between gap-2">
                <OperationBadge operation={operation} />
                <TimeAgo at={operation.createdAt} className="text-sm whitespace-nowrap text-muted" />
              </div>
              <What operation={operation} />
              <OperationBar operation={operation} />
              <p className="text-sm text-muted">
                {[leftAlone(operation.refusedByReason), pace(operation), operation.createdBy]
                  .filter(Boolean)
                  .join(" · ")}
              </p>
            </li>
          )}
        />
      )}
    </WorkList>
  );
}

/** Green only for an operation that changed all its events and was not undone. */
export function OperationBadge({ operation }: { operation: BulkOperationOut }) {
  const state = isUndone(operation) ? "UNDONE" : awaitsApproval(operation) ? "WAITING" : operation.state;
  return <RedriveBadge state={state} allWent={operation.refused === 0} />;
}

function What({ operation }: { operation: BulkOperationOut }) {
  return (
    <div className="min-w-0">
      <Link href={`/operations/${operation.id}`} className="block truncate font-medium after:absolute after:inset-0">
        {operationTitle(operation)}
      </Link>
      <span className="block truncate text-sm text-muted">
        {operation.reason} · <SelectionWords selection={operation.selection} />
      </span>
    </div>
  );
}

function pace(operation: BulkOperationOut): string {
  if (operation.state !== "RUNNING") return "";
  if (awaitsApproval(operation)) return "waiting for approval";
  return operation.stalled ?? paceWords(operation);
}

function None({ filtered, onClear }: { filtered: boolean; onClear: () => void }) {
  if (filtered) {
    return (
      <EmptyState title="No changes in this state" action={<Button onClick={onClear}>Show all changes</Button>}>
        There may be changes in other states.
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No bulk changes yet" action={<LinkButton href="/events">Find events</LinkButton>}>
      A worker runs every removal, and each ignore, release or confirm of more than 2,000 events. They are listed here
      with their results. Smaller changes are in the <Link href="/audit?action=event.ignored">audit log</Link>.
    </EmptyState>
  );
}
