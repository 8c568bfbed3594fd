import { assertMay, sees, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { upperBoundMs } from "@/lib/retry/bounds";
import { POLICY_PRESETS, type Policy, validatePolicy } from "@/lib/retry/policy";
import { contractReport, contractTerms } from "@/lib/sources/contracts/contract.pure";
import { readContractFacts } from "@/lib/sources/contracts/contract-facts.read";
import type { ContractReportOut } from "@/lib/sources/contracts/contracts.shapes";
import { type PolicyVersion, readPolicies } from "@/lib/sources/policies/policies.read";
import { unknownTarget } from "@/lib/sources/targets/redrive-target";
import { readTargets, type TargetRow } from "@/lib/sources/targets/targets.read";

/** Reports of the visible targets with a contract, by name. Five statements, whatever the number of targets. */
export async function contractReports(db: Queryable, viewer: Viewer): Promise<ContractReportOut[]> {
  assertMay(viewer, "view");
  const targets = (await readTargets(db)).filter(({ source, contract }) => contract && sees(viewer, source));
  if (targets.length === 0) return [];
  const [policies, facts] = await Promise.all([readPolicies(db), readContractFacts(db)]);
  return targets.map((target) => ({
    target: target.name,
    source: target.source,
    ...contractReport({
      contract: target.contract!,
      terms: termsOf(target, policyOf(target, policies)),
      facts: facts.get(target.name) ?? null,
    }),
  }));
}

/** The report of one target. Throws DomainError `unknown-target`, also for a target without a contract. */
export async function contractReportOf(db: Queryable, viewer: Viewer, name: string): Promise<ContractReportOut> {
  const report = (await contractReports(db, viewer)).find(({ target }) => target === name);
  if (report) return report;
  const target = (await readTargets(db)).find((row) => row.name === name && sees(viewer, row.source));
  if (!target) throw unknownTarget(name);
  throw new DomainError("unknown-target", `${name} has no contract`, {
    fields: [{ field: "target", detail: `set one with PATCH /api/v1/targets/${name} { contract, reason }` }],
  });
}

function termsOf(target: TargetRow, policy: Policy) {
  return contractTerms(policy, upperBoundMs(policy), target);
}

/** The policy that sends to the target run under. */
export function policyOf({ policyName }: TargetRow, policies: Record<string, PolicyVersion>): Policy {
  const preset = POLICY_PRESETS[policyName as keyof typeof POLICY_PRESETS] ?? POLICY_PRESETS["slow-lane"];
  const stored = policies[policyName]?.body;
  // A stored body that cannot run is not what sends run under: they are refused, and the targets' page says so.
  return stored !== undefined && validatePolicy(stored).length === 0 ? (stored as Policy) : preset;
}
