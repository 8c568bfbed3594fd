import { redactUrl } from "@/lib/guard/redaction/redact-url.shapes";
import { type Settings, settingsFrom } from "@/lib/guard/settings/settings.pure";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";

export type ShownSettings = { settings: Settings; confirmedUrl: string | null };

/** The same for a viewer: settings apply to every source, so every viewer sees them all, and no token of the address. */
export async function showSettings(db: Queryable, viewer: Viewer): Promise<ShownSettings> {
  assertMay(viewer, "view");
  const url = await readConfirmedUrl(db);
  return { settings: await readSettings(db), confirmedUrl: url && redactUrl(url) };
}

const CONFIRMED_URL = "confirmedUrl";

/** The address to which confirmed events are posted; null = none. */
export async function readConfirmedUrl(db: Queryable): Promise<string | null> {
  const [row] = await db.query<{ url: string | null }>(
    "select value #>> '{}' as url from settings where key = $1",
    [CONFIRMED_URL],
    { name: "confirmed-url" },
  );
  return row?.url ?? null;
}

/** Settings in force: stored values over the defaults. */
export async function readSettings(db: Queryable): Promise<Settings> {
  const rows = await db.query<{ key: string; value: unknown }>("select key, value from settings", [], {
    name: "settings",
  });
  return settingsFrom(Object.fromEntries(rows.map((row) => [row.key, row.value])));
}
