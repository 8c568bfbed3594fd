import { unknownSource } from "@/lib/guard/viewer/source-names.read";
import { assertMay, sees, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { PayloadSchema, Prisma } from "@/lib/platform/database/generated/client";
import { uuidv7 } from "@/lib/platform/ids";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import type { SourceDeps } from "@/lib/sources/create-source";
import { assertPayloadSchema } from "@/lib/sources/schemas/payload-schema";
import { unknownSchema } from "@/lib/sources/schemas/payload-schemas.read";
import type { SchemaChange, SchemaRequest } from "@/lib/sources/schemas/payload-schemas.shapes";
import {
  currentSchema,
  insertSchema,
  lockSchemas,
  makeCurrent,
  type NewSchema,
  retireSchema,
} from "@/lib/sources/schemas/payload-schemas.write";

/** One type of a source has at most this many versions: a client in a loop must not fill the store. */
const VERSIONS_MAX = 1_000;

/**
 * Stores a version of a schema and makes it current; workers judge by it from their next claim on. A schema that equals
 * the one in force adds no version. Returns the id of the version in force. Throws DomainError `unknown-source`,
 * `invalid-config`.
 */
export async function storeSchema(
  deps: SourceDeps,
  { source, request }: { source: string; request: SchemaRequest },
  viewer: Viewer,
): Promise<string> {
  assertMay(viewer, "change-source", [source]);
  const { eventType = null, schema: body, eventsRead = null, reason } = request;
  await assertPayloadSchema(deps.schemas, body, "schema");
  const atMs = deps.clock.wallMs();
  return deps.lowRate.write(async ({ prisma, audit }) => {
    const stored = await prisma.source.findUnique({ where: { name: source }, select: { id: true } });
    if (!stored) throw unknownSource(source);
    await lockSchemas(prisma, stored.id);
    const before = await currentSchema(prisma, { sourceId: stored.id, eventType });
    if (before && JSON.stringify(before.body) === JSON.stringify(body)) return before.id;
    const count = await prisma.payloadSchema.count({ where: { sourceId: stored.id, eventType } });
    if (count >= VERSIONS_MAX) {
      throw new DomainError("invalid-config", `This type of ${source} has ${VERSIONS_MAX} versions of its schema`, {
        fields: [{ field: "eventType", detail: "make one of its versions current instead" }],
      });
    }
    const after = await insertSchema(prisma, {
      id: uuidv7(atMs),
      sourceId: stored.id,
      eventType,
      body,
      reason,
      eventsRead,
      origin: eventsRead === null ? "uploaded" : "inferred",
      createdBy: viewer.name,
      atMs,
    } satisfies NewSchema);
    const facts = { subjectKind: "source" as const, subjectId: source, actor: viewer.name, reason, count: 1, atMs };
    await audit({ ...facts, action: "source.schema-stored", before: shown(before), after: shown(after) });
    return after.id;
  });
}

/**
 * Makes a version current again, or retires the schema of its event type. Throws DomainError `unknown-schema`,
 * `illegal-transition`.
 */
export async function changeSchema(
  deps: Pick<SourceDeps, "lowRate" | "clock">,
  { id, change }: { id: string; change: SchemaChange },
  viewer: Viewer,
): Promise<void> {
  assertMay(viewer, "change-source");
  const atMs = deps.clock.wallMs();
  await deps.lowRate.write(async ({ prisma, audit }) => {
    const seen = await prisma.payloadSchema.findUnique({ where: { id }, include: { source: true } });
    if (!seen || !sees(viewer, seen.source.name)) throw unknownSchema(id);
    const { source, ...schema } = seen;
    await lockSchemas(prisma, source.id);
    const before = await currentSchema(prisma, schema);
    if (before?.id === id ? change.current : !change.current && before?.id !== id) {
      const fault = change.current ? "is already current" : "is not current: there is nothing to retire";
      throw new DomainError("illegal-transition", `Version ${schema.version} ${fault}`, {
        fields: [{ field: "current", detail: fault }],
      });
    }
    if (change.current) await makeCurrent(prisma, schema);
    else await retireSchema(prisma, schema);
    await audit({
      subjectKind: "source",
      subjectId: source.name,
      actor: viewer.name,
      atMs,
      action: change.current ? "source.schema-restored" : "source.schema-retired",
      reason: change.reason,
      before: shown(before),
      after: change.current ? shown(schema) : null,
    });
  });
}

/** The field of a source that holds the schema of all types without one of their own. Part of the source's change. */
export async function writeSourceSchema(
  prisma: Prisma.TransactionClient,
  { sourceId, body, reason, actor, atMs }: SourceSchema,
): Promise<void> {
  await lockSchemas(prisma, sourceId);
  const before = await currentSchema(prisma, { sourceId, eventType: null });
  if (body === null) return retireSchema(prisma, { sourceId, eventType: null });
  if (before && JSON.stringify(before.body) === JSON.stringify(body)) return;
  const facts = { eventType: null, origin: "source", eventsRead: null, createdBy: actor } as const;
  await insertSchema(prisma, { ...facts, id: uuidv7(atMs), sourceId, body, reason, atMs });
}

type SourceSchema = {
  sourceId: string;
  body: Record<string, unknown> | null;
  reason: string | null;
  actor: string;
  atMs: number;
};

/** Of the audit: the version names the text, which is kept. */
function shown(schema: PayloadSchema | null): object | null {
  return schema && { eventType: schema.eventType, version: schema.version, schemaId: schema.id };
}
