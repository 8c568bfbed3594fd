import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { LowRateStore } from "@/lib/platform/database/prisma";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { expectedAttempts, successProbability, upperBoundMs } from "@/lib/retry/bounds";
import { POLICY_PRESETS, type Policy, validatePolicy } from "@/lib/retry/policy";
import { readPolicyUse, readPolicyVersions } from "@/lib/sources/policies/policies.read";
import type { PolicyOut } from "@/lib/sources/targets/targets.shapes";

/** All versions of one policy, or of all of them; a built-in preset is version 0 of its name. */
async function allVersions(lowRate: LowRateStore, viewer: Viewer, name: string | null): Promise<PolicyOut[]> {
  const use = await readPolicyUse(lowRate, viewer);
  const stored = await readPolicyVersions(lowRate, viewer, name);
  const presets = Object.entries(POLICY_PRESETS)
    .filter(([preset]) => name === null || preset === name)
    .map(([preset, body]) => ({ name: preset, version: 0, body, reason: null, createdBy: null, createdAt: null }));
  return [...stored, ...presets].map((policy) => ({
    ...policy,
    usedBy: use.get(policy.name) ?? [],
    bounds: boundsOf(policy.body),
  }));
}

const DROP_RATES = [0.1, 0.3, 0.5, 0.9];

function boundsOf(body: unknown): PolicyOut["bounds"] {
  if (validatePolicy(body).length > 0) return null;
  const policy = body as Policy;
  const worstMs = upperBoundMs(policy);
  return {
    worstMs,
    slackMs: policy.deadlineMs - policy.marginMs - worstMs,
    odds: DROP_RATES.map((dropRate) => ({
      dropRate,
      success: successProbability(dropRate, policy.maxAttempts),
      attempts: expectedAttempts(dropRate, policy.maxAttempts),
    })),
  };
}

export async function currentPolicies(lowRate: LowRateStore, viewer: Viewer): Promise<PolicyOut[]> {
  const versions = await allVersions(lowRate, viewer, null);
  const newest = new Map<string, PolicyOut>();
  for (const policy of versions) {
    const known = newest.get(policy.name);
    if (!known || policy.version > known.version) newest.set(policy.name, policy);
  }
  return [...newest.values()].sort((left, right) => (left.name < right.name ? -1 : 1));
}

/** Every version of one policy, newest first. Throws DomainError `unknown-policy`. */
export async function policyVersions(lowRate: LowRateStore, viewer: Viewer, name: string): Promise<PolicyOut[]> {
  const versions = await allVersions(lowRate, viewer, name);
  if (versions.length > 0) return versions;
  throw new DomainError("unknown-policy", `There is no policy ${name}`, {
    fields: [{ field: "name", detail: "list policies with GET /api/v1/policies" }],
  });
}
