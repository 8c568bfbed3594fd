import type { AuditOut } from "@/lib/guard/audit/audit.shapes";
import type { AuditSubject } from "@/lib/platform/plain/audit-entry.pure";
import { plural } from "@/lib/platform/plain/format.pure";
import { iso } from "@/lib/platform/plain/iso-time.pure";

/** The page of an entry's subject, or else of the operation that changed it; null when neither has a page. */
export function subjectHref(
  entry: Pick<AuditOut, "subjectKind" | "subjectId" | "redriveId" | "operationId">,
): string | null {
  return ownHref(entry) ?? operationHref(entry);
}

function operationHref({ redriveId, operationId }: Pick<AuditOut, "redriveId" | "operationId">): string | null {
  if (operationId !== null) return `/operations/${operationId}`;
  return redriveId === null ? null : `/redrives/${redriveId}`;
}

/** A path that ends in a slash is followed by the id. */
const PAGES: Record<AuditSubject, string | null> = {
  event: "/events/",
  redrive: "/redrives/",
  operation: "/operations/",
  control: "/controls",
  forget: "/archive/forget",
  rule: "/admission",
  "redrive-rule": "/redrive-rules",
  source: "/sources/",
  target: "/targets",
  policy: "/targets",
  alert: "/alerts/",
  "alert-rule": "/alerts/rules",
  channel: "/alerts/channels",
  maintenance: "/alerts/channels",
  group: "/groups/",
  "mask-rule": "/masking",
  account: "/people",
  ...{ hold: null, session: null, token: null, marker: null, view: null, recipe: null, setting: null },
  ...{ retention: null, stop: null },
};

function ownHref({ subjectKind, subjectId }: Pick<AuditOut, "subjectKind" | "subjectId">): string | null {
  const page = PAGES[subjectKind];
  if (subjectId === null || page === null) return null;
  return page.endsWith("/") ? page + encodeURIComponent(subjectId) : page;
}

/** `event.mend-undone` is `Event mend undone`. */
export function actionWords(action: string): string {
  const words = action.replaceAll(/[.-]/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const VERBS: Partial<Record<AuditSubject | "data", string>> = {
  account: "changed created disabled",
  alert: "acknowledged fired resolved",
  control: "imposed lifted",
  data: "forgotten",
  event:
    "bounced changed confirmed edited expired export-ended exported ignored imported mend-undone mended parked queued redriven released removed restored revealed skipped",
  group: "merged muted unmuted",
  redrive: "approved braked cancelled finished lane-changed paused rate-changed rejected requested resumed",
  retention: "changed",
  session: "opened refused",
  setting: "changed",
  source: "changed created deleted",
  stop: "imposed lifted",
  target: "added changed removed resumed stopped",
  token: "created revoked",
};

const ACTIONS = Object.entries(VERBS).flatMap(([subject, verbs]) =>
  verbs.split(" ").map((verb) => `${subject}.${verb}`),
);

/** What the log can be filtered by: the frequent actions, and those that it shows. */
export function actionOptions(shown: readonly string[]) {
  const all = [...new Set([...ACTIONS, ...shown])].sort();
  return all.map((action) => ({ value: action, label: actionWords(action) }));
}

/** `event`, or `12,300 events` when one entry stands for many; `events, not counted yet` of an export that began. */
export function subjectWords(entry: Pick<AuditOut, "subjectKind" | "count">): string {
  const kind = entry.subjectKind.replace("-", " ");
  if (entry.count === null) return `${pluralOf(entry.subjectKind)}, not counted yet`;
  return entry.count === 1 ? kind : plural(entry.count, kind, pluralOf(entry.subjectKind));
}

function pluralOf(kind: AuditSubject): string {
  return kind === "policy" ? "policies" : `${kind.replace("-", " ")}s`;
}

/** The two revisions of an entry that made another one current; null = an entry of another kind. */
export function revisedBy(entry: Pick<AuditOut, "action" | "subjectId" | "before" | "after">): {
  eventId: string;
  before: number;
  after: number;
} | null {
  const { action, subjectId, before, after } = entry;
  const [from, to] = [revisionIn(before), revisionIn(after)];
  const revises = action === "event.edited" || action === "event.restored";
  return revises && subjectId !== null && from !== null && to !== null
    ? { eventId: subjectId, before: from, after: to }
    : null;
}

function revisionIn(value: unknown): number | null {
  if (typeof value !== "object" || value === null || !("revision" in value)) return null;
  return typeof value.revision === "number" ? value.revision : null;
}

/** The log at the time of the entry, which its id says: an entry that was deleted has neighbours there. */
export function entryHref(id: string): string {
  const ms = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  return `/audit?from=${encodeURIComponent(iso(ms - 1_000))}&to=${encodeURIComponent(iso(ms + 1_000))}`;
}
