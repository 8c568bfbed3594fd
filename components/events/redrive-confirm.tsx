"use client";

import { ActionButton } from "@/components/ui/action-button";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { useStaleReason } from "@/lib/platform/browser/freshness.browser";
import { shortenId } from "@/lib/platform/plain/format.pure";
import { HOLD_MS } from "@/lib/redrive/request/holds.browser";

/** Opened by the key `r` for one event: the key alone sends nothing; Enter or a click sends. */
export function RedriveConfirm(props: {
  event: { eventId: string; errorCode: string };
  /** The reason why the redrive would be refused at once; null when none is known. */
  refusal: string | null;
  onConfirm: () => void;
  onClose: () => void;
}) {
  const { event, refusal, onConfirm, onClose } = props;
  const stale = useStaleReason();
  const confirm = () => {
    if (refusal !== null || stale !== null) return;
    onClose();
    onConfirm();
  };
  return (
    <Dialog
      title={`Redrive ${shortenId(event.eventId, 12, 6)}?`}
      description={
        refusal ??
        `It failed with ${event.errorCode}. It is sent once, on the slow lane, after ${HOLD_MS / 1_000} seconds; until then it can be undone.`
      }
      size="sm"
      onClose={onClose}
      onEnter={confirm}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <ActionButton
            needs="redrive"
            variant="primary"
            disabled={refusal !== null}
            onClick={confirm}
            data-tip="Enter"
          >
            Redrive
          </ActionButton>
        </>
      }
    />
  );
}
