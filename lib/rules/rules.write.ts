import type { Prisma } from "@/lib/platform/database/generated/client";

export type Client = Prisma.TransactionClient;

/** `table`: rules that are applied in their order; `position` counts from 1 without gaps. `revision`: the table with the revision of all of them. */
export type RuleTables = {
  table: "admission_rules" | "redrive_rules";
  revision: "admission_revision" | "redrive_rule_revision";
};
type RuleTable = RuleTables["table"];

/** Whoever read the rules before reads them anew. Two changes of rules of one kind never run at the same time. */
export async function advanceRevision(client: Client, table: RuleTables["revision"]): Promise<void> {
  await client.$executeRawUnsafe(`update ${table} set revision = revision + 1 where id = 1`);
}

/** Puts a rule at a place, at most behind the last one. Returns the place. */
export async function moveRule(client: Client, table: RuleTable, id: string, position: number): Promise<number> {
  await client.$executeRawUnsafe(
    `with others as (select id, row_number() over (order by position, id) as n from ${table} where id <> $1::uuid)
     update ${table} r set position = p.place
       from (select id, n + (n >= $2::int)::int as place from others
             union all select $1::uuid, least($2::int, (select count(*) + 1 from others))) p
      where r.id = p.id and r.position <> p.place`,
    id,
    position,
  );
  const [moved] = await client.$queryRawUnsafe<{ position: number }[]>(
    `select position from ${table} where id = $1::uuid`,
    id,
  );
  return moved!.position;
}

/** Deletes a rule; those behind it move up. */
export async function deleteRule(client: Client, table: RuleTable, id: string): Promise<void> {
  await moveRule(client, table, id, 2_147_483_647);
  await client.$executeRawUnsafe(`delete from ${table} where id = $1::uuid`, id);
}

/** Columns of a new rule behind the others, of which there are `count`. */
export function newRuleColumns(count: number, { actor, atMs }: { actor: string; atMs: number }) {
  const at = new Date(atMs);
  return { version: 1, position: count + 1, createdBy: actor, createdAt: at, updatedBy: actor, updatedAt: at };
}

/** Without undefined members. */
export function storedBody(body: object): Prisma.InputJsonValue {
  return JSON.parse(JSON.stringify(body));
}
