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

/** Changes a target, live for everything that sends to it. Throws DomainError `unknown-target`, `unknown-policy`. */
export async function changeTarget(
  deps: Deps,
  input: { name: string; change: TargetChange },
  viewer: Viewer,
): Promise<void> {
  assertMay(viewer, "change-target");
  const { reason, breaker, ...columns } = input.change;
  await deps.db.transaction(async (tx) => {
    const target = (await readTargets(tx)).find((row) => row.name === input.name);
    if (!target || !sees(viewer, target.source)) throw unknownTarget(input.name);
    await assertPolicy(tx, columns.policyName);
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
  const { ratePerSecond, burst, bulkhead, policyName, retryable, breakerForce } = target;
  return { ratePerSecond, burst, bulkhead, policyName, retryable, breakerForce };
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

export function unknownTarget(name: string): DomainError {
  return new DomainError("unknown-target", `There is no target ${name}`, {
    fields: [{ field: "name", detail: "list targets with GET /api/v1/targets" }],
  });
}
