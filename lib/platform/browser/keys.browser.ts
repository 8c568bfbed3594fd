import type { QueryClient } from "@tanstack/react-query";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";

/** The first part of each react-query key: a noun alone invalidates every read of it. */
export type Noun =
  | "accounts"
  | "admission"
  | "alert-rules"
  | "alerts"
  | "approvals"
  | "archive"
  | "audit"
  | "audit-chain"
  | "audit-events"
  | "channels"
  | "controls"
  | "events"
  | "forgets"
  | "groups"
  | "kinds"
  | "maintenances"
  | "mapping-preview"
  | "mask-rules"
  | "mend"
  | "operations"
  | "own-account"
  | "recipes"
  | "redrive-rules"
  | "redrives"
  | "removal"
  | "retention"
  /** Not `events`: the bytes of a revision never change. */
  | "revision"
  | "settings"
  | "sources"
  | "stats"
  | "status"
  | "targets"
  | "views";

/** The key of a plain read. `by`: what tells two reads of one address apart. */
export const readKey = (noun: Noun, path: string | null, by: unknown = null) => [noun, path, by] as const;

/** The keys of the reads that are not plain. */
export const keys = {
  status: ["status"] as const,
  me: ["me"] as const,
  events: {
    list: (filter: EventFilter, sort: string | null = null) => ["events", "list", filter, sort] as const,
    newer: (filter: EventFilter, sort: string | null = null) => ["events", "newer", filter, sort] as const,
    count: (filter: EventFilter) => ["events", "count", filter] as const,
    meanings: (text: string) => ["events", "meanings", text] as const,
  },
  redrives: {
    detail: (id: string) => ["redrives", "detail", id] as const,
    items: (id: string, params: object = {}) => ["redrives", "items", id, params] as const,
    preview: (params: object) => ["redrives", "preview", params] as const,
  },
  operations: { detail: (id: string) => readKey("operations", `/api/v1/operations/${encodeURIComponent(id)}`) },
  mend: { preview: (params: object) => ["mend", params] as const },
};

export type Change =
  | "accounts"
  | "auditChain"
  | "events"
  | "redrives"
  | "dryRuns"
  | "controls"
  | "forgets"
  | "masks"
  | "admission"
  | "redriveRules"
  | "alerts"
  | "channels"
  | "sources"
  | "targets"
  | "stops"
  | "views";

const STALE_AFTER: Record<Change, Noun[]> = {
  accounts: ["accounts", "own-account"],
  auditChain: ["audit-chain"],
  events: ["events", "groups", "stats", "audit", "operations", "status", "mend", "archive", "removal"],
  redrives: ["redrives", "approvals", "events", "groups", "stats", "audit", "status", "targets"],
  // During a dry run its events are QUEUED; a read at that time would remove them from a list of PENDING events.
  dryRuns: ["redrives", "audit", "status"],
  // A control changes the shown state of events and the refusals of a redrive.
  controls: ["controls", "events", "redrives", "audit"],
  forgets: ["forgets", "audit"],
  // What is on the screen was masked by the previous rules.
  masks: ["mask-rules", "events", "revision", "groups", "audit"],
  admission: ["admission", "audit"],
  redriveRules: ["redrive-rules", "audit"],
  alerts: ["alerts", "alert-rules", "groups", "status", "audit"],
  channels: ["channels", "maintenances", "alerts", "audit"],
  sources: ["sources", "targets", "status", "audit"],
  targets: ["targets", "status", "audit"],
  stops: ["status", "redrives", "audit"],
  views: ["views"],
};

/** Call it after a successful change: it reads the visible data again and marks the rest stale. */
export async function invalidateAfter(client: QueryClient, change: Change): Promise<void> {
  await Promise.all(STALE_AFTER[change].map((noun) => client.invalidateQueries({ queryKey: [noun] })));
}
