/** The page that shows a group, of one source where there is one. */
export function groupPath(fingerprint: string, source: string | null = null): string {
  const of = source === null ? "" : `&source=${encodeURIComponent(source)}`;
  return `/events?fingerprint=${encodeURIComponent(fingerprint)}${of}`;
}
