import { createHash } from "node:crypto";
import { POLICY_PRESETS, type Policy, parsePolicy } from "@/lib/retry/policy";
import type { TargetRow } from "@/lib/store/read/targets";
import type { RedriveRow } from "@/lib/store/write/redrive";

export type FrozenPolicy = {
  name: string;
  /** 0 = the built-in preset of that name. */
  version: number;
  policy: Policy;
  /** Equal keys, equal policies. */
  key: string;
};

/** By identity the engine remembers that it asserted a policy: one object for each. */
const parsed = new Map<string, Policy>();

/**
 * The version of the target's policy that a redrive started with: what is stored later is for later redrives. Which
 * policy a target uses is its own setting and live. Without the policy's bulkhead: the target's own, which all redrives
 * share, is entered before the engine. Throws PolicyError when the version cannot be used.
 */
export function frozenPolicy(row: Pick<TargetRow, "policyName">, redrive: RedriveRow): FrozenPolicy {
  const frozen = redrive.policies[row.policyName] as { version: number; body: unknown } | undefined;
  // A policy that was made after the redrive had started is none of its own.
  const name = frozen || row.policyName in POLICY_PRESETS ? row.policyName : "slow-lane";
  const body = frozen?.body ?? POLICY_PRESETS[name as keyof typeof POLICY_PRESETS];
  const version = frozen?.version ?? 0;
  const key = `${name}@${version} ${digestOf(body)}`;
  const known = parsed.get(key);
  if (known) return { name, version, policy: known, key };
  const policy = parsePolicy({ ...parsePolicy(body), bulkhead: null });
  parsed.set(key, policy);
  return { name, version, policy, key };
}

/** A preset may change with a release: its version number alone does not say what a redrive has frozen. */
function digestOf(body: unknown): string {
  return createHash("sha1").update(JSON.stringify(body)).digest("base64url");
}
