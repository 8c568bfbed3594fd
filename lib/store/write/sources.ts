import type { SourceConfig } from "@/lib/kinds/kinds";
import type { Prisma, Source } from "@/lib/store/generated/client";

/** Initial rates of a new source, events per second. */
const MAIN_RATE = 50;
const SLOW_RATE = 5;

export type NewSource = {
  id: string;
  name: string;
  config: SourceConfig;
  payloadSchema: Record<string, unknown> | null;
  enabled: boolean;
  targetIds: { main: string; slow: string };
};

/** A source with its two targets: `<name>` on the main lane, `<name>.slow` on the slow one. */
export async function insertSource(client: Prisma.TransactionClient, source: NewSource): Promise<void> {
  const { id, name, config, payloadSchema, enabled, targetIds } = source;
  await client.source.create({
    data: {
      id,
      name,
      kind: config.kind,
      config: config.config as Prisma.InputJsonObject,
      payloadSchema: await jsonOrNull(payloadSchema),
      enabled,
      targets: {
        create: [
          { id: targetIds.main, lane: "main", name, ratePerSecond: MAIN_RATE },
          { id: targetIds.slow, lane: "slow", name: `${name}.slow`, ratePerSecond: SLOW_RATE },
        ],
      },
    },
  });
}

export type SourceColumns = {
  config?: Record<string, unknown>;
  payloadSchema?: Record<string, unknown> | null;
  enabled?: boolean;
};

export async function updateSource(
  client: Prisma.TransactionClient,
  id: string,
  change: SourceColumns,
): Promise<Source> {
  return client.source.update({
    where: { id },
    data: {
      config: change.config as Prisma.InputJsonObject | undefined,
      payloadSchema: change.payloadSchema === undefined ? undefined : await jsonOrNull(change.payloadSchema),
      enabled: change.enabled,
      updatedAt: new Date(),
    },
  });
}

/** Imported on use: the client is then loaded, and a console that writes nothing never loads it. */
async function jsonOrNull(value: Record<string, unknown> | null) {
  if (value !== null) return value as Prisma.InputJsonObject;
  return (await import("@/lib/store/generated/client")).Prisma.DbNull;
}

/** Locks the row: ingest locks it while it parks, so that no event can arrive in between. */
export async function lockSource(
  client: Prisma.TransactionClient,
  name: string,
): Promise<{ id: string; events: boolean } | null> {
  const [row] = await client.$queryRaw<
    { id: string }[]
  >`select id::text as id from sources where name = ${name} for update`;
  if (!row) return null;
  const [found] = await client.$queryRaw<{ events: boolean }[]>`
    select coalesce(sum(n), 0) > 0 as events from dlq_group_levels where source_id = ${row.id}::uuid`;
  return { id: row.id, events: found!.events };
}
