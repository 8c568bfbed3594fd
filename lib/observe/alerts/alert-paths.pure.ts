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
  const of = source === null ? "" : `&source=${encodeURIComponent(source)}`;
  return `/groups/${encodeURIComponent(subject.fingerprint)}?alert=${id}${of}`;
}

/** The address of a runbook by its name: the console has them all. */
export function runbookAt(publicUrl: string): (name: string) => string {
  return (name) => `${publicUrl}/runbooks/${name}`;
}
