"use client";

import { useState } from "react";
import { TextField } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { useDeleteSource } from "@/lib/sources/sources.browser";
import type { SourceOut } from "@/lib/sources/sources.shapes";

/** Deleting a source deletes its targets too, so the person types its name. */
export function DeleteDialog(props: { source: SourceOut; onClose: () => void; onDeleted?: (() => void) | undefined }) {
  const { source, onClose, onDeleted } = props;
  const remove = useDeleteSource();
  const [typed, setTyped] = useState("");
  return (
    <ReasonDialog
      needs="change-source"
      title={<span className="wrap-anywhere">Delete {source.name}?</span>}
      description="Its targets are deleted with it; the audit log is kept. Messages at its broker stay there. A source that has events cannot be deleted: stop it instead."
      size="sm"
      verb="Delete the source"
      variant="danger"
      keep="Keep the source"
      reason="none"
      ready={() => typed.trim() === source.name}
      onClose={onClose}
      onSubmit={async () => {
        await remove.mutateAsync({ id: source.name });
        onDeleted?.();
        return { title: `Deleted ${source.name}` };
      }}
    >
      <TextField
        label={
          <>
            Type <span className="font-mono wrap-anywhere text-ink">{source.name}</span> to confirm
          </>
        }
        inputClassName="font-mono"
        value={typed}
        onValue={setTyped}
      />
    </ReasonDialog>
  );
}
