import type { HistoryEntry } from "@/lib/contract/events";
import type { Finding } from "@/lib/contract/redrives";

/** The dry run's checks in the detail of a history entry; none where there are none. */
export function findingsOf(detail: HistoryEntry["detail"]): Finding[] {
  const { findings } = detail;
  if (!Array.isArray(findings)) return [];
  return findings.filter(
    (entry): entry is Finding =>
      typeof entry === "object" &&
      entry !== null &&
      typeof entry.check === "string" &&
      typeof entry.ok === "boolean" &&
      typeof entry.detail === "string",
  );
}
