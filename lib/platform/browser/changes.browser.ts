import type { Query } from "@tanstack/react-query";

/** Ages and windows move on without a change: after this time a poll reads anyway. */
const UNCHANGED_MS_MAX = 180_000;

/** What the server last said with its status; null = nothing yet. It differs after any change that the audit records, and after an alert changed its state. */
let latest: string | null = null;

export function noteChanges(changes: string | null): void {
  latest = changes;
}

/** What was known when each query began its last read, so that a change during the read is not missed. */
const readWith = new WeakMap<object, { changes: string | null; atMs: number }>();

const answeredAt = new WeakMap<object, number>();

/**
 * When an answer came, epoch milliseconds of this browser. A poll that `unlessUnchanged` answers counts as read now, but what the answer
 * says to be left of a time is left since then.
 */
export function answeredAtMs(answer: object, nowMs = Date.now()): number {
  const known = answeredAt.get(answer);
  if (known !== undefined) return known;
  answeredAt.set(answer, nowMs);
  return nowMs;
}

/**
 * A `persister` for polls of data that changes only with an audit entry or the state of an alert: answers from the cache while nothing has changed. What the
 * console itself has changed (an invalidated query), a failed read and a further page are always read.
 */
export async function unlessUnchanged<T, Context>(
  read: (context: Context) => T | Promise<T>,
  context: unknown,
  query: Query,
): Promise<T> {
  const { data, isInvalidated, status, fetchMeta } = query.state;
  const last = readWith.get(query);
  const known = last !== undefined && last.changes !== null && last.changes === latest;
  if (known && status === "success" && !isInvalidated && !fetchMeta?.fetchMore) {
    if (performance.now() - last.atMs < UNCHANGED_MS_MAX) return data as T;
  }
  const begun = { changes: latest, atMs: performance.now() };
  const answer = await read(context as Context);
  readWith.set(query, begun);
  return answer;
}
