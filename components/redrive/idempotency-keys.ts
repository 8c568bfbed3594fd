/**
 * The keys of one opened dialog. Equal requests have equal keys, so a double click, or a repeat after a lost answer,
 * starts one redrive. A changed request gets a new key, because the server refuses a known key with another body.
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
