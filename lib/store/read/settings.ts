import { type Settings, settingsFrom } from "@/lib/core/settings";
import { assertMay, type Viewer } from "@/lib/core/viewer";
import type { Queryable } from "@/lib/store/db";

/** The same for a viewer: settings apply to every source, so every viewer sees them all. */
export async function showSettings(db: Queryable, viewer: Viewer): Promise<Settings> {
  assertMay(viewer, "view");
  return readSettings(db);
}

/** Settings in force: stored values over the defaults. */
export async function readSettings(db: Queryable): Promise<Settings> {
  const rows = await db.query<{ key: string; value: unknown }>("select key, value from settings", [], {
    name: "settings",
  });
  return settingsFrom(Object.fromEntries(rows.map((row) => [row.key, row.value])));
}
