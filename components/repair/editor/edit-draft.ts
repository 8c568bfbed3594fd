import { fromBase64 } from "@/components/events/payload/hex-lines";
import type { EventDetail } from "@/lib/events/events.shapes";
import { forgetInTab, keepInTab, keptInTab } from "@/lib/guard/sign-in/kept-in-tab.browser";
import type { Header } from "@/lib/platform/plain/dead-letter.pure";
import { headerFault } from "@/lib/platform/plain/header-fault.pure";
import { exactText, sameBytes, toBase64 } from "./exact-text";

/** What an edit can change. */
export type Content = { payload: Uint8Array; contentType: string; headers: Header[] };

/** An edit that is not saved, and the revision on which it was begun. */
export type Draft = { base: number; was: Content; now: Content };

/** A longer payload cannot be edited in a browser. */
export const EDIT_BYTES_MAX = 4_000_000;

export function contentOf(event: Pick<EventDetail, "body" | "headers">): Content {
  return {
    payload: fromBase64(event.body.base64),
    contentType: event.body.contentType,
    headers: event.headers,
  };
}

export type Changes = { payload: boolean; contentType: boolean; headers: boolean };

export function changesOf({ was, now }: Draft): Changes {
  return {
    payload: !sameBytes(was.payload, now.payload),
    contentType: was.contentType !== now.contentType,
    headers: headerLines(was.headers) !== headerLines(now.headers),
  };
}

export function isChanged(draft: Draft): boolean {
  return Object.values(changesOf(draft)).some(Boolean);
}

/**
 * The draft on the current revision when that revision holds exactly what was typed: it was saved, here or in another tab
 * with the same draft, and nothing is left to save.
 */
export function onCurrent(draft: Draft, event: Pick<EventDetail, "revision" | "body" | "headers">): Draft {
  if (draft.base === event.revision) return draft;
  const saved = { base: event.revision, was: contentOf(event), now: draft.now };
  return isChanged(saved) ? draft : saved;
}

/** The headers as text, a line for each: two lists are equal when their texts are. */
export function headerLines(headers: readonly Header[]): string {
  return headers
    .map(([name, value, encoding = "text"]) => {
      const mark = encoding === "text" ? "" : ` (${encoding})`;
      return `${JSON.stringify(name).slice(1, -1)}${mark}: ${value === null ? "no value" : JSON.stringify(value)}`;
    })
    .join("\n");
}

/** Opened as JSON: its content type says so, or it is a JSON object or array. */
export function languageOf({ payload, contentType }: Content): "json" | "text" {
  if (/[/+]json\b/i.test(contentType)) return "json";
  return /^\s*[[{]/.test(exactText(payload.subarray(0, 200))?.text ?? "") ? "json" : "text";
}

/** Why the content cannot be saved; null = it can. */
export function faultOf({ contentType, headers }: Content): string | null {
  if (contentType.trim() === "") return "Give the payload a content type.";
  const wrong = headers.findIndex((header) => headerFault(header) !== null);
  return wrong < 0 ? null : `Header ${wrong + 1} ${headerFault(headers[wrong]!)}.`;
}

type Stored = { base: number; was: StoredContent; now: StoredContent; at: number };
type StoredContent = Omit<Content, "payload"> & { base64: string };

const store = ({ payload, ...content }: Content): StoredContent => ({ ...content, base64: toBase64(payload) });
const restore = ({ base64, ...content }: StoredContent): Content => ({ ...content, payload: fromBase64(base64) });

/**
 * Drafts that are too large for the browser's storage, that it refuses, or that hold what was revealed. They live as long as the
 * tab's page.
 */
const inMemory = new Map<string, Stored & { revealed: boolean }>();

/**
 * Keeps an unsaved edit for this tab, so that a closed editor or a reload does not lose it. `revealed`: it holds what is masked,
 * so it is in the memory of the page alone, and a reload loses it.
 */
export function keepDraft(eventId: string, draft: Draft, revealed: boolean): void {
  const stored = { base: draft.base, was: store(draft.was), now: store(draft.now), at: Date.now() };
  inMemory.set(eventId, { ...stored, revealed });
  try {
    if (revealed) forgetInTab("draft", eventId);
    else keepInTab("draft", eventId, JSON.stringify(stored));
  } catch {
    // Full or forbidden: the draft in memory remains, and the browser warns before the page is left.
    forgetInTab("draft", eventId);
  }
}

/** The unsaved edit of the event in this tab; null = none. */
export function keptDraft(eventId: string): { draft: Draft; atMs: number; revealed: boolean } | null {
  const stored = inMemory.get(eventId) ?? readStored(eventId);
  if (!stored) return null;
  const { base, was, now, at, revealed } = stored;
  return { draft: { base, was: restore(was), now: restore(now) }, atMs: at, revealed };
}

function readStored(eventId: string): (Stored & { revealed: boolean }) | null {
  try {
    const stored = JSON.parse(keptInTab("draft", eventId) ?? "null") as Stored | null;
    return stored && { ...stored, revealed: false };
  } catch {
    return null;
  }
}

export function forgetDraft(eventId: string): void {
  inMemory.delete(eventId);
  forgetInTab("draft", eventId);
}
