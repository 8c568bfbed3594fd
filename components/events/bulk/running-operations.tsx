"use client";

import { useQueryClient } from "@tanstack/react-query";
import Link from "next/link";
import { usePathname, useRouter } from "next/navigation";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { Button } from "@/components/ui/button";
import { lazily } from "@/components/ui/lazily";
import { NotifyChoice } from "@/components/ui/notify-choice";
import { showToast } from "@/components/ui/toast";
import {
  followedOperations,
  runs,
  useBulkOperation,
  useRunningOperations,
} from "@/lib/events/bulk/bulk-operations.browser";
import type { BulkOperationOut } from "@/lib/events/bulk/bulk-operations.shapes";
import { BULK_ACTION } from "@/lib/guard/viewer/bulk-action.pure";
import { archiveHref } from "@/lib/keep/archive/archive.browser";
import { useStatus } from "@/lib/observe/health/status.browser";
import { invalidateAfter } from "@/lib/platform/browser/keys.browser";
import { notify, useNotices } from "@/lib/platform/browser/notices.browser";
import { useVisible } from "@/lib/platform/browser/visible.browser";
import { formatNumber } from "@/lib/platform/plain/format.pure";
import { isRemoval } from "@/lib/states/bulk-operation.pure";
import { awaitsApproval, changedText, operationTitle, paceWords, shareWords } from "./bulk-words";
import { OperationBar } from "./operation-bar";
import { changedToast } from "./say-changed";

const CancelDialog = lazily(() => import("./cancel-operation-dialog"), "CancelOperationDialog");

/** The running bulk operations with their progress, below every page. A toast shows an end. */
export function RunningOperations() {
  const status = useStatus();
  const followed = followedOperations.useIds();
  const notices = useNotices();
  const some = followed.length > 0 || (status.data?.operationsRunning ?? 0) > 0;
  const { data } = useRunningOperations(some);
  const [cancelling, setCancelling] = useState<BulkOperationOut | null>(null);
  const running = some ? (data?.items.filter(runs) ?? []) : [];
  return (
    <>
      {running.length === 0 ? null : (
        <section aria-label="Running bulk changes">
          <ul className="grid border-t border-line-strong bg-raised">
            {running.map((operation) => (
              <Running key={operation.id} operation={operation} onCancel={() => setCancelling(operation)}>
                {followed[0] === operation.id ? <NotifyChoice notices={notices} /> : null}
              </Running>
            ))}
          </ul>
        </section>
      )}
      {followed.map((id) => (
        <End key={id} id={id} tells={notices.state === "on"} />
      ))}
      {cancelling ? <CancelDialog operation={cancelling} onClose={() => setCancelling(null)} /> : null}
    </>
  );
}

function Running(props: { operation: BulkOperationOut; onCancel: () => void; children: ReactNode }) {
  const { operation, onCancel, children } = props;
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
        {operation.stalled ?? (awaitsApproval(operation) ? "nothing changes until then" : paceWords(operation))}
      </span>
      <span className="ml-auto flex items-center gap-2">
        {children}
        <Button needs={BULK_ACTION[operation.kind]} size="sm" onClick={onCancel}>
          Cancel…
        </Button>
      </span>
    </li>
  );
}

/**
 * Shows the end of an operation in a toast with Undo, that of a removal with the way to the archive. After a cancel the
 * person has seen an answer already.
 */
function End({ id, tells }: { id: string; tells: boolean }) {
  const client = useQueryClient();
  const router = useRouter();
  const pathname = usePathname();
  const { data, error } = useBulkOperation(id, { inBackground: tells });
  // Another store answers at this address now.
  const unknown = error?.code === "unknown-operation";
  useEffect(() => {
    if (unknown) followedOperations.unfollow([id]);
  }, [unknown, id]);
  const visible = useVisible();
  const notified = useRef(false);
  const said = useRef(false);
  useEffect(() => {
    if (!data || runs(data) || said.current) return;
    const { kind, state, changed, refusedByReason: refused } = data;
    const { title, detail: body = "" } = changedText(kind, { changed, refused });
    const taken = state === "CANCELLED";
    if (tells && !taken && !notified.current) notify({ title, body, tag: id, href: `/operations/${id}` });
    notified.current = true;
    // The toast has Undo: it is said where a person sees it.
    if (!visible) return;
    said.current = true;
    followedOperations.unfollow([id]);
    void invalidateAfter(client, "events");
    // The page of a mend says how it ended.
    if (taken || (kind === "mend" && pathname === "/mend")) return;
    const select = changed === 0 ? null : { operation: id };
    const archived = isRemoval(kind) && changed > 0;
    const toArchive = { label: "Archive", onSelect: () => router.push(archiveHref({ operation: id })) };
    void showToast({
      ...changedToast(client, kind, { state, changed, refused, underWay: 0, select }),
      ...(archived ? { action: toArchive } : {}),
      id,
    });
  }, [client, data, id, pathname, router, tells, visible]);
  return null;
}
