/** What the server read for the first HTML of a page, and the address at which the browser reads it again. */
export type FirstRead = { path: string; answer: unknown; readAtMs: number };

export const SOURCES_PATH = "/api/v1/sources?limit=200";
export const KINDS_PATH = "/api/v1/kinds";
export const TARGETS_PATH = "/api/v1/targets";

/** @param state `live`: in force now; `ended`: lifted or expired, newest first */
export function controlsPath(state: "live" | "ended"): string {
  return `/api/v1/controls?state=${state}&limit=50`;
}
