import {
  answerNow,
  type ChangeChunk,
  type ChangeContext,
  type Changed,
  changeEvents,
  refusals,
} from "@/lib/events/bulk/change-events";
import type { BulkAnswer } from "@/lib/events/events.shapes";
import { unknownSource } from "@/lib/guard/viewer/source-names.read";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { holdSources } from "@/lib/intake/park.write";
import { namedEvents } from "@/lib/intake/producer";
import type { Deps } from "@/lib/lane/deps";
import type { Tx } from "@/lib/platform/database/db";
import { answerOnce, type IdempotentRequest } from "@/lib/platform/database/idempotent-request.write";
import { inTransaction } from "@/lib/platform/database/retrying";
import { confirmWithin } from "@/lib/redrive/confirm/confirm";
import type { ConfirmKeys, ConfirmRequest } from "@/lib/redrive/confirm/confirm.shapes";
import { type Confirmable, lockConfirmable, recordProcessed } from "@/lib/redrive/confirm/confirm-events.write";
import { nextStatus } from "@/lib/states/event-state.pure";

/** The name of the consumer when the caller gives none. */
const CONSUMER = "api";

/**
 * Records the report of a consumer that it has processed these events. A REDRIVEN event is confirmed at once. An event
 * that is still parked reached the consumer in another way and is closed. The report is also kept for the dry run, so
 * that an event which is QUEUED or IGNORED is not sent again. The events are named by the producer's ids (at most
 * 1,000) or by any selection, see `changeEvents`. Throws DomainError `unknown-source`.
 */
export async function confirmEvents(
  deps: Deps,
  request: ConfirmRequest & { idempotency?: IdempotentRequest | null },
  viewer: Viewer,
): Promise<BulkAnswer> {
  const options = { consumer: request.consumer ?? CONSUMER };
  if ("select" in request) {
    return changeEvents(deps, { ...request, options, kind: "confirm", change: confirmChunk }, viewer);
  }
  assertMay(viewer, "confirm", [request.source]);
  const actor = viewer.name;
  const nowMs = deps.clock.wallMs();
  const { answer } = await inTransaction(deps.db, (tx) =>
    answerOnce(tx, request.idempotency, nowMs, () => confirmKeys(tx, request, { actor, options, nowMs })),
  );
  return answer;
}

async function confirmKeys(tx: Tx, request: ConfirmKeys, context: ChangeContext): Promise<BulkAnswer> {
  const eventIds = [...new Set(request.eventIds)];
  const sourceId = (await holdSources(tx, [request.source])).ids.get(request.source);
  if (sourceId === undefined) throw unknownSource(request.source);
  const { named, several } = await namedEvents(tx, { sourceId, eventIds, producer: request.producer });
  const events = await lockConfirmable(
    tx,
    named.flatMap(({ id }) => (id === null ? [] : [{ id }])),
  );
  const { consumer = CONSUMER } = context.options;
  await recordProcessed(tx, sourceId, consumer, named);
  const { refused, ...changed } = await confirmEach(tx, events, { by: consumer, nowMs: context.nowMs });
  const counted = several === 0 ? refused : { ...refused, "several-producers": several };
  const missing = named.length - events.length;
  const reason = `processed by ${consumer}`;
  return answerNow(tx, { ...changed, refused: counted }, missing, { ...context, kind: "confirm", reason });
}

export const confirmChunk: ChangeChunk = async (tx, selected, { nowMs, options: { consumer = CONSUMER } }) => {
  const candidates = await lockConfirmable(tx, selected);
  const bySource = Map.groupBy(candidates, (event) => event.sourceId);
  for (const [sourceId, events] of [...bySource].sort(([left], [right]) => (left < right ? -1 : 1))) {
    await recordProcessed(tx, sourceId, consumer, events);
  }
  return confirmEach(tx, candidates, { by: consumer, nowMs });
};

async function confirmEach(
  tx: Tx,
  events: readonly Confirmable[],
  { by, nowMs }: { by: string; nowMs: number },
): Promise<Changed> {
  const confirmable = events.filter(isConfirmable).map((event) => event.id);
  const changed = (await confirmWithin(tx, confirmable, { by, nowMs })).map(({ id, from }) => ({ id, from }));
  const ids = new Set(changed.map(({ id }) => id));
  const queued = events.filter(({ status }) => status === "QUEUED");
  const others = events.filter(({ status }) => status !== "QUEUED");
  return { changed, refused: refusals(others, ids, whyUnconfirmed), inFlight: [], recorded: queued.length };
}

function isConfirmable(event: Confirmable): boolean {
  return !event.confirmed && nextStatus(event.status, "confirm") !== null;
}

function whyUnconfirmed({ status, confirmed }: Confirmable): string {
  if (confirmed) return "already-confirmed";
  return status === "IGNORED" ? "ignored" : "changed-meanwhile";
}
