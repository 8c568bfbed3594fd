import { POLICY_PRESETS } from "@/lib/retry/policy";
import type { Queryable } from "@/lib/store/db";
import { type PolicyVersion, readPolicies } from "@/lib/store/read/policies";

/**
 * Every policy in the version that is in force now, by name: the newest stored one, else the built-in preset as
 * version 0. A redrive takes them along, presets too: a release that changes one does not change a redrive that runs.
 */
export async function policiesInForce(db: Queryable): Promise<Record<string, PolicyVersion>> {
  const presets = Object.entries(POLICY_PRESETS).map(([name, body]) => [name, { name, version: 0, body }] as const);
  return { ...Object.fromEntries(presets), ...(await readPolicies(db)) };
}
