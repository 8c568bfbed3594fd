import type { Prisma } from "@/lib/platform/database/generated/client";

/** The newest version, with the name locked until the transaction ends: two editors get two versions. */
export async function lockNewestPolicy(
  client: Prisma.TransactionClient,
  name: string,
): Promise<{ version: number; body: unknown } | null> {
  await client.$executeRaw`select pg_advisory_xact_lock(hashtextextended('policy:' || ${name}, 0))`;
  return client.policy.findFirst({
    where: { name },
    orderBy: { version: "desc" },
    select: { version: true, body: true },
  });
}

export async function insertPolicy(
  client: Prisma.TransactionClient,
  policy: { id: string; name: string; version: number; body: unknown; reason: string; createdBy: string },
): Promise<void> {
  await client.policy.create({ data: { ...policy, body: policy.body as Prisma.InputJsonObject } });
}
