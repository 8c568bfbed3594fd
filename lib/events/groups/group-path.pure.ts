type Narrowed = { from?: string | undefined; to?: string | undefined };

/** The page of a group, of one source where one is given, and of the window that its arrivals are judged in. */
export function groupPath(fingerprint: string, source: string | null = null, { from, to }: Narrowed = {}): string {
  const params = new URLSearchParams();
  if (source !== null) params.set("source", source);
  if (from !== undefined) params.set("from", from);
  if (to !== undefined) params.set("to", to);
  const query = params.size === 0 ? "" : `?${params}`;
  return `/groups/${encodeURIComponent(fingerprint)}${query}`;
}
