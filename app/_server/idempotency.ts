import { createHash } from "node:crypto";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { IdempotentRequest } from "@/lib/platform/database/idempotent-request.write";
import { DomainError } from "@/lib/platform/plain/problem.pure";

export const KEY_CHARS_MAX = 255;
/** Something besides spaces and quotation marks. */
export const KEY_PATTERN = /[^\s"]/;

/**
 * The Idempotency-Key of a request, or null when it has none. The draft standard's form is a quoted string; many clients
 * send it bare: both name the same key. Throws DomainError `invalid-request` for an empty or oversized key.
 */
export function idempotencyKeyOf(request: Request): string | null {
  const header = request.headers.get("idempotency-key");
  if (header === null) return null;
  const key = header.trim().replace(/^"(.*)"$/, "$1");
  if (!KEY_PATTERN.test(key) || key.length > KEY_CHARS_MAX) {
    throw new DomainError("invalid-request", `Idempotency-Key: must have 1 to ${KEY_CHARS_MAX} characters`, {
      fields: [{ field: "Idempotency-Key", detail: "send a new UUID with each new request" }],
    });
  }
  return key;
}

/** Hash of a request with a JSON body. The same key with another hash is an error, not a repeat. */
export function fingerprintOf(request: Request, body: unknown): string {
  const path = new URL(request.url).pathname;
  return createHash("sha256")
    .update(`${request.method} ${path} ${JSON.stringify(body)}`)
    .digest("hex");
}

/** Key and fingerprint for a use case that keeps its answer in the transaction of its own work; null without a key. */
export function idempotencyOf(request: Request, viewer: Viewer, body: unknown): IdempotentRequest | null {
  const key = idempotencyKeyOf(request);
  return key === null ? null : { actor: viewer.name, key, fingerprint: fingerprintOf(request, body) };
}
