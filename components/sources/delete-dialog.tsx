"use client";

import { useState } from "react";
import { Field, Input } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { useDeleteSource } from "@/lib/browser/sources";
import type { SourceOut } from "@/lib/contract/sources";

/** Deleting a source deletes its targets too, so the person types its name. */
export function DeleteDialog({ source, onClose }: { source: SourceOut; onClose: () => void }) {
  const remove = useDeleteSource();
  const [typed, setTyped] = useState("");
  return (
    <ReasonDialog
      title={`Delete ${source.name}?`}
      description="Its two targets and their settings go with it. A source that still has events cannot be deleted: switch it off instead."
      size="sm"
      verb="Delete the source"
      variant="danger"
      keep="Keep it"
      reason="none"
      ready={() => typed.trim() === source.name}
      onClose={onClose}
      onSubmit={async () => {
        await remove.mutateAsync({ name: source.name });
        return { title: `Deleted ${source.name}` };
      }}
    >
      <Field
        label={
          <>
            Type <span className="font-mono wrap-anywhere text-ink">{source.name}</span> to confirm
          </>
        }
      >
        {(control) => (
          <Input {...control} className="font-mono" value={typed} onChange={(event) => setTyped(event.target.value)} />
        )}
      </Field>
    </ReasonDialog>
  );
}
