import type { Queryable, Tx } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/** The time for which a repeated request gets the first answer. */
export const ANSWER_KEPT_MS = 24 * 3_600_000;
/** The claim of a process that died during a request ends after this time; a live process renews it before. */
export const KEY_LEASE_MS = 30_000;

type RequestKey = {
  actor: string;
  /** The Idempotency-Key header, unquoted. */
  key: string;
};

export type IdempotentRequest = RequestKey & {
  /** Hash of method, path and body: the same key with another request is an error. */
  fingerprint: string;
};

/** `answer` is undefined while the first request still runs, in this process or another. */
type Known<Answer> = { fingerprint: string | null; answer: Answer | undefined };

/** A row that is no longer valid: its answer is too old, or its holder died. `$3` = now, epoch milliseconds. */
const GONE = `k.expires_at <= to_timestamp($3::float8 / 1000)
  or (k.response is null and k.lease_until <= to_timestamp($3::float8 / 1000))`;

const KEPT_UNTIL = `to_timestamp(($3::float8 + ${ANSWER_KEPT_MS}) / 1000)`;
const LEASE_END = `to_timestamp(($3::float8 + ${KEY_LEASE_MS}) / 1000)`;

async function readKnown<Answer>(db: Queryable, { actor, key }: RequestKey): Promise<Known<Answer>> {
  const [row] = await db.query<{ fingerprint: string | null; response: { answer: Answer } | null }>(
    "select fingerprint, response from idempotency_keys where actor = $1 and key = $2",
    [actor, key],
  );
  return { fingerprint: row?.fingerprint ?? null, answer: row?.response?.answer };
}

/**
 * Claims an Idempotency-Key inside the transaction of the work. null = new: do the work and call `rememberAnswer`. Else
 * returns the first answer. A second request that comes while the first still runs waits at the unique index, then
 * reads its answer. Throws DomainError `idempotency-key-reused` when the key came with another request,
 * `idempotency-key-in-progress` while a request that holds it by a lease runs.
 */
async function claimRequest<Answer>(tx: Tx, request: IdempotentRequest, nowMs: number): Promise<Answer | null> {
  const claimed = await tx.run(
    `insert into idempotency_keys as k (actor, key, expires_at, fingerprint)
     values ($1, $2, ${KEPT_UNTIL}, $4)
     on conflict (actor, key) do update
        set fingerprint = excluded.fingerprint, expires_at = excluded.expires_at, response = null, holder = null,
            lease_until = null
      where ${GONE}`,
    [request.actor, request.key, nowMs, request.fingerprint],
  );
  return claimed === 1 ? null : answerOf(await readKnown<Answer>(tx, request), request.fingerprint);
}

function answerOf<Answer>({ fingerprint, answer }: Known<Answer>, asked: string): Answer {
  if (answer === undefined) throw inProgress();
  if (fingerprint !== asked) throw keyReused();
  return answer;
}

/** The first answer to a request, without claiming its key; null = none yet. Throws `idempotency-key-reused`. */
export async function firstAnswer<Answer>(
  db: Queryable,
  request: IdempotentRequest | null,
  nowMs: number,
): Promise<Answer | null> {
  if (request === null) return null;
  const [known] = await db.query<{ fingerprint: string; response: { answer: Answer } }>(
    `select fingerprint, response from idempotency_keys
      where actor = $1 and key = $2 and response is not null and expires_at > to_timestamp($3::float8 / 1000)`,
    [request.actor, request.key, nowMs],
  );
  if (known === undefined) return null;
  return answerOf({ fingerprint: known.fingerprint, answer: known.response.answer }, request.fingerprint);
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
  await tx.run("update idempotency_keys set response = $3::json where actor = $1 and key = $2", [
    request.actor,
    request.key,
    JSON.stringify({ answer }),
  ]);
}

/** The holder of a key by a lease: a UUID made for one request. */
export type HeldKey = RequestKey & { holder: string };

/** Holds a key for a request that is no single transaction. null = held. Throws `idempotency-key-in-progress`. */
export async function holdKey<Answer>(
  db: Queryable,
  { actor, key, holder }: HeldKey,
  nowMs: number,
): Promise<{ fingerprint: string; answer: Answer } | null> {
  const held = await db.run(
    `insert into idempotency_keys as k (actor, key, expires_at, holder, lease_until)
     values ($1, $2, ${KEPT_UNTIL}, $4, ${LEASE_END})
     on conflict (actor, key) do update
        set fingerprint = null, expires_at = excluded.expires_at, response = null, holder = excluded.holder,
            lease_until = excluded.lease_until
      where ${GONE}`,
    [actor, key, nowMs, holder],
  );
  if (held === 1) return null;
  const { fingerprint, answer } = await readKnown<Answer>(db, { actor, key });
  if (answer === undefined) throw inProgress();
  return { fingerprint: fingerprint!, answer };
}

const HELD = "actor = $1 and key = $2 and holder = $3 and response is null";

/** False = another request has taken the key over. */
export async function renewKey(db: Queryable, { actor, key, holder }: HeldKey, nowMs: number): Promise<boolean> {
  const until = `to_timestamp(($4::float8 + ${KEY_LEASE_MS}) / 1000)`;
  const values = [actor, key, holder, nowMs];
  return (await db.run(`update idempotency_keys set lease_until = ${until} where ${HELD}`, values)) === 1;
}

/** Stores the answer under a held key. False = another request has taken the key over. */
export async function answerKey(
  db: Queryable,
  { actor, key, holder }: HeldKey,
  { fingerprint, answer }: { fingerprint: string; answer: unknown },
): Promise<boolean> {
  const changed = await db.run(`update idempotency_keys set fingerprint = $4, response = $5::json where ${HELD}`, [
    actor,
    key,
    holder,
    fingerprint,
    // Without an answer the row would say that its request still runs.
    JSON.stringify({ answer: answer ?? null }),
  ]);
  return changed === 1;
}

/** Releases a held key: its request failed, and may be sent again. */
export async function releaseKey(db: Queryable, { actor, key, holder }: HeldKey): Promise<void> {
  await db.run(`delete from idempotency_keys where ${HELD}`, [actor, key, holder]);
}

function inProgress(): DomainError {
  return new DomainError("idempotency-key-in-progress", "The first request with this Idempotency-Key is still running");
}

export function keyReused(): DomainError {
  return new DomainError("idempotency-key-reused", "This Idempotency-Key was used with another request", {
    fields: [{ field: "Idempotency-Key", detail: "use a new key for a new request" }],
  });
}
