/** The page of a group, of one source where one is given. */
export function groupPath(fingerprint: string, source: string | null = null): string {
  const of = source === null ? "" : `?source=${encodeURIComponent(source)}`;
  return `/groups/${encodeURIComponent(fingerprint)}${of}`;
}
