"use client";

import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { ActionButton } from "@/components/ui/action-button";
import { Button } from "@/components/ui/button";
import { Tabs } from "@/components/ui/tabs";
import { TimeAgo } from "@/components/ui/time-ago";
import { showToast } from "@/components/ui/toast";
import type { EventDetail } from "@/lib/events/events.shapes";
import { useHotkeys } from "@/lib/platform/browser/hotkeys.browser";
import { useRevision } from "@/lib/repair/revisions/revisions.browser";
import type { EditedAnswer } from "@/lib/repair/revisions/revisions.shapes";
import { ContentDiff } from "./content-diff";
import {
  type Content,
  changesOf,
  contentOf,
  type Draft,
  faultOf,
  forgetDraft,
  isChanged,
  keepDraft,
  keptDraft,
  onCurrent,
} from "./edit-draft";
import { EditReview } from "./edit-review";
import { HeadersEditor } from "./headers-editor";
import { type PartOfEdit, PayloadEditor } from "./payload-editor";

/** The time without a change before the unsaved edit is stored. */
const KEEP_AFTER_MS = 400;

const STAYS = "Your changes stay in this tab until you save or discard them";
const STAYS_REVEALED =
  "Your changes stay until you save or discard them, or reload the page: the browser stores no revealed values";

/** The editor of one event: its payload, headers and content type, what changes, and a reason. */
export function EventEditor(props: {
  event: EventDetail;
  /** The event is shown with nothing masked. */
  revealed: boolean;
  onClose: () => void;
  onSaved: (saved: EditedAnswer) => void;
}) {
  const { event, onClose, onSaved } = props;
  const [reviewing, setReviewing] = useState(false);
  const edit = useEdit(event, reviewing, props.revealed);
  const { draft, dirty, generation, restoredAtMs, change, replace, takeFile, discard, forget, revealed } = edit;
  const fault = faultOf(draft.now);
  const ready = dirty && fault === null;
  const review = () => {
    if (ready) setReviewing(true);
  };
  useHotkeys({ "mod+enter": review, escape: () => (reviewing ? setReviewing(false) : onClose()) });

  const stale = event.revision !== draft.base;
  const notice = stale ? <StaleBase event={event} draft={draft} onRebase={replace} onTheirs={discard} /> : null;
  return (
    <section aria-label="Editor" className="flex min-h-0 flex-1 flex-col">
      <header className="flex shrink-0 flex-wrap items-center gap-x-3 gap-y-1.5 border-b border-line px-3 py-1.5">
        <h2 className="font-medium">{reviewing ? "What will change" : `Edit revision ${draft.base}`}</h2>
        <span role="status" className={dirty ? "text-warning" : "text-faint"}>
          {dirty ? "not saved" : "nothing changed"}
        </span>
        {fault === null ? null : (
          <span role="alert" className="text-danger">
            {fault}
          </span>
        )}
        <div className="ml-auto flex flex-wrap gap-1.5">
          {reviewing ? <Button onClick={() => setReviewing(false)}>Keep editing</Button> : null}
          {dirty && !reviewing ? <Button onClick={discard}>Discard</Button> : null}
          <Button onClick={onClose} data-tip={dirty ? (revealed ? STAYS_REVEALED : STAYS) : undefined}>
            Close
          </Button>
          {reviewing ? null : (
            <ActionButton
              needs="edit"
              variant="primary"
              disabled={!ready}
              data-tip={fault ?? "Shows what changes before anything is saved  Ctrl Enter"}
              onClick={review}
            >
              Review…
            </ActionButton>
          )}
        </div>
      </header>
      {restoredAtMs !== null && dirty ? (
        <Notice>
          Your unsaved changes from <TimeAgo at={new Date(restoredAtMs).toISOString()} /> were restored.
        </Notice>
      ) : null}
      {reviewing ? null : notice}
      {reviewing ? (
        <EditReview
          event={event}
          draft={draft}
          onSaved={(saved) => {
            forget();
            onSaved(saved);
          }}
        >
          {notice}
        </EditReview>
      ) : (
        <Fields key={generation} event={event} draft={draft} onDone={review} onChange={change} onFile={takeFile} />
      )}
    </section>
  );
}

