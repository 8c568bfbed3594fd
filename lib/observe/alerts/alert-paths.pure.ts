/** The page of an alert. */
export function alertPath(id: string): string {
  return `/alerts/${id}`;
}

/** The events of a group, of one source where there is one. */
export function groupPath(fingerprint: string, source: string | null): string {
  const of = source === null ? "" : `&source=${encodeURIComponent(source)}`;
  return `/events?fingerprint=${encodeURIComponent(fingerprint)}${of}`;
}

/** The address of a runbook by its name: the console has them all. */
export function runbookAt(publicUrl: string): (name: string) => string {
  return (name) => `${publicUrl}/runbooks/${name}`;
}
