import { type Settings, settingsFrom } from "@/lib/core/settings";
import type { Queryable } from "@/lib/store/db";

/** Settings in force: stored values over the defaults. */
export async function readSettings(db: Queryable): Promise<Settings> {
  const rows = await db.query<{ key: string; value: unknown }>("select key, value from settings", [], {
    name: "settings",
  });
  return settingsFrom(Object.fromEntries(rows.map((row) => [row.key, row.value])));
}
