import type { ForgetOut, ForgetWhat } from "@/lib/keep/forget/forget.shapes";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";

export type ForgetKeyName = ForgetOut["keyKind"];

export const KEY_LABEL: Record<ForgetKeyName, string> = {
  tag: "tag",
  aggregateId: "aggregate",
  pointer: "payload value",
};

export type ForgetDraft = {
  kind: ForgetKeyName;
  /** Of a tag, or a JSON pointer. */
  name: string;
  value: string;
  /** Empty = all sources. */
  source: string;
};

type DraftErrors = Partial<Record<"name" | "value" | "source", string>>;

/** What is to be forgotten, or the missing parts by field. The server checks again. */
export function forgetWhat(draft: ForgetDraft): { ok: true; what: ForgetWhat } | { ok: false; errors: DraftErrors } {
  const [name, source] = [draft.name.trim(), draft.source.trim()];
  const errors: DraftErrors = {};
  if (draft.value === "") errors.value = "Enter the value that identifies the person.";
  if (draft.kind === "tag" && name === "") errors.name = "Enter the name of the tag.";
  if (draft.kind === "pointer" && !name.startsWith("/"))
    errors.name = "A pointer begins with /, such as /customer/email.";
  if (draft.kind === "pointer" && source === "")
    errors.source = "A payload value is searched for in every payload: choose a source.";
  if (Object.keys(errors).length > 0) return { ok: false, errors };
  return { ok: true, what: { key: keyOf(draft.kind, name, draft.value), ...(source === "" ? {} : { source }) } };
}

function keyOf(kind: ForgetKeyName, name: string, value: string): ForgetWhat["key"] {
  if (kind === "tag") return { tag: { name, value } };
  return kind === "aggregateId" ? { aggregateId: value } : { payload: { pointer: name, value } };
}

const PLACES: Record<string, (count: number) => string> = {
  events: (count) => `${plural(count, "event")} of the store`,
  revisions: (count) => `${plural(count, "revision")}`,
  bounces: (count) => `${plural(count, "bounce")}`,
  archivedEvents: (count) => `${plural(count, "archived event")}`,
  objectsRewritten: (count) => `${plural(count, "archive object")} rewritten`,
  objectsRemoved: (count) => `${plural(count, "archive object")} removed`,
  auditEntries: (count) => `${plural(count, "audit entry", "audit entries")} redacted`,
  otherTexts: (count) => `${plural(count, "other row")} redacted`,
  controlsLifted: (count) => `${plural(count, "control")} lifted`,
};

/** `3 events of the store · 1 archived event`; null = nothing was found. */
export function reportWords(counts: ForgetOut["counts"]): string | null {
  const parts = Object.entries(PLACES).flatMap(([place, words]) => (counts[place] ? [words(counts[place])] : []));
  return parts.length === 0 ? null : parts.join(" · ");
}

const KEPT: Record<string, string> = {
  "in-redrive": "in a redrive: cancel it, or wait until it ends",
  unconfirmed:
    "sent and not confirmed yet: run parkade confirm when the target has it, or wait for the end of its quiet window; then forget again",
  "holds-later": "earlier than parked versions of the aggregate: send those first, or forget the aggregate",
  "unreadable-object": "archive object that cannot be read",
};

/** Why some stay, and what to do about it, a line each. */
export function keptWords(refused: Record<string, number>): string[] {
  return Object.entries(refused).map(([reason, count]) => `${formatNumber(count)} ${KEPT[reason] ?? reason}`);
}
