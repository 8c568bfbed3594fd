import { DomainError } from "@/lib/core/problem";
import type { Tx } from "@/lib/store/db";

/** How long a repeated request gets the first one's answer. */
const ANSWER_KEPT_MS = 24 * 3_600_000;

export type IdempotentRequest = {
  actor: string;
  /** The Idempotency-Key header, unquoted. */
  key: string;
  /** Hash of method, path and body: the same key with another request is an error, not an answer. */
  fingerprint: string;
};

/**
 * Claims an Idempotency-Key inside the transaction of the work it guards. null = new: do the work and `rememberAnswer`.
 * Else the first answer. A second request that comes while the first still runs waits at the unique index, then reads
 * its answer. Throws DomainError `idempotency-key-reused` when the key came with another request.
 */
export async function claimRequest<Answer>(tx: Tx, request: IdempotentRequest, nowMs: number): Promise<Answer | null> {
  await tx.run(
    `delete from idempotency_keys
      where actor = $1 and key = $2 and expires_at < to_timestamp($3::float8 / 1000)`,
    [request.actor, request.key, nowMs],
  );
  const claimed = await tx.run(
    `insert into idempotency_keys (actor, key, fingerprint, expires_at)
     values ($1, $2, $3, to_timestamp($4::float8 / 1000)) on conflict (actor, key) do nothing`,
    [request.actor, request.key, request.fingerprint, nowMs + ANSWER_KEPT_MS],
  );
  if (claimed === 1) return null;
  const [known] = await tx.query<{ fingerprint: string; response: Answer }>(
    "select fingerprint, response from idempotency_keys where actor = $1 and key = $2",
    [request.actor, request.key],
  );
  if (known?.fingerprint !== request.fingerprint) {
    throw new DomainError("idempotency-key-reused", "This Idempotency-Key was used with another request", {
      fields: [{ field: "Idempotency-Key", detail: "make a new key for a new request" }],
    });
  }
  return known.response;
}

/**
 * Answers once, inside the transaction of the work: a repeated request gets the first answer (`isNew` false), and nothing
 * happens a second time. Throws as `claimRequest`.
 */
export async function answerOnce<Answer>(
  tx: Tx,
  request: IdempotentRequest | null | undefined,
  nowMs: number,
  work: () => Promise<Answer>,
): Promise<{ answer: Answer; isNew: boolean }> {
  const known = request ? await claimRequest<Answer>(tx, request, nowMs) : null;
  if (known) return { answer: known, isNew: false };
  const answer = await work();
  if (request) await rememberAnswer(tx, request, answer);
  return { answer, isNew: true };
}

export async function rememberAnswer(tx: Tx, request: IdempotentRequest, answer: unknown): Promise<void> {
  await tx.run("update idempotency_keys set status = 202, response = $3::jsonb where actor = $1 and key = $2", [
    request.actor,
    request.key,
    JSON.stringify(answer),
  ]);
}
