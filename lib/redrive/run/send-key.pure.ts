/**
 * The Idempotency-Key of every send of one revision of an event, in all its redrives: a consumer that remembers it
 * processes the revision once, whichever send reaches it, and does not answer another revision with what it answered this
 * one. `<source>:<eventId>` for the first revision, `<source>:<eventId>:r2` for the second.
 *
 * No two revisions share a key: a name of a source holds no colon, and an event whose own id ends like a revision
 * carries the number for its first one, too.
 */
export function sendKey({ source, eventId, revision }: { source: string; eventId: string; revision: number }): string {
  const key = `${source}:${eventId}`;
  return revision === 1 && !/:r\d+$/.test(eventId) ? key : `${key}:r${revision}`;
}
