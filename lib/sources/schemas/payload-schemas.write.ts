import type { PayloadSchema, Prisma } from "@/lib/platform/database/generated/client";
import type { SCHEMA_ORIGINS } from "@/lib/sources/schemas/payload-schemas.shapes";

export type NewSchema = {
  id: string;
  sourceId: string;
  /** null = of the types that have no schema of their own. */
  eventType: string | null;
  body: Record<string, unknown>;
  origin: (typeof SCHEMA_ORIGINS)[number];
  eventsRead: number | null;
  reason: string | null;
  createdBy: string;
  atMs: number;
};

/** Versions of one source are stored one after the other. */
export async function lockSchemas(client: Prisma.TransactionClient, sourceId: string): Promise<void> {
  await client.$queryRaw`select 1 from sources where id = ${sourceId}::uuid for no key update`;
}

/** The version in force of a source and event type; null = none. The caller holds the lock of the source's schemas. */
export async function currentSchema(
  client: Prisma.TransactionClient,
  { sourceId, eventType }: Pick<NewSchema, "sourceId" | "eventType">,
): Promise<PayloadSchema | null> {
  return client.payloadSchema.findFirst({ where: { sourceId, eventType, current: true } });
}

/** Stores the next version and makes it current. */
export async function insertSchema(
  client: Prisma.TransactionClient,
  { atMs, body, ...schema }: NewSchema,
): Promise<PayloadSchema> {
  const { sourceId, eventType } = schema;
  const newest = await client.payloadSchema.aggregate({ where: { sourceId, eventType }, _max: { version: true } });
  await retireSchema(client, schema);
  return client.payloadSchema.create({
    data: {
      ...schema,
      body: body as Prisma.InputJsonObject,
      version: (newest._max.version ?? 0) + 1,
      current: true,
      createdAt: new Date(atMs),
    },
  });
}

/** None of the type's versions is in force afterwards. */
export async function retireSchema(
  client: Prisma.TransactionClient,
  { sourceId, eventType }: Pick<NewSchema, "sourceId" | "eventType">,
): Promise<void> {
  await client.payloadSchema.updateMany({ where: { sourceId, eventType, current: true }, data: { current: false } });
}

export async function makeCurrent(client: Prisma.TransactionClient, schema: PayloadSchema): Promise<void> {
  await retireSchema(client, schema);
  await client.payloadSchema.update({ where: { id: schema.id }, data: { current: true } });
}
