import type { AuditEventList, AuditList } from "@/lib/guard/audit/audit.shapes";
import { firstPageEvery, usePages } from "@/lib/platform/browser/pages.browser";
import { useRead } from "@/lib/platform/browser/resource.browser";
import type { AuditSubject } from "@/lib/platform/plain/audit-entry.pure";

const POLL_MS = 10_000;
const PAGE = 100;

/** The restrictions of the log, by their names in the query string. */
export const AUDIT_FILTER_NAMES = [
  "actor",
  "by",
  "action",
  "subjectKind",
  "subjectId",
  "eventId",
  "redriveId",
  "operationId",
  "from",
  "to",
] as const;
type AuditFilterName = (typeof AUDIT_FILTER_NAMES)[number];
export type AuditFilter = Partial<Record<Exclude<AuditFilterName, "subjectKind">, string>> & {
  subjectKind?: AuditSubject;
};

export function auditParams(filter: AuditFilter): URLSearchParams {
  const params = new URLSearchParams();
  for (const name of AUDIT_FILTER_NAMES) if (filter[name]) params.set(name, filter[name]);
  return params;
}

export function useAudit(filter: AuditFilter) {
  const query = auditParams(filter).toString();
  const path = `/api/v1/audit?limit=${PAGE}&${query}`;
  return usePages<AuditList>("audit", path, firstPageEvery(POLL_MS));
}

/** What was done to a redrive. `live`: it has not ended. */
export const useRedriveAudit = (id: string, live: boolean) =>
  useRead<AuditList>("audit", `/api/v1/audit?limit=${PAGE}&${auditParams({ subjectKind: "redrive", subjectId: id })}`, {
    refetchInterval: live && POLL_MS,
  });

/** The largest number of ids that the filter of the events list takes. */
export const AUDIT_EVENTS_SHOWN = 100;

/** The first events that an entry covers. */
export const useAuditEvents = (entryId: string) =>
  useRead<AuditEventList>(
    "audit-events",
    `/api/v1/audit/${encodeURIComponent(entryId)}/events?limit=${AUDIT_EVENTS_SHOWN}`,
  );
