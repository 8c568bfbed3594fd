import type { Prisma } from "@/lib/platform/database/generated/client";

/** Forgets the address of confirmations, and what waits for it. */
export async function removeConfirmedUrl(client: Prisma.TransactionClient, destination: string): Promise<void> {
  await client.setting.deleteMany({ where: { key: "confirmedUrl" } });
  await client.$executeRaw`delete from outbox where destination = ${destination} and status <> 'SENT'`;
}

/** Stores the values and answers all that were stored before. */
export async function writeSettings(
  client: Prisma.TransactionClient,
  settings: Record<string, Prisma.InputJsonValue>,
  { actor, atMs }: { actor: string; atMs: number },
): Promise<Record<string, unknown>> {
  const before = await client.setting.findMany();
  for (const [key, value] of Object.entries(settings)) {
    const columns = { value, updatedBy: actor, updatedAt: new Date(atMs) };
    await client.setting.upsert({ where: { key }, create: { key, ...columns }, update: columns });
  }
  return Object.fromEntries(before.map(({ key, value }) => [key, value]));
}
