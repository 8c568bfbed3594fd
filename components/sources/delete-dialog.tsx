"use client";

import { useState } from "react";
import { ActionButton } from "@/components/ui/action-button";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { ErrorPanel } from "@/components/ui/error-panel";
import { Field, Input } from "@/components/ui/input";
import { showToast } from "@/components/ui/toast";
import { useDeleteSource } from "@/lib/browser/sources";
import type { SourceOut } from "@/lib/contract/sources";

/** Deleting a source takes its targets with it, so its name is typed. */
export function DeleteDialog({ source, onClose }: { source: SourceOut; onClose: () => void }) {
  const remove = useDeleteSource();
  const [typed, setTyped] = useState("");
  const submit = async () => {
    try {
      await remove.mutateAsync({ name: source.name });
    } catch {
      return; // shown from remove.error
    }
    onClose();
    void showToast({ title: `Deleted ${source.name}` });
  };
  return (
    <Dialog
      title={`Delete ${source.name}?`}
      description="Its two targets and their settings go with it. A source that still has events cannot be deleted: switch it off instead."
      size="sm"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <ActionButton
            variant="danger"
            busy={remove.isPending}
            disabled={typed.trim() !== source.name}
            onClick={submit}
          >
            Delete the source
          </ActionButton>
        </>
      }
    >
      <div className="grid gap-3">
        {remove.isError ? <ErrorPanel error={remove.error} inline title="This was not done" /> : null}
        <Field
          label={
            <>
              Type <span className="font-mono wrap-anywhere text-ink">{source.name}</span> to confirm
            </>
          }
        >
          {(control) => (
            <Input
              {...control}
              className="font-mono"
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
            />
          )}
        </Field>
      </div>
    </Dialog>
  );
}
