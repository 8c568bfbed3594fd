import { auditEvents } from "@/lib/guard/audit/audit.write";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Deps } from "@/lib/lane/deps";
import { readAggregateOrder } from "@/lib/order/aggregate-order.read";
import { headsText } from "@/lib/order/order-gate.pure";
import { deleteSkips, insertSkip } from "@/lib/order/skips.write";
import { readTail, readTailEvent, type TailEvent } from "@/lib/order/tails/tails.read";
import type { TailOut } from "@/lib/order/tails/tails.shapes";
import type { Tx } from "@/lib/platform/database/db";
import { inTransaction } from "@/lib/platform/database/retrying";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import type { EventStatus } from "@/lib/states/event-state.pure";
import { HOLDING_STATUSES } from "@/lib/states/event-state.pure";

type SkipDeps = Pick<Deps, "db" | "clock">;
type SkipInput = { id: string; reason: string };

/**
 * Lets the later versions of an aggregate pass by its head, until the head is revised, released, comes back once more, or the
 * skip is undone. Nothing is sent by it. A head that is skipped already stays as it is. Returns the tail. Throws DomainError
 * `unknown-event`, `illegal-transition`.
 */
export async function skipHead(deps: SkipDeps, { id, reason }: SkipInput, viewer: Viewer): Promise<TailOut> {
  const atMs = deps.clock.wallMs();
  return inTransaction(deps.db, async (tx) => {
    const event = await lockedEvent(tx, viewer, id);
    if (event.skipped) return readTail(tx, viewer, id);
    await assertHead(tx, id, event);
    await insertSkip(tx, { id, ...event }, { reason, actor: viewer.name, atMs });
    const tail = await readTail(tx, viewer, id);
    const after = { skipped: true, version: event.version, held: tail.held.count };
    await auditEvents(tx, [id], { actor: viewer.name, action: "event.skipped", reason, before: null, after, atMs });
    return tail;
  });
}

/** Lets the event hold the later versions again. Changes nothing when it was not skipped. Throws DomainError `unknown-event`. */
export async function undoSkip(deps: SkipDeps, { id, reason }: SkipInput, viewer: Viewer): Promise<TailOut> {
  const atMs = deps.clock.wallMs();
  return inTransaction(deps.db, async (tx) => {
    const event = await lockedEvent(tx, viewer, id);
    await deleteSkips(tx, [id]);
    const after = { skipped: false, version: event.version };
    const entry = { actor: viewer.name, action: "event.unskipped", reason, before: null, after, atMs };
    if (event.skipped) await auditEvents(tx, [id], entry);
    return readTail(tx, viewer, id);
  });
}

/** The lock is a statement of its own: see `lockEvents` in redrive/run/store/fence.write. */
async function lockedEvent(tx: Tx, viewer: Viewer, id: string): Promise<TailEvent> {
  await tx.query("select id from dlq_events where id = $1 for no key update", [id]);
  const event = await readTailEvent(tx, viewer, id);
  assertMay(viewer, "redrive", [event.source]);
  return event;
}

async function assertHead(
  tx: Tx,
  id: string,
  { sourceId, aggregateType, aggregateId, ...event }: TailEvent,
): Promise<void> {
  const { eventId, version, status } = event;
  if (aggregateId === null || version === null) {
    throw refused(`${eventId} has no ${aggregateId === null ? "aggregate" : "version"}: it holds no other event`);
  }
  if (!(HOLDING_STATUSES as readonly EventStatus[]).includes(status)) {
    throw refused(`${eventId} is ${status}: only a parked event holds others`);
  }
  const [order] = (await readAggregateOrder(tx, [{ sourceId, aggregateType, aggregateId }], null)).values();
  const [head] = order!.heads;
  if (head?.id === id) return;
  if (head === undefined)
    throw refused(`${eventId} is older than what its consumer has processed: it holds no other event`);
  throw refused(`${headsText(aggregateId, [head])}: skip that one first`);
}

function refused(detail: string): DomainError {
  return new DomainError("illegal-transition", detail, { fields: [{ field: "id", detail }] });
}
