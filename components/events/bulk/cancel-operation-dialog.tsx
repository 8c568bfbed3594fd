"use client";

import { ReasonDialog } from "@/components/ui/reason-dialog";
import { useChangeBulkOperation } from "@/lib/events/bulk/bulk-operations.browser";
import type { BulkOperationOut } from "@/lib/events/bulk/bulk-operations.shapes";
import { BULK_ACTION } from "@/lib/guard/viewer/bulk-action.pure";
import { plural } from "@/lib/platform/plain/format.pure";
import { INVERSE } from "@/lib/states/bulk-operation.pure";
import { operationTitle, VERBS } from "./bulk-words";

export function CancelOperationDialog({ operation, onClose }: { operation: BulkOperationOut; onClose: () => void }) {
  const change = useChangeBulkOperation(operation.id);
  const { verb, noun = verb.toLowerCase() } = VERBS[operation.kind];
  return (
    <ReasonDialog
      needs={BULK_ACTION[operation.kind]}
      title={`Cancel this ${noun}?`}
      size="sm"
      verb={`Cancel this ${noun}`}
      variant="danger"
      keep="Keep it running"
      reason="optional"
      stops
      onClose={onClose}
      onSubmit={async (reason) => {
        const ended = await change.mutateAsync({ action: "cancel", ...(reason === "" ? {} : { reason }) });
        return { title: "Cancelled", detail: `${operationTitle(ended)}.` };
      }}
    >
      <ul className="list-disc pl-4 text-muted">
        <li>
          It stops within a second. {plural(operation.changed, "event")} already changed{" "}
          {operation.changed === 1 ? "stays" : "stay"} changed.
        </li>
        {INVERSE[operation.kind] === null ? null : <li>They can be undone on its page afterwards.</li>}
      </ul>
    </ReasonDialog>
  );
}
