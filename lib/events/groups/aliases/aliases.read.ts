import type { Queryable } from "@/lib/platform/database/db";

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
