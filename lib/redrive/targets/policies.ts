import { createHash } from "node:crypto";
import type { Queryable } from "@/lib/platform/database/db";
import { POLICY_PRESETS, type Policy, parsePolicy } from "@/lib/retry/policy";
import { type PolicyVersion, readPolicies } from "@/lib/sources/policies/policies.read";

/** A policy that was parsed, and which one it is. Version 0 = the built-in preset of that name. */
export type UsedPolicy = { name: string; version: number; policy: Policy };

/** The engine remembers by identity that it has asserted a policy: one object for equal bodies. */
const parsed = new Map<string, Policy>();

/**
 * Every policy in the version that is in force now, by name: the newest stored one, else the built-in preset as
 * version 0. A redrive takes them along, presets too: a release that changes one does not change a redrive that runs.
 */
export async function policiesInForce(db: Queryable): Promise<Record<string, PolicyVersion>> {
  const presets = Object.entries(POLICY_PRESETS).map(([name, body]) => [name, { name, version: 0, body }] as const);
  return { ...Object.fromEntries(presets), ...(await readPolicies(db)) };
}

/**
 * The policy of that name among those a redrive has frozen, or among those in force. A name that is not among them (the
 * policy was made after the redrive had started) stands for the preset of that name, or for `slow-lane`. Throws
 * PolicyError when the stored version cannot be used.
 */
export function policyAmong(policies: Readonly<Record<string, unknown>>, wanted: string): UsedPolicy {
  const stored = policies[wanted] as { version: number; body: unknown } | undefined;
  const name = stored || wanted in POLICY_PRESETS ? wanted : "slow-lane";
  const body = stored?.body ?? POLICY_PRESETS[name as keyof typeof POLICY_PRESETS];
  const version = stored?.version ?? 0;
  // A preset may change with a release: its version number alone does not say what a redrive has frozen.
  const key = createHash("sha1").update(JSON.stringify(body)).digest("base64url");
  const known = parsed.get(key) ?? parsePolicy(body);
  parsed.set(key, known);
  return { name, version, policy: known };
}
