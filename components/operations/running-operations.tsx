"use client";

import { useQueryClient } from "@tanstack/react-query";
import Link from "next/link";
import { useEffect, useRef, useState } from "react";
import { Button } from "@/components/ui/button";
import { lazily } from "@/components/ui/lazily";
import { showToast } from "@/components/ui/toast";
import { readBulkOperation, runs, useRunningOperations } from "@/lib/browser/bulk-operations";
import { formatNumber } from "@/lib/browser/format";
import { invalidateAfter } from "@/lib/browser/keys";
import { useStatus } from "@/lib/browser/status";
import type { BulkOperationOut } from "@/lib/contract/bulk-operations";
import { operationTitle, paceWords, shareWords } from "./bulk-words";
import { OperationBar } from "./operation-bar";
import { changedToast } from "./say-changed";

const CancelDialog = lazily(() =>
  import("./cancel-operation-dialog").then(({ CancelOperationDialog }) => CancelOperationDialog),
);

/** The bulk operations that run now, below every page, each with its progress; says how each of them ended. */
export function RunningOperations() {
  const status = useStatus();
  const { data } = useRunningOperations((status.data?.operationsRunning ?? 0) > 0);
  const [cancelling, setCancelling] = useState<BulkOperationOut | null>(null);
  const running = data?.items.filter(runs) ?? [];
  useEnds(running.map(({ id }) => id).join(" "));
  return (
    <>
      {running.length === 0 ? null : (
        <ul aria-label="Running operations" className="grid border-t border-line-strong bg-raised">
          {running.map((operation) => (
            <li key={operation.id} className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-1.5">
              <Link
                href={`/operations/${operation.id}`}
                prefetch={false}
                className="truncate font-medium hover:underline"
              >
                {operationTitle(operation)}
              </Link>
              <OperationBar
                operation={operation}
                className="order-last basis-full sm:order-none sm:min-w-24 sm:flex-1"
              />
              <span className="font-mono text-sm whitespace-nowrap">
                {formatNumber(operation.changed + operation.refused)}
                <span className="text-muted"> · {shareWords(operation)}</span>
              </span>
              <span className={`text-sm ${operation.stalled ? "text-warning" : "text-muted"}`}>
                {operation.stalled ?? paceWords(operation)}
              </span>
              <Button size="sm" className="ml-auto" onClick={() => setCancelling(operation)}>
                Cancel…
              </Button>
            </li>
          ))}
        </ul>
      )}
      {cancelling ? <CancelDialog operation={cancelling} onClose={() => setCancelling(null)} /> : null}
    </>
  );
}

/** Says how an operation ended that was seen running, and has the pages read again what it changed. */
function useEnds(running: string): void {
  const client = useQueryClient();
  const seen = useRef(new Set<string>());
  useEffect(() => {
    const now = new Set(running.split(" ").filter(Boolean));
    const ended = [...seen.current].filter((id) => !now.has(id));
    seen.current = now;
    for (const id of ended) {
      readBulkOperation(id)
        .then((operation) => {
          // It was not listed for another reason: it is looked at again.
          if (runs(operation)) return void seen.current.add(id);
          void invalidateAfter(client, "events");
          // Who cancelled it has had an answer.
          if (operation.state === "CANCELLED") return;
          const { kind, state, changed, refusedByReason: refused } = operation;
          const select = changed === 0 ? null : { operation: id };
          void showToast(changedToast(client, kind, { state, changed, refused, underWay: 0, select }));
        })
        // The next look may have an answer.
        .catch(() => seen.current.add(id));
    }
  }, [client, running]);
}
