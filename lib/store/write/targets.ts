import type { Fallback } from "@/lib/core/fallback";
import type { Prisma } from "@/lib/store/generated/client";

export type TargetSettings = {
  ratePerSecond: number | null;
  burst: number | null;
  bulkhead: number;
  policyName: string;
  retryable: boolean;
  breakerForce: string | null;
  warmUpMs: number;
  noBursts: boolean;
  fallback: Fallback | null;
};

/** `resetAtMs`: the workers forget the history of breaker and latency before this time; null = no change. */
export async function updateTarget(
  client: Prisma.TransactionClient,
  id: string,
  { target, resetAtMs, atMs }: { target: TargetSettings; resetAtMs: number | null; atMs: number },
): Promise<void> {
  const fallback = target.fallback ?? (await import("@/lib/store/generated/client")).Prisma.DbNull;
  const resetAt = resetAtMs === null ? undefined : new Date(resetAtMs);
  await client.target.update({ where: { id }, data: { ...target, fallback, resetAt, updatedAt: new Date(atMs) } });
}
