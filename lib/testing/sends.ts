import { systemClock } from "@/lib/platform/clock";
import type { Queryable } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import type { AttemptClose } from "@/lib/redrive/run/store/finish-items.write";
import { type AttemptIntent, openIntents } from "@/lib/redrive/run/store/intents.write";

/** Records intents as a worker does. Returns the keys of those that may be sent. */
export async function intend(db: Queryable, intents: readonly AttemptIntent[]): Promise<Set<string>> {
  return (await openIntents({ db, clock: systemClock }, intents, { id: uuidv7(Date.now()), ended: [] })).opened;
}

type Send = Pick<AttemptIntent, "id" | "redriveId"> &
  Partial<Pick<AttemptIntent, "attempt" | "fence" | "idempotencyKey">>;

/** Stores a send under way, whatever its item says. */
export async function storeOpenSend(db: Queryable, send: Send): Promise<void> {
  const { id, redriveId, attempt = 1, fence = 1n, idempotencyKey = "orders:event-0000" } = send;
  await db.run(
    `insert into send_intents (wave, opened_at, ids, redrive_ids, attempts, fences, revisions, targets, target_ids, keys)
     values (uuidv7(), now(), array[$1::uuid], array[$2::uuid], array[$3::int], array[$4::bigint], '{1}', '{orders}', array[null::uuid], array[$5])`,
    [id, redriveId, attempt, fence.toString(), idempotencyKey],
  );
}

/** The end of a send, with an answer of 503 where `change` says no other. */
export function endOf(item: Send, change: Partial<AttemptClose> = {}): AttemptClose {
  return {
    id: item.id,
    redriveId: item.redriveId,
    attempt: item.attempt ?? 1,
    fence: item.fence ?? 1n,
    revision: 1,
    target: "orders",
    targetId: item.id,
    idempotencyKey: item.idempotencyKey ?? "orders:event-0000",
    intent: { openedAtMs: Date.now(), lookedMs: 0, wave: { id: item.id, open: 1 } },
    state: "failed",
    latencyMs: 3,
    code: "HTTP 503",
    detail: null,
    decision: null,
    ...change,
  };
}
