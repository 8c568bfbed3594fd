import type { TargetChange } from "@/lib/contract/targets";
import { DomainError } from "@/lib/core/problem";
import { assertMay, sees, type Viewer } from "@/lib/core/viewer";
import type { Deps } from "@/lib/operations/deps";
import { POLICY_PRESETS } from "@/lib/retry/policy";
import type { Tx } from "@/lib/store/db";
import { readPolicies } from "@/lib/store/read/policies";
import { readTargets, type TargetRow } from "@/lib/store/read/targets";
import { appendAudit } from "@/lib/store/write/audit";
import { updateTarget } from "@/lib/store/write/targets";

/** Changes a target, live for everything that sends to it. Throws DomainError `unknown-target`, `unknown-policy`,
 * `invalid-config`. */
export async function changeTarget(
  deps: Deps,
  input: { name: string; change: TargetChange },
  viewer: Viewer,
): Promise<void> {
  assertMay(viewer, "change-target");
  const { reason, breaker, ...columns } = input.change;
  await deps.db.transaction(async (tx) => {
    const targets = await readTargets(tx);
    const target = targets.find((row) => row.name === input.name);
    if (!target || !sees(viewer, target.source)) throw unknownTarget(input.name);
    await assertPolicy(tx, columns.policyName);
    assertFallback(
      target,
      columns.fallback,
      targets.filter(({ source }) => sees(viewer, source)),
    );
    const before = shown(target);
    const after = { ...before, ...columns, breakerForce: breakerAfter(target, breaker) };
    await updateTarget(tx, target.id, { ...after, reset: breaker === "reset" });
    await appendAudit(tx, {
      actor: viewer.name,
      action: breaker === undefined ? "target.changed" : `target.breaker-${breaker}`,
      subjectKind: "target",
      subjectId: input.name,
      reason,
      before,
      after,
      count: 1,
      atMs: deps.clock.wallMs(),
    });
  });
}

function shown(target: TargetRow) {
  const { ratePerSecond, burst, bulkhead, policyName, retryable, breakerForce, warmUpMs, noBursts, fallback } = target;
  return { ratePerSecond, burst, bulkhead, policyName, retryable, breakerForce, warmUpMs, noBursts, fallback };
}

function breakerAfter(target: TargetRow, order: TargetChange["breaker"]): TargetRow["breakerForce"] {
  if (order === undefined) return target.breakerForce;
  return order === "open" || order === "closed" ? order : null;
}

async function assertPolicy(tx: Tx, name: string | undefined): Promise<void> {
  if (name === undefined || name in POLICY_PRESETS || name in (await readPolicies(tx))) return;
  throw new DomainError("unknown-policy", `There is no policy ${name}`, {
    fields: [{ field: "policyName", detail: `use ${Object.keys(POLICY_PRESETS).join(", ")} or a stored policy` }],
  });
}

function assertFallback(target: TargetRow, fallback: TargetChange["fallback"], targets: readonly TargetRow[]): void {
  const fault = faultOf(target, fallback, targets);
  if (fault === null) return;
  throw new DomainError("invalid-config", `fallback: ${fault}`, { fields: [{ field: "fallback", detail: fault }] });
}

/** Why a target cannot fall back like that, with the way out; null = it can. */
function faultOf(target: TargetRow, fallback: TargetChange["fallback"], targets: readonly TargetRow[]): string | null {
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
