/**
 * The keys of one dialog opening. The same request has the same key however often it is sent: a double click, or a
 * repeat after a lost answer, starts one redrive. A request that was changed in between is another one and gets its
 * own key, since a key that comes back with another body is refused.
 */
export function idempotencyKeys(random: () => string): (request: unknown) => string {
  const known = new Map<string, string>();
  return (request) => {
    const body = JSON.stringify(request);
    const key = known.get(body) ?? random();
    known.set(body, key);
    return key;
  };
}

/** 128 random bits as hex. `crypto.randomUUID` is missing on plain HTTP beyond localhost; this is not. */
export function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
