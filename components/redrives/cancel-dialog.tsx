"use client";

import { useState } from "react";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { ErrorPanel } from "@/components/ui/error-panel";
import { Field, Textarea } from "@/components/ui/input";
import { showToast } from "@/components/ui/toast";
import { underWayWords } from "@/components/ui/under-way-words";
import { formatNumber, plural } from "@/lib/browser/format";
import { type RedriveChanged, useChangeRedrive } from "@/lib/browser/redrives";
import type { RedriveOut } from "@/lib/contract/redrives";

/** Cancelling cannot be undone, so it says what becomes of what is open and of what is sent. */
export function CancelDialog({ redrive, onClose }: { redrive: RedriveOut; onClose: () => void }) {
  const change = useChangeRedrive(redrive.id);
  const [reason, setReason] = useState("");
  const cancel = async () => {
    const text = reason.trim();
    let changed: RedriveChanged;
    try {
      changed = await change.mutateAsync({ action: "cancel", ...(text === "" ? {} : { reason: text }) });
    } catch {
      return; // shown from change.error
    }
    onClose();
    const detail = ["What was open is parked again.", underWayWords(changed.underWay)].filter(Boolean).join(" ");
    void showToast({ title: "Redrive cancelled", detail });
  };
  return (
    <Dialog
      title="Cancel this redrive?"
      size="sm"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Keep it running</Button>
          <Button variant="danger" busy={change.isPending} onClick={cancel}>
            Cancel {plural(redrive.open, "open event")}
          </Button>
        </>
      }
    >
      <div className="grid gap-3">
        {change.isError ? <ErrorPanel error={change.error} inline title="This was not done" /> : null}
        <ul className="list-disc pl-4 text-muted">
          <li>
            {redrive.open === 1
              ? "1 event that is still open goes"
              : `${formatNumber(redrive.open)} events that are still open go`}{" "}
            back to PENDING.
          </li>
          <li>
            {redrive.delivered === 1
              ? "1 already delivered stays"
              : `${formatNumber(redrive.delivered)} already delivered stay`}{" "}
            delivered.
          </li>
          <li>A cancelled redrive cannot be resumed; start another one for the rest.</li>
        </ul>
        <Field label="Reason" optional>
          {(control) => (
            <Textarea
              {...control}
              rows={2}
              maxLength={2_000}
              value={reason}
              onChange={(event) => setReason(event.target.value)}
            />
          )}
        </Field>
      </div>
    </Dialog>
  );
}
