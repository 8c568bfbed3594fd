import type { SettingsChange } from "@/lib/contract/targets";
import { DomainError, type FieldError } from "@/lib/core/problem";
import { SETTING_BOUNDS, type Settings, settingsFrom } from "@/lib/core/settings";
import { assertMay, type Viewer } from "@/lib/core/viewer";
import type { LowRateDeps } from "@/lib/operations/deps";
import { writeSettings } from "@/lib/store/write/settings";

/** Changes settings; the next decision uses them. Throws DomainError `invalid-config` with every wrong field. */
export async function changeSettings(deps: LowRateDeps, change: SettingsChange, viewer: Viewer): Promise<Settings> {
  assertMay(viewer, "change-settings", "all");
  assertWithinBounds(change.settings);
  const atMs = deps.clock.wallMs();
  return deps.lowRate.write(async ({ prisma, audit }) => {
    const stored = await writeSettings(prisma, change.settings, { actor: viewer.name, atMs });
    const before = settingsFrom(stored);
    const after = settingsFrom({ ...stored, ...change.settings });
    await audit({
      actor: viewer.name,
      action: "setting.changed",
      subjectKind: "setting",
      subjectId: null,
      reason: change.reason,
      before,
      after,
      count: Object.keys(change.settings).length,
      atMs,
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
