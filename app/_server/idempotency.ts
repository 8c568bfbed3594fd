import { createHash } from "node:crypto";
import { DomainError } from "@/lib/core/problem";
import type { IdempotentRequest } from "@/lib/store/write/idempotent-request";

const KEY_CHARS_MAX = 255;

/**
 * The Idempotency-Key of a request, or null when it has none. The draft standard's form is a quoted string; many clients
 * send it bare: both name the same key. Throws DomainError `invalid-request` for an empty or oversized key.
 */
export function idempotencyOf(request: Request, actor: string, body: unknown): IdempotentRequest | null {
  const header = request.headers.get("idempotency-key");
  if (header === null) return null;
  const key = header.trim().replace(/^"(.*)"$/, "$1");
  if (key === "" || key.length > KEY_CHARS_MAX) {
    throw new DomainError("invalid-request", `Idempotency-Key: must have 1 to ${KEY_CHARS_MAX} characters`, {
      fields: [{ field: "Idempotency-Key", detail: "send a new UUID with each new request" }],
    });
  }
  const path = new URL(request.url).pathname;
  const fingerprint = createHash("sha256")
    .update(`${request.method} ${path} ${JSON.stringify(body)}`)
    .digest("hex");
  return { actor, key, fingerprint };
}
