"use client";

import { useQueryClient } from "@tanstack/react-query";
import { type ComponentProps, type ReactNode, useCallback, useEffect, useId, useMemo, useRef, useState } from "react";
import { ActionButton } from "@/components/ui/action-button";
import { Button } from "@/components/ui/button";
import { ErrorPanel } from "@/components/ui/error-panel";
import { Field, Input, Textarea } from "@/components/ui/input";
import { Shape } from "@/components/ui/shape";
import { Tabs } from "@/components/ui/tabs";
import { TimeAgo } from "@/components/ui/time-ago";
import { showToast } from "@/components/ui/toast";
import { useHotkeys } from "@/lib/browser/hotkeys";
import { checkPayload, saveRevision } from "@/lib/browser/revisions";
import { ApiError } from "@/lib/contract/api-error";
import type { EventDetail } from "@/lib/contract/events";
import { formatBytes, formatNumber, plural } from "@/lib/core/format";
import { CodeEditor, type CodeEditorHandle, EditorKeys } from "./code-editor";
import { ContentDiff } from "./content-diff";
import {
  type Content,
  changesOf,
  contentOf,
  type Draft,
  EDIT_BYTES_MAX,
  faultOf,
  forgetDraft,
  isChanged,
  keepDraft,
  keptDraft,
  languageOf,
} from "./edit-draft";
import { exactBytes, exactText, sameBytes, toBase64 } from "./exact-text";
import { HeadersEditor } from "./headers-editor";
import { HexEditor } from "./hex-editor";
import type { PlacedProblem, PointedProblem } from "./json-places";

/** The time without a change before the unsaved edit is stored. */
const KEEP_AFTER_MS = 400;

/** The answer of the schema: its problems, or why it could not be asked. */
type SchemaSays = { words: string; failed: boolean } | null;

/** The editor of one event: its payload, headers and content type, what changes, and a reason. */
export function EventEditor({
  event,
  onClose,
  onSaved,
}: {
  event: EventDetail;
  onClose: () => void;
  onSaved: (revision: number) => void;
}) {
  const kept = useMemo(() => keptDraft(event.id), [event.id]);
  const [restoredAtMs, setRestoredAtMs] = useState(kept?.atMs ?? null);
  const [draft, setDraft] = useState<Draft>(
    () => kept?.draft ?? { base: event.revision, was: contentOf(event), now: contentOf(event) },
  );
  // A change of the whole content from outside of the fields makes them anew.
  const [generation, setGeneration] = useState(0);
  const [reviewing, setReviewing] = useState(false);
  const dirty = isChanged(draft);
  useKeptDraft(event.id, draft, dirty);

  const replace = (next: Draft) => {
    setDraft(next);
    setGeneration((count) => count + 1);
  };
  const discard = () => {
    const before = draft;
    forgetDraft(event.id);
    setRestoredAtMs(null);
    replace({ base: event.revision, was: contentOf(event), now: contentOf(event) });
    void showToast({
      title: "Your changes were discarded",
      action: { label: "Undo", onSelect: () => replace(before) },
    });
  };
  const ready = dirty && faultOf(draft.now) === null;
  const review = () => {
    if (ready) setReviewing(true);
  };
  useHotkeys({ "mod+enter": review, escape: () => (reviewing ? setReviewing(false) : onClose()) });

  const stale = event.revision !== draft.base;
  return (
    <section aria-label="Editor" className="flex min-h-0 flex-1 flex-col">
      <header className="flex shrink-0 flex-wrap items-center gap-x-3 gap-y-1.5 border-b border-line px-3 py-1.5">
        <h2 className="font-medium">{reviewing ? "What will change" : `Edit revision ${draft.base}`}</h2>
        <span role="status" className={dirty ? "text-warning" : "text-faint"}>
          {dirty ? "not saved" : "nothing changed"}
        </span>
        <div className="ml-auto flex flex-wrap gap-1.5">
          {reviewing ? <Button onClick={() => setReviewing(false)}>Go on editing</Button> : null}
          {dirty && !reviewing ? <Button onClick={discard}>Discard</Button> : null}
          <Button
            onClick={onClose}
            data-tip={dirty ? "Your changes stay in this tab until you save or discard them" : undefined}
          >
            Close
          </Button>
          {reviewing ? null : (
            <ActionButton
              variant="primary"
              disabled={!ready}
              data-tip={faultOf(draft.now) ?? "Shows what changes before anything is saved  Ctrl Enter"}
              onClick={review}
            >
              Review…
            </ActionButton>
          )}
        </div>
      </header>
      {restoredAtMs !== null && dirty ? (
        <Notice>
          Your unsaved changes of <TimeAgo at={new Date(restoredAtMs).toISOString()} /> are back.
        </Notice>
      ) : null}
      {stale ? <StaleBase event={event} draft={draft} onRebase={replace} onTheirs={discard} /> : null}
      {reviewing ? (
        <Review event={event} draft={draft} onSaved={onSaved} />
      ) : (
        <Fields
          key={generation}
          event={event}
          draft={draft}
          onDone={review}
          onChange={(part) => setDraft((now) => ({ ...now, now: { ...now.now, ...part } }))}
        />
      )}
    </section>
  );
}

