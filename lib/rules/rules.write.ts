import { unknownSource } from "@/lib/guard/viewer/source-names.read";
import type { Tx } from "@/lib/platform/database/db";

/** Rules that are applied in their order; `position` counts from 1 without gaps. */
type RuleTable = "admission_rules" | "redrive_rules";
/** The revision of all rules of one kind. */
type RevisionTable = "admission_revision" | "redrive_rule_revision";

/** Whoever read the rules before reads them anew. Two changes of rules of one kind never run at the same time. */
export function advanceRevision(table: RevisionTable): (tx: Tx) => Promise<number> {
  return (tx) => tx.run(`update ${table} set revision = revision + 1 where id = 1`);
}

/** Columns of a new rule behind the others. */
export async function newRule(tx: Tx, table: RuleTable): Promise<{ version: number; position: number }> {
  const [row] = await tx.query<{ n: number }>(`select count(*)::int as n from ${table}`);
  return { version: 1, position: row!.n + 1 };
}

/** Behind the last rule. */
export const LAST = 2_147_483_647;

/** Puts a rule at a position, at most behind the last one, and the others around it. Returns the position. */
export async function moveRule(tx: Tx, table: RuleTable, id: string, position: number): Promise<number> {
  await tx.run(
    `with others as (select id, row_number() over (order by position, id) as n from ${table} where id <> $1::uuid)
     update ${table} r set position = p.place
       from (select id, n + (n >= $2::int)::int as place from others
             union all select $1::uuid, least($2::int, (select count(*) + 1 from others))) p
      where r.id = p.id and r.position <> p.place`,
    [id, position],
  );
  const [moved] = await tx.query<{ position: number }>(`select position from ${table} where id = $1`, [id]);
  return moved!.position;
}

/** Throws DomainError `unknown-source`: over a misspelt source a rule never matches. */
export async function assertSources(tx: Tx, names: readonly string[], field?: string): Promise<void> {
  const known = await tx.query<{ name: string }>("select name from sources where name = any($1)", [names]);
  const missing = names.find((name) => !known.some((source) => source.name === name));
  if (missing !== undefined) throw unknownSource(missing, field);
}
