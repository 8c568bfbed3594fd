import type { AlertSubject } from "@/lib/observe/alerts/findings.pure";

/** The page that shows what an alert is about: that of its group, else its own. */
export function alertPath({
  id,
  subject,
  source,
}: {
  id: string;
  subject: AlertSubject;
  source: string | null;
}): string {
  if (subject.fingerprint === undefined) return `/alerts/${id}`;
  return `${groupPath(subject.fingerprint, source)}${source === null ? "?" : "&"}alert=${id}`;
}

/** The page of a group, of one source where there is one. */
export function groupPath(fingerprint: string, source: string | null): string {
  const of = source === null ? "" : `?source=${encodeURIComponent(source)}`;
  return `/groups/${encodeURIComponent(fingerprint)}${of}`;
}

/** The address of a runbook by its name: the console has them all. */
export function runbookAt(publicUrl: string): (name: string) => string {
  return (name) => `${publicUrl}/runbooks/${name}`;
}
