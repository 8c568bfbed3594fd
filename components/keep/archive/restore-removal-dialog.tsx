"use client";

import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { restoreRemoved } from "@/lib/keep/archive/archive.browser";
import { plural } from "@/lib/platform/plain/format.pure";
import { restoredText } from "./archive-words";

/** Restores what one operation has removed. The browser asks for it, a part at a time. */
export function RestoreRemovalDialog({ operation, onClose }: { operation: string; onClose: () => void }) {
  const client = useQueryClient();
  const [restored, setRestored] = useState<number | null>(null);
  return (
    <ReasonDialog
      needs="restore"
      title="Restore all events of this removal?"
      size="sm"
      verb="Restore all"
      reason="none"
      onClose={onClose}
      onSubmit={async () => {
        const answer = await restoreRemoved(client, operation, setRestored);
        const tone = answer.refused.length > 0 ? "error" : answer.restored > 0 ? "success" : "neutral";
        return { ...restoredText(answer), tone };
      }}
    >
      <ul className="list-disc pl-4 text-muted">
        <li>
          All of its events that are in the archive are restored as they were: IGNORED or CONFIRMED. Nothing is sent.
        </li>
        <li>
          Events are restored a few thousand at a time while this tab is open. If you close it, the rest stay in the
          archive.
        </li>
      </ul>
      {restored === null ? null : <p role="status">{plural(restored, "event")} restored so far.</p>}
    </ReasonDialog>
  );
}
