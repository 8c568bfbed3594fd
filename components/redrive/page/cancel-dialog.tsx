"use client";

import { ReasonDialog } from "@/components/ui/reason-dialog";
import { underWayWords } from "@/components/ui/under-way-words";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";
import { useChangeRedrive } from "@/lib/redrive/redrives.browser";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";

/** A cancel cannot be undone, so the dialog says what happens to the open and to the sent events. */
export function CancelDialog({ redrive, onClose }: { redrive: RedriveOut; onClose: () => void }) {
  const change = useChangeRedrive(redrive.id);
  return (
    <ReasonDialog
      needs="redrive"
      title="Cancel this redrive?"
      size="sm"
      verb={`Cancel ${plural(redrive.open, "open event")}`}
      variant="danger"
      keep="Keep it running"
      reason="optional"
      stops
      onClose={onClose}
      onSubmit={async (reason) => {
        const { underWay } = await change.mutateAsync({ action: "cancel", ...(reason === "" ? {} : { reason }) });
        const detail = ["Open events are parked again.", underWayWords(underWay)].filter(Boolean).join(" ");
        return { title: "Redrive cancelled", detail };
      }}
    >
      <ul className="list-disc pl-4 text-muted">
        <li>
          {redrive.open === 1
            ? "1 event that is still open returns"
            : `${formatNumber(redrive.open)} events that are still open return`}{" "}
          to PENDING.
        </li>
        <li>
          {redrive.delivered === 1
            ? "1 delivered event is not recalled."
            : `${formatNumber(redrive.delivered)} delivered events are not recalled.`}
        </li>
        <li>A cancelled redrive cannot be resumed; start another one for the rest.</li>
      </ul>
    </ReasonDialog>
  );
}
