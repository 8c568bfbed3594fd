import type { SourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import type { SourceMode } from "@/lib/brokers/source-mode.pure";
import type { Tx } from "@/lib/platform/database/db";
import type { Prisma, Source } from "@/lib/platform/database/generated/client";
import type { SourceContract } from "@/lib/sources/contracts/source-contract.pure";
import type { LinkTemplate } from "@/lib/sources/links/source-links.pure";

/** Initial rates of a new source, events per second. */
const MAIN_RATE = 50;
export const SLOW_RATE = 5;

type NewSource = {
  id: string;
  name: string;
  config: SourceConfig;
  mode: SourceMode;
  stormPerMinute: number | null;
  knownDays: number | null;
  links: LinkTemplate[];
  /** Of both targets. */
  retryable: boolean;
  targetIds: { main: string; slow: string };
};

/** A source with its two targets: `<name>` on the main lane, `<name>.slow` on the slow one. */
export async function insertSource(client: Prisma.TransactionClient, source: NewSource): Promise<void> {
  const { id, name, config, mode, stormPerMinute, knownDays, links, retryable, targetIds } = source;
  await client.source.create({
    data: {
      id,
      name,
      kind: config.kind,
      config: config.config as Prisma.InputJsonObject,
      mode,
      stormPerMinute,
      knownDays,
      links,
      targets: {
        create: [
          { id: targetIds.main, lane: "main", name, ratePerSecond: MAIN_RATE, retryable },
          { id: targetIds.slow, lane: "slow", name: `${name}.slow`, ratePerSecond: SLOW_RATE, retryable },
        ],
      },
    },
  });
}

export type SourceColumns = {
  config?: Record<string, unknown>;
  needsApproval?: boolean | undefined;
  stormPerMinute?: number | null | undefined;
  knownDays?: number | null | undefined;
  links?: LinkTemplate[] | undefined;
  contract?: SourceContract | null | undefined;
  mode?: { mode: SourceMode; atMs: number; by: string; reason: string | null };
};

/** Workers open a source anew when its configuration changes (`updatedAt`), and not for another mode. */

export async function updateSource(
  client: Prisma.TransactionClient,
  id: string,
  change: SourceColumns,
): Promise<Source> {
  const { DbNull } = (await import("@/lib/platform/database/generated/client")).Prisma;
  return client.source.update({
    where: { id },
    data: {
      config: change.config as Prisma.InputJsonObject | undefined,
      needsApproval: change.needsApproval,
      stormPerMinute: change.stormPerMinute,
      knownDays: change.knownDays,
      links: change.links,
      contract: change.contract === null ? DbNull : change.contract,
      ...(change.mode === undefined
        ? {}
        : {
            mode: change.mode.mode,
            modeAt: new Date(change.mode.atMs),
            modeBy: change.mode.by,
            modeReason: change.mode.reason,
          }),
      ...(change.config === undefined ? {} : { updatedAt: new Date() }),
    },
  });
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

/** Asks the workers to attempt a source at once. False when there is none of that name. */
export async function askForRetry(tx: Tx, name: string): Promise<boolean> {
  return (await tx.run("update sources set retried_at = now() where name = $1", [name])) > 0;
}
