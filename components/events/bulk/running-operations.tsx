"use client";

import { useQueryClient } from "@tanstack/react-query";
import Link from "next/link";
import { useRouter } from "next/navigation";
import { useEffect, useRef, useState } from "react";
import { Button } from "@/components/ui/button";
import { lazily } from "@/components/ui/lazily";
import { showToast } from "@/components/ui/toast";
import { isRemoval } from "@/lib/events/bulk/bulk-operation.pure";
import {
  runs,
  useBulkOperation,
  useFollowedOperations,
  useRunningOperations,
} from "@/lib/events/bulk/bulk-operations.browser";
import type { BulkOperationOut } from "@/lib/events/bulk/bulk-operations.shapes";
import { archiveHref } from "@/lib/keep/archive/archive.browser";
import { useStatus } from "@/lib/observe/health/status.browser";
import { invalidateAfter } from "@/lib/platform/browser/keys.browser";
import { formatNumber } from "@/lib/platform/plain/format.pure";
import { operationTitle, paceWords, shareWords } from "./bulk-words";
import { OperationBar } from "./operation-bar";
import { changedToast } from "./say-changed";

const CancelDialog = lazily(() => import("./cancel-operation-dialog"), "CancelOperationDialog");

/** The running bulk operations with their progress, below every page. A toast shows an end. */
export function RunningOperations() {
  const status = useStatus();
  const [followed, unfollow] = useFollowedOperations();
  const some = followed.length > 0 || (status.data?.operationsRunning ?? 0) > 0;
  const { data } = useRunningOperations(some);
  const [cancelling, setCancelling] = useState<BulkOperationOut | null>(null);
  const running = some ? (data?.items.filter(runs) ?? []) : [];
  return (
    <>
      {running.length === 0 ? null : (
        <section aria-label="Running operations">
          <ul className="grid border-t border-line-strong bg-raised">
            {running.map((operation) => (
              <Running key={operation.id} operation={operation} onCancel={() => setCancelling(operation)} />
            ))}
          </ul>
        </section>
      )}
      {followed.map((id) => (
        <End key={id} id={id} onEnd={unfollow} />
      ))}
      {cancelling ? <CancelDialog operation={cancelling} onClose={() => setCancelling(null)} /> : null}
    </>
  );
}

function Running({ operation, onCancel }: { operation: BulkOperationOut; onCancel: () => void }) {
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-1.5">
      <Link href={`/operations/${operation.id}`} prefetch={false} className="truncate font-medium hover:underline">
        {operationTitle(operation)}
      </Link>
      <OperationBar operation={operation} className="order-last basis-full sm:order-none sm:min-w-24 sm:flex-1" />
      <span className="font-mono text-sm whitespace-nowrap">
        {formatNumber(operation.changed + operation.refused)}
        <span className="text-muted"> · {shareWords(operation)}</span>
      </span>
      <span className={`text-sm ${operation.stalled ? "text-warning" : "text-muted"}`}>
        {operation.stalled ?? paceWords(operation)}
      </span>
      <Button size="sm" className="ml-auto" onClick={onCancel}>
        Cancel…
      </Button>
    </li>
  );
}

/**
 * Shows the end of an operation in a toast with Undo, that of a removal with the way to the archive. After a cancel the
 * person has seen an answer already.
 */
function End({ id, onEnd }: { id: string; onEnd: (id: string) => void }) {
  const client = useQueryClient();
  const router = useRouter();
  const { data } = useBulkOperation(id);
  const said = useRef(false);
  useEffect(() => {
    if (!data || runs(data) || said.current) return;
    said.current = true;
    onEnd(id);
    void invalidateAfter(client, "events");
    if (data.state === "CANCELLED") return;
    const { kind, state, changed, refusedByReason: refused } = data;
    const select = changed === 0 ? null : { operation: id };
    const archived = isRemoval(kind) && changed > 0;
    const toArchive = { label: "Archive", onSelect: () => router.push(archiveHref({ operation: id })) };
    void showToast({
      ...changedToast(client, kind, { state, changed, refused, underWay: 0, select }),
      ...(archived ? { action: toArchive } : {}),
      id,
    });
  }, [client, data, id, onEnd, router]);
  return null;
}
