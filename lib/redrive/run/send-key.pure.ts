/**
 * The Idempotency-Key of every send of one revision of an event, in all its redrives: a consumer that remembers it
 * processes the revision once, whichever send reaches it, and does not answer another revision with what it answered this
 * one. `<source>:<eventId>` for the first revision, `<source>:<eventId>:r2` for the second; `<source>/<producer>:<eventId>`
 * where the id is unique within its producer, whose characters are percent-encoded.
 *
 * No two revisions share a key: neither a name of a source nor an encoded producer holds a colon or a slash, and an event
 * whose own id ends like a revision carries the number for its first one, too.
 */
export function sendKey({
  source,
  producer,
  eventId,
  revision,
}: {
  source: string;
  /** '' = the id is unique in the source. */
  producer: string;
  eventId: string;
  revision: number;
}): string {
  const scope = producer === "" ? source : `${source}/${encodeURIComponent(producer.toWellFormed())}`;
  const key = `${scope}:${eventId}`;
  return revision === 1 && !/:r\d+$/.test(eventId) ? key : `${key}:r${revision}`;
}
