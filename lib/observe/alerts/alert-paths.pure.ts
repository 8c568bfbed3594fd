import { groupPath } from "@/lib/events/groups/group-path.pure";

export function alertPath(id: string): string {
  return `/alerts/${id}`;
}

type About = {
  id: string;
  source: string | null;
  subject: { fingerprint?: string | undefined; errorCode?: string | undefined };
};

/** The page where a person acts on it: its group, the groups of its error code, or its own page, which names target or redrive. */
export function aboutPath({ id, source, subject: { fingerprint, errorCode } }: About): string {
  if (fingerprint !== undefined) return groupPath(fingerprint, source);
  if (errorCode === undefined) return alertPath(id);
  const of = source === null ? "" : `&source=${encodeURIComponent(source)}`;
  return `/groups?errorCode=${encodeURIComponent(errorCode)}${of}`;
}

/** The address of a runbook by its name: the console has them all. */
export function runbookAt(publicUrl: string): (name: string) => string {
  return (name) => `${publicUrl}/runbooks/${name}`;
}

const PAGE = 50;

export type AlertState = "firing" | "resolved" | "pending";

/** The API's list of alerts, as the console reads it. */
export function alertsPath(state: AlertState, params: { source?: string; rule?: string } = {}): string {
  return `/api/v1/alerts?${new URLSearchParams({ state, limit: String(PAGE), ...params })}`;
}
