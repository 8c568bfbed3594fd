import { plainAddressFault, redactUrl } from "@/lib/guard/redaction/redact-url.shapes";
import type { ConfigLimits } from "@/lib/guard/redaction/secret-references.pure";
import { mayReference, referenceFault, referenceIn } from "@/lib/guard/redaction/secret-references.pure";
import {
  CONFIRMED_DESTINATION,
  confirmedUrlFault,
  SETTING_BOUNDS,
  settingsFrom,
} from "@/lib/guard/settings/settings.pure";
import type { ShownSettings } from "@/lib/guard/settings/settings.read";
import type { SettingsChange } from "@/lib/guard/settings/settings.shapes";
import { removeConfirmedUrl, writeSettings } from "@/lib/guard/settings/settings.write";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { LowRateDeps } from "@/lib/platform/low-rate-deps";
import { type FieldError, invalidFields } from "@/lib/platform/plain/problem.pure";

export type SettingsDeps = LowRateDeps & { env: ConfigLimits };

/** Changes settings; the next decision uses them. Throws DomainError `invalid-config` with every wrong field. */
export async function changeSettings(
  deps: SettingsDeps,
  change: SettingsChange,
  viewer: Viewer,
): Promise<ShownSettings> {
  assertMay(viewer, "change-settings", "all");
  assertValid(change, deps.env);
  const atMs = deps.clock.wallMs();
  return deps.lowRate.write(async ({ prisma, audit }) => {
    const { confirmedUrl, settings } = change;
    const values = { ...settings, ...(typeof confirmedUrl === "string" && { confirmedUrl }) };
    const stored = await writeSettings(prisma, values, { actor: viewer.name, atMs });
    if (confirmedUrl === null) await removeConfirmedUrl(prisma, CONFIRMED_DESTINATION);
    const urlBefore = typeof stored.confirmedUrl === "string" ? stored.confirmedUrl : null;
    const detail = plainAddressFault(confirmedUrl ?? "", urlBefore, deps.env.plainSecretMode);
    if (detail !== null) throw invalidFields([{ field: "confirmedUrl", detail }], "invalid-config");
    const urlAfter = confirmedUrl === undefined ? urlBefore : confirmedUrl;
    const before = { ...settingsFrom(stored), confirmedUrl: urlBefore && redactUrl(urlBefore) };
    const after = { ...settingsFrom({ ...stored, ...settings }), confirmedUrl: urlAfter && redactUrl(urlAfter) };
    await audit({
      actor: viewer.name,
      action: "setting.changed",
      reason: change.reason,
      before,
      after,
      count: Object.keys(settings).length + (confirmedUrl === undefined ? 0 : 1),
      atMs,
    });
    const { confirmedUrl: shownUrl, ...shown } = after;
    return { settings: shown, confirmedUrl: shownUrl };
  });
}

function assertValid({ settings, confirmedUrl }: SettingsChange, limits: ConfigLimits): void {
  const fields = Object.entries(settings).flatMap(([name, value]): FieldError[] => {
    const bounds = SETTING_BOUNDS[name as keyof typeof SETTING_BOUNDS];
    if (!bounds) return [{ field: name, detail: `unknown: use ${Object.keys(SETTING_BOUNDS).join(", ")}` }];
    if (Number.isInteger(value) && value >= bounds.min && value <= bounds.max) return [];
    return [{ field: name, detail: `must be a whole number from ${bounds.min} to ${bounds.max}` }];
  });
  const fault = typeof confirmedUrl === "string" ? urlFault(confirmedUrl, limits) : null;
  if (fault !== null) fields.push({ field: "confirmedUrl", detail: fault });
  if (fields.length > 0) throw invalidFields(fields, "invalid-config");
}

function urlFault(text: string, { envReferences, addresses }: ConfigLimits): string | null {
  const fault = confirmedUrlFault(text);
  if (fault !== null) return fault;
  const name = referenceIn(text);
  if (name !== null) return mayReference(name, envReferences) ? null : referenceFault(name, "setting");
  try {
    addresses.assertAllowed(new URL(text).hostname);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}
