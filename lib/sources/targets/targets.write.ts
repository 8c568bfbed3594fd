import type { Prisma } from "@/lib/platform/database/generated/client";
import type { TargetSettings } from "@/lib/sources/sources.shapes";
import { SLOW_RATE } from "@/lib/sources/sources.write";
import { LIVE_REDRIVE_STATES } from "@/lib/states/redrive-state.pure";

/** A target that a source names beside its lanes, at the pace of a slow lane. */
export async function insertTarget(
  client: Prisma.TransactionClient,
  target: { id: string; sourceId: string; name: string; destination: Record<string, unknown>; retryable: boolean },
): Promise<void> {
  const destination = target.destination as Prisma.InputJsonObject;
  await client.target.create({ data: { ...target, destination, ratePerSecond: SLOW_RATE } });
}

/** Returns their ids. No redrive that names one of them is stored before the transaction ends. */
export async function lockTargets(
  client: Prisma.TransactionClient,
  of: { name: string } | { sourceId: string },
): Promise<string[]> {
  const rows = await client.$queryRaw<{ id: string }[]>`
    select id::text as id from targets
     where name = ${"name" in of ? of.name : null} or source_id = ${"name" in of ? null : of.sourceId}::uuid for update`;
  return rows.map(({ id }) => id);
}

/** Until the transaction ends nobody removes or renames the target of this name. Its other settings may change. */
export async function holdTargetNamed(client: Prisma.TransactionClient, name: string): Promise<void> {
  await client.$queryRaw`select 1 from targets where name = ${name} for key share`;
}

/** Ids of redrives that are not over and name one of these targets. */
export async function liveRedrivesTo(
  client: Prisma.TransactionClient,
  targetIds: readonly string[],
): Promise<string[]> {
  const rows = await client.$queryRaw<{ id: string }[]>`
    select id::text as id from redrives where state = any(${LIVE_REDRIVE_STATES}) and target_id = any(${targetIds}::uuid[])
     order by id`;
  return rows.map(({ id }) => id);
}

/** A target that falls back to one of these and is none of them; undefined = there is none. */
export async function fallingBackTo(
  client: Prisma.TransactionClient,
  targetIds: readonly string[],
): Promise<{ name: string; source: string; to: string } | undefined> {
  const [found] = await client.$queryRaw<{ name: string; source: string; to: string }[]>`
    select o.name, s.name as source, t.name as to
      from targets t join targets o on o.fallback ->> 'target' = t.name join sources s on s.id = o.source_id
     where t.id = any(${targetIds}::uuid[]) and o.id <> all(${targetIds}::uuid[]) order by o.name limit 1`;
  return found;
}

/** The fallbacks that name a target keep naming it. */
export async function renameFallbacks(client: Prisma.TransactionClient, from: string, to: string): Promise<void> {
  await client.$executeRaw`
    update targets set fallback = jsonb_set(fallback, '{target}', to_jsonb(${to}::text)), updated_at = now()
     where fallback ->> 'target' = ${from}`;
}

/** `resetAtMs`: the workers forget the history of breaker and latency before this time; null = no change. */
export async function updateTarget(
  client: Prisma.TransactionClient,
  id: string,
  {
    target,
    named,
    resetAtMs,
    atMs,
  }: {
    target: TargetSettings;
    /** Of a named target. */
    named?: { name: string; destination: Record<string, unknown> } | null;
    resetAtMs: number | null;
    atMs: number;
  },
): Promise<void> {
  const { DbNull } = (await import("@/lib/platform/database/generated/client")).Prisma;
  const fallback = target.fallback ?? DbNull;
  const contract = target.contract ?? DbNull;
  const resetAt = resetAtMs === null ? undefined : new Date(resetAtMs);
  const own = named && { name: named.name, destination: named.destination as Prisma.InputJsonObject };
  await client.target.update({
    where: { id },
    data: { ...target, ...own, fallback, contract, resetAt, updatedAt: new Date(atMs) },
  });
}
