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
