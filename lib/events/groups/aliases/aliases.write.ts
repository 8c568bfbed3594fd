import type { Tx } from "@/lib/platform/database/db";

/** `target`: no alias of another. */
export type NewAlias = {
  fingerprint: string;
  target: string;
  reason: "rules" | "storm" | "merge" | "split";
  pattern: string;
  note: string | null;
};

/** Whoever makes aliases begins with this, or with `advanceAliases`: two of them wait for each other. */
export async function lockAliases(tx: Tx): Promise<void> {
  await tx.query("select from admission_revision where id = 1 for update");
}

/** The same for aliases that decide about new events: batches that are on their way read them before they are stored. */
export async function advanceAliases(tx: Tx): Promise<void> {
  await tx.run("update admission_revision set revision = revision + 1 where id = 1");
}

/**
 * Stores aliases. What pointed to one of them points to its target from now on, and remembers the way. Returns how many
 * older aliases were changed so.
 */
export async function storeAliases(tx: Tx, aliases: readonly NewAlias[], by: string): Promise<number> {
  const of = <Key extends keyof NewAlias>(key: Key) => aliases.map((alias) => alias[key]);
  const followed = await tx.run(
    `with given as (select * from unnest($1::text[], $2::text[]) g (fingerprint, target) where fingerprint <> target)
     update group_aliases a set target = given.target, via = given.fingerprint
       from given where a.target = given.fingerprint and a.fingerprint <> a.target`,
    [of("fingerprint"), of("target")],
  );
  await tx.run(
    `insert into group_aliases (fingerprint, target, reason, pattern, note, created_by, moved_at)
     select fingerprint, target, reason, pattern, note, $6, case when fingerprint = target then now() end
       from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) g (fingerprint, target, reason, pattern, note)
     on conflict (fingerprint) do update
       set target = excluded.target, via = null, reason = excluded.reason, note = excluded.note, created_by = excluded.created_by,
           created_at = now(), moved_at = excluded.moved_at, due_at = excluded.due_at, awaits = null`,
    [of("fingerprint"), of("target"), of("reason"), of("pattern"), of("note"), by],
  );
  return followed;
}

/** Events were parked in these groups again: those of an aliased group are moved on. */
export async function moveAgain(tx: Tx, fingerprints: readonly string[]): Promise<void> {
  await tx.run(
    "update group_aliases set moved_at = null, due_at = now() where fingerprint = any($1::text[]) and target <> fingerprint",
    [fingerprints],
  );
}
