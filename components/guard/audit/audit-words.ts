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

function ownHref(entry: Pick<AuditOut, "subjectKind" | "subjectId">): string | null {
  if (entry.subjectId === null) return null;
  const id = encodeURIComponent(entry.subjectId);
  switch (entry.subjectKind) {
    case "event":
      return `/events/${id}`;
    case "redrive":
      return `/redrives/${id}`;
    case "operation":
      return `/operations/${id}`;
    case "control":
      return "/controls";
    case "forget":
      return "/archive/forget";
    case "rule":
      return "/admission";
    case "redrive-rule":
      return "/redrive-rules";
    case "source":
      return `/sources/${id}`;
    case "target":
    case "policy":
      return "/targets";
    case "alert":
      return `/alerts/${id}`;
    case "alert-rule":
      return "/alerts/rules";
    case "channel":
    case "maintenance":
      return "/alerts/channels";
    case "group":
      return `/groups/${id}`;
    case "mask-rule":
      return "/masking";
    case "account":
      return "/people";
    case "hold":
    case "session":
    case "token":
    case "marker":
    case "view":
    case "recipe":
    case "setting":
    case "retention":
    case "stop":
      return null;
  }
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
