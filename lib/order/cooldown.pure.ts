import type { Settings } from "@/lib/guard/settings/settings.pure";

/** Cooldown after the n-th consecutive failure (n >= 1): first, doubled, doubled again, up to the cap. Milliseconds. */
export function cooldownAfter(failures: number, settings: Pick<Settings, "cooldownMs" | "cooldownMsMax">): number {
  const doublings = Math.min(Math.max(failures, 1) - 1, 40);
  return Math.min(settings.cooldownMs * 2 ** doublings, settings.cooldownMsMax);
}
