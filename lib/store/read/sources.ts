import type { SourceList, SourceOut } from "@/lib/contract/sources";
import { PARKED_STATUSES } from "@/lib/core/event-state";
import { DomainError } from "@/lib/core/problem";
import { sourceScope, type Viewer } from "@/lib/core/viewer";
import { redactConfig } from "@/lib/kinds/kinds";
import type { Queryable } from "@/lib/store/db";
import type { Source } from "@/lib/store/generated/client";
import type { LowRateStore } from "@/lib/store/prisma";

export function unknownSource(name: string): DomainError {
  return new DomainError("unknown-source", `There is no source ${JSON.stringify(name)}`, {
    fields: [{ field: "name", detail: "list sources with GET /api/v1/sources" }],
  });
}

type Stores = { db: Queryable; lowRate: LowRateStore };

/** Sources by name, each with the number of its parked events. */
export async function listSources(
  { db, lowRate }: Stores,
  viewer: Viewer,
  page: { limit: number; after: string | null },
): Promise<SourceList> {
  const scope = sourceScope(viewer);
  const found = await lowRate.read((client) =>
    client.source.findMany({
      where: { name: { ...(page.after === null ? {} : { gt: page.after }), ...(scope === null ? {} : { in: scope }) } },
      orderBy: { name: "asc" },
      take: page.limit + 1,
    }),
  );
  const parked = await parkedBySource(db);
  const items = found.slice(0, page.limit).map((source) => sourceOut(source, parked));
  return { items, nextCursor: found.length > page.limit ? (items.at(-1)?.name ?? null) : null };
}

/** Throws DomainError `unknown-source`. */
export async function readSource({ db, lowRate }: Stores, viewer: Viewer, name: string): Promise<SourceOut> {
  if (sourceScope(viewer, [name])?.length === 0) throw unknownSource(name);
  const source = await lowRate.read((client) => client.source.findUnique({ where: { name } }));
  if (!source) throw unknownSource(name);
  return sourceOut(source, await parkedBySource(db));
}

async function parkedBySource(db: Queryable): Promise<Map<string, number>> {
  const rows = await db.query<{ id: string; n: number }>(
    "select source_id as id, sum(n)::bigint as n from dlq_level_sums where status = any($1::text[]) group by source_id",
    [PARKED_STATUSES],
    { name: "parked-by-source" },
  );
  return new Map(rows.map(({ id, n }) => [id, n]));
}

/** The state that a consumer wrote into `sources.state`; `{}` before the first report. */
type StoredState = { state?: string; lag?: number | null; lastError?: string | null; at?: string };

function sourceOut(source: Source, parked: Map<string, number>): SourceOut {
  const state = source.state as StoredState;
  return {
    id: source.id,
    name: source.name,
    kind: source.kind,
    config: redactConfig(source.kind, source.config as Record<string, unknown>),
    payloadSchema: source.payloadSchema as SourceOut["payloadSchema"],
    enabled: source.enabled,
    createdAt: source.createdAt.toISOString(),
    updatedAt: source.updatedAt.toISOString(),
    state:
      state.state === undefined || state.at === undefined
        ? null
        : { state: state.state, lag: state.lag ?? null, lastError: state.lastError ?? null, at: state.at },
    parked: parked.get(source.id) ?? 0,
  };
}
