"use client";

import { useQueryClient } from "@tanstack/react-query";
import Link from "next/link";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { lastRedrive } from "@/components/events/action-rules";
import { ActionButton } from "@/components/ui/action-button";
import { ErrorPanel } from "@/components/ui/error-panel";
import { ReasonField } from "@/components/ui/reason-field";
import { invalidateAfter } from "@/lib/browser/keys";
import { saveRevision } from "@/lib/browser/revisions";
import type { EventDetail } from "@/lib/contract/events";
import { formatNumber, shortenId } from "@/lib/core/format";
import { ContentDiff } from "./content-diff";
import { changesOf, type Draft, forgetDraft } from "./edit-draft";
import { sameBytes, toBase64 } from "./exact-text";

/** What changes, and the reason that the audit keeps. */
export function EditReview({
  event,
  draft,
  onSaved,
  children,
}: {
  event: EventDetail;
  draft: Draft;
  onSaved: (revision: number) => void;
  /** What stands against saving it. */
  children: ReactNode;
}) {
  const client = useQueryClient();
  const [reason, setReason] = useState("");
  const [pressed, setPressed] = useState(false);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<{ base: number; error: unknown } | null>(null);
  // Whoever has chosen another base has answered the refusal.
  const error = failure?.base === draft.base ? failure.error : null;
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const missing = reason.trim() === "";
  const redriveId = lastRedrive(event);
  const unchanged = sameBytes(draft.was.payload, draft.now.payload);

  const save = async () => {
    setPressed(true);
    if (missing || busy) return field.current?.focus();
    setBusy(true);
    setFailure(null);
    try {
      const saved = await saveRevision(client, event.id, { ...editOf(draft), reason: reason.trim() });
      forgetDraft(event.id);
      onSaved(saved.revision);
    } catch (error) {
      setFailure({ base: draft.base, error });
      setBusy(false);
      // Another revision, or a redrive that has the event: the page shows it, with the way out.
      void invalidateAfter(client, "events");
    }
  };
  return (
    <form
      className="grid content-start gap-3 p-3 lg:overflow-y-auto"
      onSubmit={(submitted) => {
        submitted.preventDefault();
        void save();
      }}
    >
      <ContentDiff before={draft.was} after={draft.now} names={[`revision ${draft.base}`, "the new revision"]} />
      {/* Beside the button: on a phone the top of the page is out of view. */}
      {error ? (
        <ErrorPanel error={error} inline title="This was not saved">
          <p className="text-muted">What you typed is kept.</p>
          {event.status === "QUEUED" && redriveId !== null ? (
            <Link href={`/redrives/${redriveId}`} prefetch={false} className="text-accent hover:underline">
              Its redrive {shortenId(redriveId)}
            </Link>
          ) : null}
        </ErrorPanel>
      ) : null}
      {children}
      <div className="grid gap-2 sm:max-w-160">
        <ReasonField
          ref={field}
          hint="Kept in the audit for ever."
          missing={pressed && missing}
          value={reason}
          onChange={setReason}
          onSubmit={() => void save()}
        />
        <div className="flex flex-wrap items-center gap-3">
          <ActionButton variant="primary" type="submit" busy={busy}>
            Save as a new revision
          </ActionButton>
          <span className="text-sm text-faint">
            {unchanged
              ? "The payload stays as it is."
              : `${formatNumber(draft.was.payload.length)} → ${formatNumber(draft.now.payload.length)} bytes.`}{" "}
            Nothing is sent.
          </span>
        </div>
      </div>
    </form>
  );
}

/** The request that saves the draft: parts that did not change are left out. */
function editOf(draft: Draft) {
  const { payload, contentType, headers } = changesOf(draft);
  return {
    base: draft.base,
    ...(payload ? { base64: toBase64(draft.now.payload) } : {}),
    ...(contentType ? { contentType: draft.now.contentType.trim() } : {}),
    ...(headers ? { headers: draft.now.headers } : {}),
  };
}