/** The edit as it is typed, which this tab keeps until it is saved or discarded. */
function useEdit(event: EventDetail, reviewing: boolean, isRevealed: boolean) {
  const kept = useMemo(() => keptDraft(event.id), [event.id]);
  // What was revealed may be in the draft when the event is masked again.
  const [wasRevealed, setWasRevealed] = useState(kept?.revealed ?? false);
  const revealed = wasRevealed || isRevealed;
  if (revealed !== wasRevealed) setWasRevealed(true);
  const untouched = (): Draft => ({ base: event.revision, was: contentOf(event), now: contentOf(event) });
  const [restoredAtMs, setRestoredAtMs] = useState(kept?.atMs ?? null);
  const [typed, setDraft] = useState<Draft>(() => kept?.draft ?? untouched());
  // A change of the whole content from outside of the fields makes them anew.
  const [generation, setGeneration] = useState(0);
  // The review shows what was typed until it closes, also while its own save makes it the current revision.
  const draft = reviewing ? typed : onCurrent(typed, event);
  const dirty = isChanged(draft);
  const forget = useKeptDraft(event.id, draft, dirty, revealed);
  const replace = (next: Draft) => {
    setDraft(next);
    setGeneration((count) => count + 1);
  };
  const discard = () => {
    forgetDraft(event.id);
    setRestoredAtMs(null);
    replace(untouched());
    void showToast({
      title: "Your changes were discarded",
      action: { label: "Undo", onSelect: () => replace(draft) },
    });
  };
  const change = (part: Partial<Content>) =>
    setDraft((before) => {
      const { now, ...base } = onCurrent(before, event);
      return { ...base, now: { ...now, ...part } };
    });
  const takeFile = (payload: Uint8Array) => {
    // The file may be a download with nothing masked.
    setWasRevealed(true);
    replace({ ...draft, now: { ...draft.now, payload } });
  };
  return { draft, dirty, generation, restoredAtMs, change, replace, takeFile, discard, forget, revealed };
}

/**
 * Stores the unsaved edit in this tab, and lets the browser warn before the tab closes. Returns how to forget it for good:
 * the closing editor would otherwise store what it has just saved.
 */
function useKeptDraft(eventId: string, draft: Draft, dirty: boolean, revealed: boolean): () => void {
  const saved = useRef<Draft | null>(null);
  useEffect(() => {
    if (!dirty) return forgetDraft(eventId);
    const timer = setTimeout(() => {
      if (draft !== saved.current) keepDraft(eventId, draft, revealed);
    }, KEEP_AFTER_MS);
    return () => clearTimeout(timer);
  }, [eventId, draft, dirty, revealed]);
  const latest = useRef({ draft, dirty, revealed });
  latest.current = { draft, dirty, revealed };
  useEffect(() => {
    const unsaved = () => latest.current.dirty && latest.current.draft !== saved.current;
    const warn = (event: BeforeUnloadEvent) => {
      if (!unsaved()) return;
      keepDraft(eventId, latest.current.draft, latest.current.revealed);
      event.preventDefault();
    };
    window.addEventListener("beforeunload", warn);
    return () => {
      window.removeEventListener("beforeunload", warn);
      if (unsaved()) keepDraft(eventId, latest.current.draft, latest.current.revealed);
    };
  }, [eventId]);
  return () => {
    saved.current = draft;
    forgetDraft(eventId);
  };
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
function StaleBase(props: {
  event: EventDetail;
  draft: Draft;
  onRebase: (draft: Draft) => void;
  onTheirs: () => void;
}) {
  const { event, draft, onRebase, onTheirs } = props;
  const [compared, setCompared] = useState(false);
  const { data: made } = useRevision(event.id, event.revision);
  const theirs = contentOf(event);
  return (
    <Notice tone="warning">
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className="line-clamp-4 wrap-anywhere">
          Revision {event.revision} became current after you opened revision {draft.base}
          {made ? (
            <>
              : {made.actor === null ? "the event bounced" : `made by ${made.actor}`} <TimeAgo at={made.at} />
              {made.reason ? `, “${made.reason}”` : null}
            </>
          ) : null}
          . What you typed is kept.
        </span>
        <span className="flex gap-1.5">
          <Button size="sm" aria-expanded={compared} onClick={() => setCompared(!compared)}>
            {compared ? "Hide the comparison" : "Compare"}
          </Button>
          <Button size="sm" onClick={() => onRebase({ base: event.revision, was: theirs, now: draft.now })}>
            Keep mine, on revision {event.revision}
          </Button>
          <Button size="sm" onClick={onTheirs}>
            Use revision {event.revision}
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

function Fields(props: PartOfEdit) {
  const { draft, onChange } = props;
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
      keepMounted
      value={tab}
      onChange={setTab}
      panelClassName="flex min-h-0 flex-1 flex-col -outline-offset-2 lg:overflow-y-auto"
      tabs={[
        {
          id: "payload",
          label: mark("Payload", payload),
          content: <PayloadEditor {...props} />,
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
