import type { Prisma } from "@/lib/store/generated/client";

/** Stores the values and answers all that were stored before. */
export async function writeSettings(
  client: Prisma.TransactionClient,
  settings: Record<string, number>,
  { actor, atMs }: { actor: string; atMs: number },
): Promise<Record<string, unknown>> {
  const before = await client.setting.findMany();
  for (const [key, value] of Object.entries(settings)) {
    const columns = { value, updatedBy: actor, updatedAt: new Date(atMs) };
    await client.setting.upsert({ where: { key }, create: { key, ...columns }, update: columns });
  }
  return Object.fromEntries(before.map(({ key, value }) => [key, value]));
}
