"use client";

import { useQueryClient } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useRouter } from "next/navigation";
import { useEffect, useRef, useState } from "react";
import { whyNotRedrive } from "@/components/events/action-rules";
import { redriveOne } from "@/components/redrive/one-click/one-click";
import { ActionButton } from "@/components/ui/action-button";
import { IconButton } from "@/components/ui/button";
import { Shape } from "@/components/ui/shape";
import type { EventDetail } from "@/lib/events/events.shapes";
import { useNow } from "@/lib/platform/browser/clock-zone.browser";
import type { EditedAnswer, PayloadProblem } from "@/lib/repair/revisions/revisions.shapes";

/** After an edit: the event can be verified or redriven at once, or edited again when no redrive would send it. */
export function SavedRevision({
  event,
  saved: { revision, problems },
  onEdit,
  onClose,
}: {
  event: EventDetail;
  saved: EditedAnswer;
  onEdit: () => void;
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
  const broken = problems.length > 0;
  const next = taken ? refusal : event.revision === revision ? nextWords(problems) : null;
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
      className={`flex flex-wrap items-center gap-x-3 gap-y-1.5 border-b border-l-3 border-line bg-surface px-3 py-1.5 ${broken ? "border-l-warning" : "border-l-ok"}`}
    >
      <Shape name={broken ? "triangle" : "check"} className={broken ? "text-warning" : "text-ok"} />
      <span className="min-w-0 wrap-anywhere">
        Saved as revision {revision}. {next}
      </span>
      <span className="ml-auto flex items-center gap-1.5">
        {taken ? null : (
          <>
            <ActionButton needs="redrive" size="sm" aria-disabled={busy} onClick={() => void send("verify")}>
              Verify revision
            </ActionButton>
            {broken ? (
              <ActionButton needs="edit" size="sm" variant="primary" onClick={onEdit}>
                Edit again
              </ActionButton>
            ) : (
              <ActionButton
                needs="redrive"
                size="sm"
                variant="primary"
                refusal={refusal}
                aria-disabled={busy}
                onClick={() => void send("deliver")}
              >
                Redrive revision
              </ActionButton>
            )}
          </>
        )}
        <IconButton size="sm" label="Close" onClick={onClose}>
          <X size={13} aria-hidden />
        </IconButton>
      </span>
    </div>
  );
}

function nextWords(problems: readonly PayloadProblem[]): string {
  if (problems.length === 0) return "The next redrive sends it.";
  return `It cannot be sent: ${problems.map(({ detail }) => detail).join("; ")}.`;
}
