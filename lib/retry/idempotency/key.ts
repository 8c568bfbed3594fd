/** Where a key comes from: the producer's own key, or else what makes two requests the same. */
export type KeySource =
  | { businessKey: string }
  | {
      payload: Uint8Array;
      user: string;
      /** Epoch ms of the request, and the width of the bucket within which equal requests are one. */
      atMs: number;
      bucketMs: number;
    };

/**
 * The idempotency key: the business key as it is, or the hex SHA-256 of payload, time bucket and user. The bucket is
 * floor(atMs / bucketMs): two equal requests on either side of an edge get two keys, so a business key is better.
 */
export async function idempotencyKey(source: KeySource): Promise<string> {
  if ("businessKey" in source) return source.businessKey;
  const head = new TextEncoder().encode(keyHead(source));
  const bytes = new Uint8Array(head.length + source.payload.length);
  bytes.set(head);
  bytes.set(source.payload, head.length);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Lengths are part of what is hashed, so that moving a character from one field to the next changes the key. */
function keyHead({ user, atMs, bucketMs }: Extract<KeySource, { user: string }>): string {
  return `${Math.floor(atMs / bucketMs)}:${user.length}:${user}:`;
}
