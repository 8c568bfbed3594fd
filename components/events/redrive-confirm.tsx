"use client";

import { ActionButton } from "@/components/ui/action-button";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { shortenId } from "@/lib/browser/format";

/** What the key `r` opens for one event: the key alone sends nothing, Enter or a click does. */
export function RedriveConfirm({
  event,
  refusal,
  onConfirm,
  onClose,
}: {
  event: { eventId: string; errorCode: string };
  /** Why it would be refused at once; null when it would go, or when only the server knows. */
  refusal: string | null;
  onConfirm: () => void;
  onClose: () => void;
}) {
  const confirm = () => {
    if (refusal !== null) return;
    onClose();
    onConfirm();
  };
  return (
    <Dialog
      title={`Redrive ${shortenId(event.eventId, 12, 6)}?`}
      description={refusal ?? `It failed with ${event.errorCode}. It is sent on the slow lane.`}
      size="sm"
      onClose={onClose}
      onEnter={confirm}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <ActionButton variant="primary" disabled={refusal !== null} onClick={confirm} data-tip="Enter">
            Redrive
          </ActionButton>
        </>
      }
    />
  );
}
