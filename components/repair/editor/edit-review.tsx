"use client";

import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, type Ref, useEffect, useRef, useState } from "react";
import { lastRedrive } from "@/components/events/action-rules";
import { ActionButton } from "@/components/ui/action-button";
import { ErrorPanel } from "@/components/ui/error-panel";
import { ReasonField } from "@/components/ui/reason-field";
import { Shape } from "@/components/ui/shape";
import { TextLink } from "@/components/ui/text-link";
import type { EventDetail } from "@/lib/events/events.shapes";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { invalidateAfter } from "@/lib/platform/browser/keys.browser";
import { formatNumber, plural, shortenId } from "@/lib/platform/plain/format.pure";
import { saveRevision } from "@/lib/repair/revisions/revisions.browser";
import type { EditedAnswer } from "@/lib/repair/revisions/revisions.shapes";
import { ContentDiff } from "./content-diff";
import { changesOf, type Draft, languageOf } from "./edit-draft";
import { exactText, sameBytes, toBase64 } from "./exact-text";
import { CHECKED_CHARS_MAX, readJson } from "./json-places";
import { askSchema } from "./payload-editor";

/** What changes, and the reason that the audit keeps. */
export function EditReview(props: {
  event: EventDetail;
  draft: Draft;
  onSaved: (saved: EditedAnswer) => void;
  /** What stands against saving it. */
  children: ReactNode;
}) {
  const { event, draft, onSaved, children } = props;
  const { reason, setReason, missing, pressed, busy, error, problems, accepted, setAccepted, field, choice, save } =
    useSave(event, draft, onSaved);
  const redriveId = lastRedrive(event);
  const unchanged = sameBytes(draft.was.payload, draft.now.payload);
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
            <TextLink href={`/redrives/${redriveId}`}>Open redrive {shortenId(redriveId)}</TextLink>
          ) : null}
        </ErrorPanel>
      ) : null}
      {children}
      <div className="grid gap-2 sm:max-w-160">
        <ReasonField
          ref={field}
          hint="Recorded in the audit log."
          missing={pressed && missing}
          value={reason}
          onChange={setReason}
        />
        {problems.length > 0 ? (
          <Problems problems={problems} accepted={accepted} onAccept={setAccepted} choice={choice} />
        ) : null}
        <div className="flex flex-wrap items-center gap-3">
          <ActionButton
            needs="edit"
            variant={problems.length > 0 ? "danger" : "primary"}
            type="submit"
            busy={busy}
            disabled={problems.length > 0 && !accepted}
          >
            {problems.length > 0 ? `Save with ${plural(problems.length, "problem")}` : "Save as a new revision"}
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

/** The reason, the choice to save a payload with problems, and the save. */
function useSave(event: EventDetail, draft: Draft, onSaved: (saved: EditedAnswer) => void) {
  const client = useQueryClient();
  const [reason, setReason] = useState("");
  const [pressed, setPressed] = useState(false);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<{ base: number; error: unknown } | null>(null);
  const [accepted, setAccepted] = useState(false);
  const found = useProblems(event, draft);
  // Whoever has chosen another base has answered the refusal.
  const refused = failure?.base === draft.base ? failure.error : null;
  // The server also checks what is too long to be checked here, and its refusal is answered by the same choice.
  const broken = refused instanceof ApiError && refused.code === "payload-broken" ? refused : null;
  const problems = found.length > 0 ? found : (broken?.fields ?? []).map(({ detail }) => detail);
  const field = useRef<HTMLTextAreaElement>(null);
  const choice = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const missing = reason.trim() === "";

  const save = async () => {
    setPressed(true);
    if (missing || busy) return field.current?.focus();
    if (problems.length > 0 && !accepted) return choice.current?.focus();
    setBusy(true);
    setFailure(null);
    try {
      const breaking = problems.length > 0 ? { breaking: true } : {};
      onSaved(await saveRevision(client, event.id, { ...editOf(draft), ...breaking, reason: reason.trim() }));
    } catch (error) {
      setFailure({ base: draft.base, error });
      setBusy(false);
      // Another revision, or a redrive that has the event: the page shows it, with the way out.
      void invalidateAfter(client, "events");
    }
  };
  const error = broken === null ? refused : null;
  return { reason, setReason, missing, pressed, busy, error, problems, accepted, setAccepted, field, choice, save };
}

/** The problems of the payload that would be saved, and the choice to save it with them. */
function Problems(props: {
  problems: string[];
  accepted: boolean;
  onAccept: (accepted: boolean) => void;
  choice: Ref<HTMLInputElement>;
}) {
  const { problems, accepted, onAccept, choice } = props;
  const count = plural(problems.length, "problem");
  return (
    <div className="grid gap-1 rounded-md border border-l-2 border-danger px-3 py-2">
      <p role="alert" className="font-medium">
        The payload has {count}
      </p>
      <ul aria-label="Problems" className="grid gap-0.5">
        {problems.map((problem) => (
          <li key={problem} className="flex items-baseline gap-1.5">
            <Shape name="cross" className="shrink-0 self-center text-danger" />
            <span className="wrap-anywhere">{problem}</span>
          </li>
        ))}
      </ul>
      <label className="flex min-h-6 items-center gap-2">
        <input
          ref={choice}
          type="checkbox"
          checked={accepted}
          onChange={(change) => onAccept(change.target.checked)}
          className="size-3.5"
        />
        Save anyway, with {count}
      </label>
    </div>
  );
}

/** The errors of the payload in the draft. Empty while it is checked: the server refuses to save what is broken. */
function useProblems({ source, eventType }: EventDetail, draft: Draft): string[] {
  const [problems, setProblems] = useState<string[]>([]);
  const { was, now } = draft;
  useEffect(() => {
    let current = true;
    setProblems([]);
    const changed = changesOf({ base: 0, was, now });
    const text = exactText(now.payload)?.text ?? null;
    if (!(changed.payload || changed.contentType) || text === null) return;
    if (languageOf(now) !== "json" || text.length > CHECKED_CHARS_MAX) return;
    const syntax = readJson(text).problems.filter(({ severity }) => severity === "error");
    const lineOf = (from: number) => text.slice(0, from).split("\n").length;
    const named = syntax.map(({ from, message }) => `line ${lineOf(from)}: ${message}`);
    if (named.length > 0) return setProblems([...new Set(named)]);
    void askSchema({ source, eventType, text }, () => undefined).then((found) => {
      if (current) setProblems(found.map(({ pointer, message }) => `${pointer} ${message}`.trim()));
    });
    return () => {
      current = false;
    };
  }, [source, eventType, was, now]);
  return problems;
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
