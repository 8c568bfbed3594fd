import { plainSecretPlaces } from "@/lib/brokers/kinds/config-limits.shapes";
import { redactConfig } from "@/lib/brokers/kinds/config-secrets.shapes";
import { unknownSource } from "@/lib/guard/viewer/source-names.read";
import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";
import type { Source } from "@/lib/platform/database/generated/client";
import type { LowRateStore } from "@/lib/platform/database/prisma";
import { isSeenCaller } from "@/lib/sources/contracts/call-paths.pure";
import type { LinkTemplate } from "@/lib/sources/links/source-links.pure";
import { consumerOut, readConsumers, stateOf } from "@/lib/sources/source-consumers.read";
import type { SourceList, SourceOut } from "@/lib/sources/sources.shapes";
import { PARKED_STATUSES } from "@/lib/states/event-state.pure";

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
      include: LANES,
    }),
  );
  const shown = found.slice(0, page.limit);
  const ids = shown.map(({ id }) => id);
  const [held, consumers, schemas] = await Promise.all([
    eventsBySource(db),
    readConsumers(db, ids),
    readSourceSchemas(db, ids),
  ]);
  const items = shown.map((source) => ({
    ...sourceOut(viewer, source, held, schemas),
    state: stateOf(consumers.get(source.id) ?? []),
  }));
  return { items, nextCursor: found.length > page.limit ? (items.at(-1)?.name ?? null) : null };
}

/** One source with what each worker reports of it. Throws DomainError `unknown-source`. */
export async function readSource({ db, lowRate }: Stores, viewer: Viewer, name: string): Promise<SourceOut> {
  if (sourceScope(viewer, [name])?.length === 0) throw unknownSource(name);
  const source = await lowRate.read((client) => client.source.findUnique({ where: { name }, include: LANES }));
  if (!source) throw unknownSource(name);
  const [held, consumers, schemas] = await Promise.all([
    eventsBySource(db),
    readConsumers(db, [source.id]),
    readSourceSchemas(db, [source.id]),
  ]);
  const rows = consumers.get(source.id) ?? [];
  return { ...sourceOut(viewer, source, held, schemas), state: stateOf(rows), consumers: rows.map(consumerOut) };
}

type Held = { parked: number; events: number };

async function eventsBySource(db: Queryable): Promise<Map<string, Held>> {
  const rows = await db.query<Held & { id: string }>(
    `select source_id as id, sum(n)::bigint as events,
            coalesce(sum(n) filter (where status = any($1::text[])), 0)::bigint as parked
       from dlq_level_sums group by source_id`,
    [PARKED_STATUSES],
    { name: "events-by-source" },
  );
  return new Map(rows.map(({ id, ...held }) => [id, held]));
}

/** The schema of all types without one of their own, of each source that has one. */
async function readSourceSchemas(
  db: Queryable,
  sourceIds: readonly string[],
): Promise<Map<string, Record<string, unknown>>> {
  const rows = await db.query<{ sourceId: string; body: Record<string, unknown> }>(
    `select source_id as "sourceId", body from payload_schemas
      where current and event_type is null and source_id = any($1::uuid[])`,
    [sourceIds],
    { name: "source-schemas" },
  );
  return new Map(rows.map(({ sourceId, body }) => [sourceId, body]));
}

function contractFor(viewer: Viewer, contract: SourceOut["contract"]): SourceOut["contract"] {
  if (contract === null) return null;
  return { ...contract, callers: contract.callers.filter((caller) => isSeenCaller(viewer, caller)) };
}

const LANES = { targets: { where: { lane: { not: null } }, select: { retryable: true } } };

function sourceOut(
  viewer: Viewer,
  source: Source & { targets: { retryable: boolean }[] },
  held: Map<string, Held>,
  schemas: Map<string, Record<string, unknown>>,
): Omit<SourceOut, "state"> {
  const config = source.config as Record<string, unknown>;
  return {
    id: source.id,
    name: source.name,
    kind: source.kind,
    config: redactConfig(source.kind, config),
    plainSecrets: plainSecretPlaces(source.kind, config),
    payloadSchema: schemas.get(source.id) ?? null,
    enabled: source.mode !== "stopped",
    mode: source.mode as SourceOut["mode"],
    modeAt: source.modeAt.toISOString(),
    modeBy: source.modeBy,
    modeReason: source.modeReason,
    needsApproval: source.needsApproval,
    retryable: source.targets.every(({ retryable }) => retryable),
    stormPerMinute: source.stormPerMinute,
    knownDays: source.knownDays,
    links: source.links as LinkTemplate[],
    contract: contractFor(viewer, source.contract as SourceOut["contract"]),
    createdAt: source.createdAt.toISOString(),
    updatedAt: source.updatedAt.toISOString(),
    ...(held.get(source.id) ?? { parked: 0, events: 0 }),
  };
}
