import type { TargetChange } from "@/lib/contract/targets";
import { DomainError } from "@/lib/core/problem";
import { assertMay, sees, type Viewer } from "@/lib/core/viewer";
import type { LowRateDeps } from "@/lib/operations/deps";
import { POLICY_PRESETS } from "@/lib/retry/policy";
import type { Prisma, Source, Target } from "@/lib/store/generated/client";
import { type TargetSettings, updateTarget } from "@/lib/store/write/targets";

/**
 * Changes a target; running redrives use the new values. Throws DomainError `unknown-target`, `unknown-policy`,
 * `invalid-config`.
 */
export async function changeTarget(
  deps: LowRateDeps,
  input: { name: string; change: TargetChange },
  viewer: Viewer,
): Promise<void> {
  assertMay(viewer, "change-target");
  const { reason, breaker, ...columns } = input.change;
  const atMs = deps.clock.wallMs();
  await deps.lowRate.write(async ({ prisma, audit }) => {
    const stored = await prisma.target.findMany({ include: { source: true } });
    const targets = stored.filter(({ source }) => sees(viewer, source.name)).map(targetOf);
    const target = targets.find(({ name }) => name === input.name);
    if (!target) throw unknownTarget(input.name);
    await assertPolicy(prisma, columns.policyName);
    assertFallback(target, columns.fallback, targets);
    const before = shown(target);
    const after = { ...before, ...columns, breakerForce: breakerAfter(target, breaker) };
    await updateTarget(prisma, target.id, { target: after, resetAtMs: breaker === "reset" ? atMs : null, atMs });
    await audit({
      actor: viewer.name,
      action: breaker === undefined ? "target.changed" : `target.breaker-${breaker}`,
      subjectKind: "target",
      subjectId: input.name,
      reason,
      before,
      after,
      count: 1,
      atMs,
    });
  });
}

type StoredTarget = Target & { source: Source };
type EditedTarget = TargetSettings & Pick<Target, "id" | "name" | "lane"> & Pick<Source, "kind">;

function targetOf({ source, fallback, ...target }: StoredTarget): EditedTarget {
  return { ...target, fallback: fallback as TargetSettings["fallback"], kind: source.kind };
}

function shown(target: TargetSettings): TargetSettings {
  const { ratePerSecond, burst, bulkhead, policyName, retryable, breakerForce, warmUpMs, noBursts, fallback } = target;
  return { ratePerSecond, burst, bulkhead, policyName, retryable, breakerForce, warmUpMs, noBursts, fallback };
}

function breakerAfter(target: TargetSettings, order: TargetChange["breaker"]): string | null {
  if (order === undefined) return target.breakerForce;
  return order === "open" || order === "closed" ? order : null;
}

async function assertPolicy(prisma: Prisma.TransactionClient, name: string | undefined): Promise<void> {
  if (name === undefined || name in POLICY_PRESETS || (await prisma.policy.count({ where: { name } })) > 0) return;
  throw new DomainError("unknown-policy", `There is no policy ${name}`, {
    fields: [{ field: "policyName", detail: `use ${Object.keys(POLICY_PRESETS).join(", ")} or a stored policy` }],
  });
}

function assertFallback(
  target: EditedTarget,
  fallback: TargetChange["fallback"],
  targets: readonly EditedTarget[],
): void {
  const fault = faultOf(target, fallback, targets);
  if (fault === null) return;
  throw new DomainError("invalid-config", `fallback: ${fault}`, { fields: [{ field: "fallback", detail: fault }] });
}

/** The reason why a target cannot have this fallback, and the fix; null = it can. */
function faultOf(
  target: EditedTarget,
  fallback: TargetChange["fallback"],
  targets: readonly EditedTarget[],
): string | null {
  if (fallback?.kind === "slow-lane" && target.lane === "slow")
    return "this is the slow lane: use defer or another target";
  if (fallback?.kind !== "target") return null;
  const other = targets.find(({ name }) => name === fallback.target);
  if (!other) return `there is no target ${fallback.target}: list targets with GET /api/v1/targets`;
  if (other.id === target.id) return "a target cannot stand in for itself: name another one";
  return other.kind === target.kind
    ? null
    : `${other.name} is of kind ${other.kind}: name a target of kind ${target.kind}`;
}

export function unknownTarget(name: string): DomainError {
  return new DomainError("unknown-target", `There is no target ${name}`, {
    fields: [{ field: "name", detail: "list targets with GET /api/v1/targets" }],
  });
}
