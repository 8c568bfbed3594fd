"use client";

import { useQueryClient } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useRouter } from "next/navigation";
import { useEffect, useRef, useState } from "react";
import { whyNotRedrive } from "@/components/events/action-rules";
import { redriveOne } from "@/components/redrives/one-click/one-click";
import { ActionButton } from "@/components/ui/action-button";
import { IconButton } from "@/components/ui/button";
import { Shape } from "@/components/ui/shape";
import { useNow } from "@/lib/browser/clock-zone";
import type { EventDetail } from "@/lib/contract/events";

/** After an edit: the event can be verified or redriven at once. */
export function SavedRevision({
  event,
  revision,
  onClose,
}: {
  event: EventDetail;
  revision: number;
  onClose: () => void;
}) {
  const client = useQueryClient();
  const router = useRouter();
  const now = useNow();
  const [busy, setBusy] = useState(false);
  const bar = useRef<HTMLDivElement>(null);
  // The editor that had the focus is gone.
  useEffect(() => bar.current?.focus(), []);
  const refusal = whyNotRedrive(event, now);
  const taken = event.status === "QUEUED" || event.status === "REDRIVEN";
  const next = taken ? refusal : event.revision === revision ? "It is what the next redrive sends." : null;
  const send = async (mode: "deliver" | "verify") => {
    if (busy) return;
    setBusy(true);
    await redriveOne(client, event, mode, (href) => router.push(href));
    setBusy(false);
  };
  return (
    <div
      ref={bar}
      tabIndex={-1}
      role="status"
      className="flex flex-wrap items-center gap-x-3 gap-y-1.5 border-b border-l-3 border-line border-l-ok bg-surface px-3 py-1.5"
    >
      <Shape name="check" className="text-ok" />
      <span>
        Saved as revision {revision}. {next}
      </span>
      <span className="ml-auto flex items-center gap-1.5">
        {taken ? null : (
          <>
            <ActionButton size="sm" aria-disabled={busy} onClick={() => void send("verify")}>
              Verify this
            </ActionButton>
            <ActionButton
              size="sm"
              variant="primary"
              aria-disabled={refusal !== null || busy}
              data-tip={refusal ?? undefined}
              className="aria-disabled:pointer-events-auto"
              onClick={() => (refusal === null ? void send("deliver") : undefined)}
            >
              Redrive this
            </ActionButton>
          </>
        )}
        <IconButton size="sm" label="Close" onClick={onClose}>
          <X size={13} aria-hidden />
        </IconButton>
      </span>
    </div>
  );
}
