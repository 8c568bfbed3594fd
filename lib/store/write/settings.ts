import type { Tx } from "@/lib/store/db";

export async function writeSettings(tx: Tx, settings: Record<string, number>, actor: string): Promise<void> {
  await tx.run(
    `insert into settings (key, value, updated_by)
     select key, to_jsonb(value), $3 from unnest($1::text[], $2::float8[]) as w(key, value)
     on conflict (key) do update set value = excluded.value, updated_by = excluded.updated_by, updated_at = now()`,
    [Object.keys(settings), Object.values(settings), actor],
  );
}
