import type { QueryClient } from "@tanstack/react-query";
import type { EventFilter } from "@/lib/events/filter/event-filter.shapes";

/**
 * Every react-query key, and the keys that each kind of change makes stale. A key begins with its noun, so that a noun
 * alone invalidates every read of it.
 */
type Params = Record<string, unknown>;

export const keys = {
  status: ["status"] as const,
  me: ["me"] as const,
  maskRules: ["mask-rules"] as const,
  accounts: ["accounts"] as const,
  ownAccount: ["own-account"] as const,
  events: {
    list: (filter: EventFilter, sort: string | null = null) => ["events", "list", filter, sort] as const,
    newer: (filter: EventFilter, sort: string | null = null) => ["events", "newer", filter, sort] as const,
    count: (filter: EventFilter) => ["events", "count", filter] as const,
    meanings: (text: string) => ["events", "meanings", text] as const,
    detail: (id: string) => ["events", "detail", id] as const,
    tail: (id: string) => ["events", "tail", id] as const,
    revisions: (id: string, current: number) => ["events", "revisions", id, current] as const,
    neighbours: (id: string, filter: EventFilter, sort: string | null) =>
      ["events", "neighbours", id, filter, sort] as const,
  },
  /** Not below `events`: the bytes of a revision never change. */
  revision: (id: string, revision: number | null) => ["revision", id, revision] as const,
  views: ["views"] as const,
  groups: (params: Params = {}) => ["groups", params] as const,
  redrives: {
    list: (params: Params = {}) => ["redrives", "list", params] as const,
    detail: (id: string) => ["redrives", "detail", id] as const,
    items: (id: string, params: Params = {}) => ["redrives", "items", id, params] as const,
    rate: (id: string) => ["redrives", "rate", id] as const,
    causes: (id: string) => ["redrives", "causes", id] as const,
    check: (id: string) => ["redrives", "check", id] as const,
    preview: (params: Params) => ["redrives", "preview", params] as const,
  },
  operations: {
    list: (params: Params = {}) => ["operations", "list", params] as const,
    detail: (id: string) => ["operations", "detail", id] as const,
  },
  mend: { preview: (params: Params) => ["mend", params] as const },
  archive: {
    list: (params: Params = {}) => ["archive", "list", params] as const,
    detail: (id: string) => ["archive", "detail", id] as const,
  },
  retention: { periods: ["retention", "periods"] as const, preview: ["retention", "preview"] as const },
  removal: (params: Params) => ["removal", params] as const,
  recipes: ["recipes"] as const,
  controls: (params: Params = {}) => ["controls", params] as const,
  forgets: (params: Params = {}) => ["forgets", params] as const,
  admission: {
    list: ["admission", "list"] as const,
    detail: (id: string) => ["admission", "detail", id] as const,
    trial: (request: object | null) => ["admission", "trial", request] as const,
  },
  redriveRules: {
    list: ["redrive-rules", "list"] as const,
    trial: (request: object) => ["redrive-rules", "trial", request] as const,
  },
  alerts: (params: Params = {}) => ["alerts", params] as const,
  alertRules: {
    list: ["alert-rules", "list"] as const,
    trial: (watch: object | null) => ["alert-rules", "trial", watch] as const,
  },
  channels: (params: Params = {}) => ["channels", params] as const,
  maintenances: ["maintenances"] as const,
  audit: (params: Params = {}) => ["audit", params] as const,
  auditChain: ["audit-chain"] as const,
  auditEvents: (id: string) => ["audit-events", id] as const,
  approvals: ["approvals"] as const,
  targets: ["targets"] as const,
  sources: ["sources"] as const,
  source: (name: string) => ["sources", name] as const,
  schemas: (source: string) => ["sources", source, "schemas"] as const,
  schema: (source: string, id: string | null) => ["sources", source, "schemas", id] as const,
  kinds: ["kinds"] as const,
  mappingPreview: (sampledAt: number, mapping: Params) => ["mapping-preview", sampledAt, mapping] as const,
  stats: (name: string, params: Params = {}) => ["stats", name, params] as const,
};

export type Change =
  | "events"
  | "redrives"
  | "dryRuns"
  | "controls"
  | "forgets"
  | "admission"
  | "redriveRules"
  | "alerts"
  | "channels"
  | "sources"
  | "targets"
  | "stops"
  | "views";

const STALE_AFTER: Record<Change, string[]> = {
  events: ["events", "groups", "stats", "audit", "operations", "status", "mend", "archive", "removal"],
  redrives: ["redrives", "approvals", "events", "groups", "stats", "audit", "status", "targets"],
  // During a dry run its events are QUEUED; a read at that time would remove them from a list of PENDING events.
  dryRuns: ["redrives", "audit", "status"],
  // A control changes the shown state of events and the refusals of a redrive.
  controls: ["controls", "events", "redrives", "audit"],
  forgets: ["forgets", "audit"],
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