/** Stores the unsaved edit in this tab, and lets the browser warn before the tab closes. */
function useKeptDraft(eventId: string, draft: Draft, dirty: boolean): void {
  useEffect(() => {
    if (!dirty) return forgetDraft(eventId);
    const timer = setTimeout(() => keepDraft(eventId, draft), KEEP_AFTER_MS);
    return () => clearTimeout(timer);
  }, [eventId, draft, dirty]);
  const latest = useRef({ draft, dirty });
  latest.current = { draft, dirty };
  useEffect(() => {
    const warn = (event: BeforeUnloadEvent) => {
      if (!latest.current.dirty) return;
      keepDraft(eventId, latest.current.draft);
      event.preventDefault();
    };
    window.addEventListener("beforeunload", warn);
    return () => {
      window.removeEventListener("beforeunload", warn);
      if (latest.current.dirty) keepDraft(eventId, latest.current.draft);
    };
  }, [eventId]);
}

function Notice({ children, tone = "line-strong" }: { children: ReactNode; tone?: "line-strong" | "warning" }) {
  return (
    <div
      role="status"
      className={`border-b border-l-3 px-3 py-1.5 ${tone === "warning" ? "border-l-warning" : "border-l-accent"}`}
    >
      {children}
    </div>
  );
}

/** Somebody saved another revision after this edit was begun. Both are shown, and the typed text stays. */
function StaleBase({
  event,
  draft,
  onRebase,
  onTheirs,
}: {
  event: EventDetail;
  draft: Draft;
  onRebase: (draft: Draft) => void;
  onTheirs: () => void;
}) {
  const [compared, setCompared] = useState(false);
  const theirs = contentOf(event);
  return (
    <Notice tone="warning">
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span>
          Revision {event.revision} is the current one since you began with revision {draft.base}. What you typed is
          kept.
        </span>
        <span className="flex gap-1.5">
          <Button size="sm" aria-expanded={compared} onClick={() => setCompared(!compared)}>
            {compared ? "Hide the comparison" : "Compare"}
          </Button>
          <Button size="sm" onClick={() => onRebase({ base: event.revision, was: theirs, now: draft.now })}>
            Keep mine, on revision {event.revision}
          </Button>
          <Button size="sm" onClick={onTheirs}>
            Take revision {event.revision}
          </Button>
        </span>
      </p>
      {compared ? (
        <div className="py-2">
          <ContentDiff before={theirs} after={draft.now} names={[`revision ${event.revision}`, "yours"]} />
        </div>
      ) : null}
    </Notice>
  );
}

function Fields({
  event,
  draft,
  onChange,
  onDone,
}: {
  event: EventDetail;
  draft: Draft;
  onChange: (part: Partial<Content>) => void;
  onDone: () => void;
}) {
  const [tab, setTab] = useState("payload");
  const { payload, headers } = changesOf(draft);
  const mark = (label: string, changed: boolean) => (
    <>
      {label}
      {changed ? <span className="text-warning"> changed</span> : null}
    </>
  );
  return (
    <Tabs
      label="Parts of the edit"
      value={tab}
      onChange={setTab}
      panelClassName="flex min-h-0 flex-1 flex-col -outline-offset-2 lg:overflow-y-auto"
      tabs={[
        {
          id: "payload",
          label: mark("Payload", payload),
          content: <PayloadEditor event={event} draft={draft} onChange={onChange} onDone={onDone} />,
        },
        {
          id: "headers",
          label: mark("Headers", headers),
          count: draft.now.headers.length,
          content: (
            <HeadersEditor
              headers={draft.now.headers}
              arrived={draft.was.headers}
              onChange={(next) => onChange({ headers: next })}
            />
          ),
        },
      ]}
    />
  );
}

