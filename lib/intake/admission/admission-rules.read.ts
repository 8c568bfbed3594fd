import { type AliasRow, aliasesOf, type GroupAliases } from "@/lib/events/groups/aliases/group-aliases.pure";
import type { AdmissionRule } from "@/lib/intake/admission/admission.pure";
import { readRuleBody } from "@/lib/intake/admission/admission.shapes";
import type { Queryable } from "@/lib/platform/database/db";
import { DECIDING_ALIASES } from "@/lib/selection/aliases.sql";

/** The enabled rules in their order and the aliases of groups, with the revision that both are of. */
export type RulesInForce = { revision: bigint; rules: AdmissionRule[]; aliases: GroupAliases };

/** A stored rule that this version cannot read is left out: it must never keep an event from being parked. */
export async function readRulesInForce(db: Queryable): Promise<RulesInForce> {
  // One statement: rules and aliases are those of the revision.
  const [row] = await db.query<{ revision: string; rules: StoredRule[]; aliases: AliasRow[] }>(
    `select v.revision::text,
            array(select to_json(r) from (
              select id, name, source, version, body from admission_rules where enabled order by position, id) r) as rules,
            ${DECIDING_ALIASES} as aliases
       from admission_revision v`,
    [],
    { name: "rules-in-force" },
  );
  return {
    revision: BigInt(row?.revision ?? 0),
    rules: (row?.rules ?? []).flatMap(({ body, ...rule }) => {
      const read = readRuleBody(body);
      return "body" in read ? [{ ...rule, ...read.body }] : [];
    }),
    aliases: aliasesOf(row?.aliases ?? []),
  };
}

type StoredRule = { id: string; name: string; source: string | null; version: number; body: unknown };
