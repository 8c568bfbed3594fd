"use client";

import Link from "next/link";
import { RedrivesTabs } from "@/components/redrives/list/redrives-tabs";
import { selectionWords } from "@/components/redrives/redrive-title";
import { Button, LinkButton, NextPageButton } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { ReadError } from "@/components/ui/error-panel";
import { PageHeader } from "@/components/ui/page-header";
import { Select } from "@/components/ui/select";
import { SkeletonRows } from "@/components/ui/skeleton";
import { RedriveBadge } from "@/components/ui/state-badge";
import { Table, Td, Th, Tr } from "@/components/ui/table";
import { TimeAgo } from "@/components/ui/time-ago";
import { useBulkOperations } from "@/lib/browser/bulk-operations";
import { usePageParam } from "@/lib/browser/filter-url";
import type { BulkOperationOut } from "@/lib/contract/bulk-operations";
import { BULK_STATES } from "@/lib/core/bulk-operation";
import { formatNumber } from "@/lib/core/format";
import { leftAlone, operationTitle, paceWords } from "./bulk-words";
import { OperationBar } from "./operation-bar";

const STATES = [{ value: "all", label: "any state" }, ...BULK_STATES.map((state) => ({ value: state, label: state }))];

/** The operations that a worker ran, newest first. */
export function OperationsPage() {
  const [param, setParam] = usePageParam("state");
  const state = BULK_STATES.find((each) => each === param) ?? "all";
  const operations = useBulkOperations(state);
  const items = operations.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <>
      <PageHeader
        title="Bulk changes"
        meta={operations.data ? `${formatNumber(items.length)}${operations.hasNextPage ? "+" : ""} shown` : undefined}
        actions={
          <Select
            aria-label="State"
            options={STATES}
            value={state}
            onChange={(event) => setParam(event.target.value === "all" ? null : event.target.value)}
          />
        }
      />
      <RedrivesTabs current="/operations" />
      <ReadError read={operations} stale={items.length > 0} />
      {operations.isPending ? (
        <SkeletonRows rows={8} columns={["w-24", "flex-1", "w-40", "w-24"]} />
      ) : items.length > 0 ? (
        <Operations items={items} />
      ) : operations.isError ? null : (
        <None filtered={state !== "all"} onClear={() => setParam(null)} />
      )}
      <NextPageButton read={operations}>Older changes</NextPageButton>
    </>
  );
}

function Operations({ items }: { items: BulkOperationOut[] }) {
  return (
    <>
      <div className="hidden md:block">
        <Table>
          <thead>
            <tr>
              <Th>state</Th>
              <Th>what</Th>
              <Th className="w-48">progress</Th>
              <Th>left alone</Th>
              <Th>pace</Th>
              <Th>by</Th>
              <Th>when</Th>
            </tr>
          </thead>
          <tbody>
            {items.map((operation) => (
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
            ))}
          </tbody>
        </Table>
      </div>
      <ul className="grid gap-2 px-3 py-3 md:hidden">
        {items.map((operation) => (
          <li key={operation.id} className="relative grid gap-1.5 rounded-lg border border-line bg-surface p-3">
            <div className="flex items-center justify-between gap-2">
              <OperationBadge operation={operation} />
              <TimeAgo at={operation.createdAt} className="text-sm whitespace-nowrap text-muted" />
            </div>
            <What operation={operation} />
            <OperationBar operation={operation} />
            <p className="text-sm text-muted">
              {[leftAlone(operation.refusedByReason), pace(operation), operation.createdBy].filter(Boolean).join(" · ")}
            </p>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Green only for an operation that changed all its events. */
export function OperationBadge({ operation }: { operation: BulkOperationOut }) {
  return <RedriveBadge state={operation.state} allWent={operation.refused === 0} />;
}

function What({ operation }: { operation: BulkOperationOut }) {
  return (
    <div className="min-w-0">
      <Link href={`/operations/${operation.id}`} className="block truncate font-medium after:absolute after:inset-0">
        {operationTitle(operation)}
      </Link>
      <span className="block truncate text-sm text-muted">
        {operation.reason} · {selectionWords(operation.selection)}
      </span>
    </div>
  );
}

function pace(operation: BulkOperationOut): string {
  if (operation.state !== "RUNNING") return "";
  return operation.stalled ?? paceWords(operation);
}

function None({ filtered, onClear }: { filtered: boolean; onClear: () => void }) {
  if (filtered) {
    return (
      <EmptyState title="No change is in this state" action={<Button onClick={onClear}>Show all changes</Button>}>
        There may be changes in other states.
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No large set was changed yet" action={<LinkButton href="/events">Find events</LinkButton>}>
      A worker does an ignore, release or confirm of more than 2,000 events. It stays here, with its result. Smaller
      ones are in the <Link href="/audit?action=event.ignored">audit</Link>.
    </EmptyState>
  );
}