/** The payload as text or as bytes, with the problems that its schema has with it. */
function PayloadEditor({
  event,
  draft,
  onChange,
  onDone,
}: {
  event: EventDetail;
  draft: Draft;
  onChange: (part: Partial<Content>) => void;
  onDone: () => void;
}) {
  const { now } = draft;
  const keys = useId();
  const handle = useRef<CodeEditorHandle>(null);
  const text = useMemo(() => exactText(now.payload), [now.payload]);
  const isText = text !== null;
  const [chosen, setChosen] = useState<"text" | "hex">(isText ? "text" : "hex");
  const mode = isText ? chosen : "hex";
  const language = languageOf(now);
  const [problems, setProblems] = useState<PlacedProblem[] | null>(null);
  const [says, setSays] = useState<SchemaSays>(null);
  const check = useCallback(
    (typed: string) => askSchema({ source: event.source, eventType: event.eventType, text: typed }, setSays),
    [event.source, event.eventType],
  );
  if (draft.was.payload.length > EDIT_BYTES_MAX) {
    return (
      <p className="px-3 py-4 text-muted">
        The payload has more than {formatBytes(EDIT_BYTES_MAX)}. Download it, edit it elsewhere, and send it through the
        API as a revision.
      </p>
    );
  }
  return (
    <div className="flex min-h-96 flex-1 flex-col">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5 border-b border-line px-3 py-1.5">
        <fieldset className="flex rounded-md border border-line-strong">
          <legend className="sr-only">Edit the payload as</legend>
          {(["text", "hex"] as const).map((entry) => (
            <button
              key={entry}
              type="button"
              aria-pressed={mode === entry}
              disabled={entry === "text" && !isText}
              onClick={() => setChosen(entry)}
              className="h-6 px-2 text-sm text-muted first:rounded-l-[4px] last:rounded-r-[4px] hover:bg-hover disabled:opacity-50 aria-pressed:bg-hover aria-pressed:font-medium aria-pressed:text-ink"
            >
              {entry}
            </button>
          ))}
        </fieldset>
        <span className="flex items-center gap-1.5 text-sm text-muted">
          <label htmlFor={`${keys}-type`}>Content type</label>
          <Input
            id={`${keys}-type`}
            value={now.contentType}
            onChange={(change) => onChange({ contentType: change.target.value })}
            aria-invalid={now.contentType.trim() === "" ? true : undefined}
            className="h-6! w-56! font-mono text-sm"
          />
        </span>
        {mode === "text" && language === "json" ? (
          <Button
            size="sm"
            data-tip="Changes the white space of the whole payload, so its bytes change. Ctrl Z takes it back."
            onClick={() => {
              if (handle.current?.format() === false) {
                void showToast({
                  title: "This is no JSON yet",
                  detail: "Mend the marked places first.",
                  tone: "error",
                });
              }
            }}
          >
            Format
          </Button>
        ) : null}
        <span className="ml-auto text-sm text-faint">{bytesWords(now.payload.length, text)}</span>
      </div>
      {isText ? null : (
        <p className="border-b border-line px-3 py-1 text-muted">
          These bytes are not valid UTF-8, so they are edited as bytes.
        </p>
      )}
      {mode === "text" && text !== null ? (
        <>
          <PayloadText
            payload={now.payload}
            language={language}
            describedBy={keys}
            handle={handle}
            check={check}
            onProblems={setProblems}
            onDone={onDone}
            onChange={(payload) => onChange({ payload })}
          />
          {language === "json" ? (
            <Problems problems={problems} says={says} onShow={(one) => handle.current?.show(one)} />
          ) : null}
          <div className="border-t border-line px-3 py-1">
            <EditorKeys id={keys} more=", Ctrl Enter shows what will change" />
          </div>
        </>
      ) : (
        <HexEditor
          bytes={now.payload}
          label="Payload bytes"
          autoFocus
          onChange={(bytes) => onChange({ payload: bytes })}
        />
      )}
    </div>
  );
}

/** Line breaks and mark are those of the payload when the text was opened: a typed character must not change them. */
function PayloadText({
  payload,
  onChange,
  ...editor
}: Pick<
  ComponentProps<typeof CodeEditor>,
  "language" | "describedBy" | "handle" | "check" | "onProblems" | "onDone"
> & {
  payload: Uint8Array;
  onChange: (payload: Uint8Array) => void;
}) {
  const [opened] = useState(() => exactText(payload));
  if (opened === null) return null;
  return (
    <CodeEditor
      {...editor}
      text={opened.text}
      separator={opened.separator}
      label="Payload"
      autoFocus
      onChange={(text) => onChange(exactBytes({ text, mark: opened.mark }))}
      className="min-h-72 flex-1 overflow-hidden lg:min-h-40"
    />
  );
}

