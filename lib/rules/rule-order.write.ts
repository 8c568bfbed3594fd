import type { Prisma } from "@/lib/platform/database/generated/client";

/** Lists of rules that are applied in their order: `position` counts from 1 without gaps. */
type RuleTable = "admission_rules" | "redrive_rules";

/** Puts a rule at a place, at most behind the last one. Returns the place. */
export async function moveRule(
  client: Prisma.TransactionClient,
  table: RuleTable,
  id: string,
  position: number,
): Promise<number> {
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
export async function deleteRule(client: Prisma.TransactionClient, table: RuleTable, id: string): Promise<void> {
  await moveRule(client, table, id, 2_147_483_647);
  await client.$executeRawUnsafe(`delete from ${table} where id = $1::uuid`, id);
}
