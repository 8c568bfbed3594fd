/**
 * The Idempotency-Key of every send of an event, in all its redrives: a consumer that remembers it processes the event once,
 * whichever send reaches it. A name of a source holds no colon.
 */
export function sendKey(source: string, eventId: string): string {
  return `${source}:${eventId}`;
}
