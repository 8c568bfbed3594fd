/** Epoch milliseconds as they go on the wire: ISO 8601 with milliseconds, UTC. */
export function iso(ms: number): string {
  return new Date(ms).toISOString();
}

export function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : iso(ms);
}
