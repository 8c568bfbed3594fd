import { plainSecretPlaces } from "@/lib/brokers/kinds/config-limits.shapes";
import { redactConfig } from "@/lib/brokers/kinds/config-secrets.shapes";
import { PARKED_STATUSES } from "@/lib/events/event-state.pure";
import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";
import type { Source } from "@/lib/platform/database/generated/client";
import type { LowRateStore } from "@/lib/platform/database/prisma";
import { nearName } from "@/lib/platform/plain/near-name.pure";
import { DomainError, type FieldError } from "@/lib/platform/plain/problem.pure";
import { isSeenCaller } from "@/lib/sources/contracts/call-paths.pure";
import type { LinkTemplate } from "@/lib/sources/links/source-links.pure";
import { consumerOut, readConsumers, stateOf } from "@/lib/sources/source-consumers.read";
import type { SourceList, SourceOut } from "@/lib/sources/sources.shapes";

export function unknownSource(name: string, field = "name", near?: string): DomainError {
  return new DomainError("unknown-source", noSuchSource(name, near), {
    fields: [{ field, detail: "list sources with GET /api/v1/sources" }],
  });
}

function noSuchSource(name: string, near: string | undefined): string {
  return `There is no source ${JSON.stringify(name)}${near === undefined ? "" : `: is ${near} meant?`}`;
}

/** Sources among which the one that was probably meant is looked for. */
const NEAR_AMONG_MAX = 10_000;

/** What is wrong with these names of sources, by the field that holds them. */
export async function unknownSourceFaults(
  db: Queryable,
  viewer: Viewer,
  { names, field }: { names: readonly string[]; field: string },
): Promise<FieldError[]> {
  const unknown = await readUnknownSources(db, viewer, names);
  return unknown.map(({ name, near }) => ({ field, detail: unknownSource(name, field, near).message }));
}

/** The names that no source has which the viewer sees, each with the one that was probably meant. */
export async function readUnknownSources(
  db: Queryable,
  viewer: Viewer,
  names: readonly string[],
): Promise<{ name: string; near: string | undefined }[]> {
  const scope = sourceScope(viewer);
  const unknown = await db.query<{ name: string }>(
    `select w.name from unnest($1::text[]) as w(name)
      where not exists (select 1 from sources s where s.name = w.name and ($2::text[] is null or s.name = any($2)))`,
    [[...new Set(names)], scope],
    { name: "unknown-sources" },
  );
  if (unknown.length === 0) return [];
  const known = await db.query<{ name: string }>(
    `select name from sources where $1::text[] is null or name = any($1) order by name limit ${NEAR_AMONG_MAX}`,
    [scope],
    { name: "names-of-sources" },
  );
  const seen = known.map(({ name }) => name);
  return unknown.map(({ name }) => ({ name, near: nearName(name, seen) }));
}

/** Throws DomainError `unknown-source` for one that the viewer does not see, too. */
export async function readSourceId(db: Queryable, viewer: Viewer, name: string): Promise<string> {
  const [row] = await db.query<{ id: string }>(
    "select id from sources where name = $1 and ($2::text[] is null or name = any($2))",
    [name, sourceScope(viewer)],
    { name: "source-id" },
  );
  if (!row) throw unknownSource(name);
  return row.id;
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
