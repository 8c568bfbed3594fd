import { type AliasRow, aliasesOf, type GroupAliases } from "@/lib/events/groups/aliases/group-aliases.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { DECIDING_ALIASES } from "@/lib/selection/aliases.sql";

/** The groups that these names mean, in their order: one that is no alias means itself. */
export async function readGroupsMeant(db: Queryable, names: readonly string[]): Promise<string[]> {
  const rows = await db.query<{ meant: string }>(
    `select coalesce(a.target, w.name) as meant from unnest($1::text[]) with ordinality w (name, n)
       left join group_aliases a on a.fingerprint = w.name order by w.n`,
    [names],
    { name: "groups-meant" },
  );
  return rows.map(({ meant }) => meant);
}

/** The aliases by which new events are grouped now. */
export async function readDecidingAliases(db: Queryable): Promise<GroupAliases> {
  const [row] = await db.query<{ aliases: AliasRow[] }>(`select ${DECIDING_ALIASES} as aliases`, [], {
    name: "deciding-aliases",
  });
  return aliasesOf(row!.aliases);
}
