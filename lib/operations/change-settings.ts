import type { SettingsChange } from "@/lib/contract/targets";
import { DomainError, type FieldError } from "@/lib/core/problem";
import { SETTING_BOUNDS, type Settings } from "@/lib/core/settings";
import { assertMay, type Viewer } from "@/lib/core/viewer";
import type { Deps } from "@/lib/operations/deps";
import { readSettings } from "@/lib/store/read/settings";
import { appendAudit } from "@/lib/store/write/audit";
import { writeSettings } from "@/lib/store/write/settings";

/** Changes settings, in force with the next decision. Throws DomainError `invalid-config` with every wrong field. */
export async function changeSettings(deps: Deps, change: SettingsChange, viewer: Viewer): Promise<Settings> {
  assertMay(viewer, "change-settings", "all");
  assertWithinBounds(change.settings);
  return deps.db.transaction(async (tx) => {
    const before = await readSettings(tx);
    await writeSettings(tx, change.settings, viewer.name);
    const after = await readSettings(tx);
    await appendAudit(tx, {
      actor: viewer.name,
      action: "setting.changed",
      subjectKind: "setting",
      subjectId: null,
      reason: change.reason,
      before,
      after,
      count: Object.keys(change.settings).length,
      atMs: deps.clock.wallMs(),
    });
    return after;
  });
}

function assertWithinBounds(settings: Record<string, number>): void {
  const fields = Object.entries(settings).flatMap(([name, value]): FieldError[] => {
    const bounds = SETTING_BOUNDS[name as keyof Settings];
    if (!bounds) return [{ field: name, detail: `unknown: use ${Object.keys(SETTING_BOUNDS).join(", ")}` }];
    if (Number.isInteger(value) && value >= bounds.min && value <= bounds.max) return [];
    return [{ field: name, detail: `must be a whole number from ${bounds.min} to ${bounds.max}` }];
  });
  if (fields.length === 0) return;
  throw new DomainError("invalid-config", fields.map((fault) => `${fault.field}: ${fault.detail}`).join("; "), {
    fields,
  });
}