function bytesWords(bytes: number, text: ReturnType<typeof exactText>): string {
  const breaks = text === null ? null : text.mixed ? "mixed line breaks" : text.separator === "\r\n" ? "CRLF" : null;
  return [formatBytes(bytes), text?.mark ? "with a byte order mark" : null, breaks].filter(Boolean).join(" · ");
}

async function askSchema(
  request: Parameters<typeof checkPayload>[0],
  say: (says: SchemaSays) => void,
): Promise<PointedProblem[]> {
  try {
    const answer = await checkPayload(request);
    say({ words: answer.detail, failed: answer.ok === false });
    return answer.faults.map(({ pointer, detail, fix }) => ({
      pointer,
      // Faults name their pointer; the editor names it itself.
      message: `${detail.startsWith(pointer) ? detail.slice(pointer.length).trim() : detail}: ${fix}`,
    }));
  } catch (error) {
    say({ words: error instanceof ApiError ? error.detail : "The schema could not be asked.", failed: true });
    return [];
  }
}

/** The problems in words, for whoever does not see the underlines; each leads to its place. */
function Problems({
  problems: found,
  says,
  onShow,
}: {
  /** null = not checked yet. */
  problems: PlacedProblem[] | null;
  says: SchemaSays;
  onShow: (problem: PlacedProblem) => void;
}) {
  const problems = found ?? [];
  const errors = problems.filter(({ severity }) => severity === "error").length;
  return (
    <div className="max-h-32 shrink-0 overflow-y-auto border-t border-line bg-canvas px-3 py-1.5 text-sm">
      <p role="status" className="text-muted">
        {found === null
          ? "Checking…"
          : problems.length === 0
            ? (says?.words ?? "It is valid JSON.")
            : `${plural(errors, "problem")}${problems.length > errors ? ` and ${plural(problems.length - errors, "warning")}` : ""}`}
      </p>
      {problems.length === 0 ? null : (
        <ul aria-label="Problems">
          {problems.map((problem) => (
            <li key={`${problem.from} ${problem.message}`}>
              <button
                type="button"
                onClick={() => onShow(problem)}
                className="flex min-h-6 items-baseline gap-1.5 text-left hover:underline"
              >
                <Shape
                  name={problem.severity === "error" ? "cross" : "triangle"}
                  className={`shrink-0 self-center ${problem.severity === "error" ? "text-danger" : "text-warning"}`}
                />
                <span className="sr-only">{problem.severity}: </span>
                <span className="wrap-anywhere">{problem.message}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** What changes, and the reason that the audit keeps. */
function Review({ event, draft, onSaved }: { event: EventDetail; draft: Draft; onSaved: (revision: number) => void }) {
  const client = useQueryClient();
  const [reason, setReason] = useState("");
  const [pressed, setPressed] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const missing = reason.trim() === "";
  const unchanged = sameBytes(draft.was.payload, draft.now.payload);

  const save = async () => {
    setPressed(true);
    if (missing || busy) return field.current?.focus();
    setBusy(true);
    setError(null);
    try {
      const saved = await saveRevision(client, event.id, { ...editOf(draft), reason: reason.trim() });
      forgetDraft(event.id);
      onSaved(saved.revision);
    } catch (failure) {
      setError(failure);
      setBusy(false);
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
      {error ? (
        <ErrorPanel error={error} inline title="This was not saved">
          <p className="text-muted">What you typed is kept.</p>
        </ErrorPanel>
      ) : null}
      <ContentDiff before={draft.was} after={draft.now} names={[`revision ${draft.base}`, "the new revision"]} />
      <div className="grid gap-2 sm:max-w-160">
        <Field
          label="Reason"
          hint="Kept in the audit for ever."
          error={pressed && missing ? "Say why: the reason is kept in the audit." : undefined}
        >
          {(control) => (
            <Textarea
              {...control}
              ref={field}
              rows={2}
              maxLength={2_000}
              value={reason}
              onChange={(change) => setReason(change.target.value)}
              onKeyDown={(press) => {
                if (press.key === "Enter" && (press.ctrlKey || press.metaKey)) void save();
              }}
            />
          )}
        </Field>
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
