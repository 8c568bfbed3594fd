import type { ConfirmRequest } from "@/lib/contract/confirm";
import type { ChangeAnswer } from "@/lib/contract/events";
import { EVENT_MOVES, nextStatus } from "@/lib/core/event-state";
import { assertMay, type Viewer } from "@/lib/core/viewer";
import type { Clock } from "@/lib/platform/clock";
import { confirmRedrives } from "@/lib/redriving/canary-and-brake";
import type { Db, Tx } from "@/lib/store/db";
import { unknownSource } from "@/lib/store/read/sources";
import { endAggregateFailures } from "@/lib/store/write/aggregate-failures";
import { appendAudit } from "@/lib/store/write/audit";
import {
  type Confirmable,
  type ConfirmedFrom,
  confirmEvents as confirmRows,
  findConfirmable,
  recordProcessed,
} from "@/lib/store/write/confirm-events";
import { countConfirmed } from "@/lib/store/write/confirm-quiet";
import { holdSources } from "@/lib/store/write/park";

/** Who processed it, when the caller does not say. */
const CONSUMER = "api";

/**
 * A consumer's word that it processed these events: what was redriven is confirmed at once, what is still parked came
 * there by another way and is closed. It is also remembered for the dry run, so that an event which is queued or ignored
 * is not sent again. Throws DomainError `unknown-source`.
 */
export async function confirmEvents(
  deps: { db: Db; clock: Clock },
  request: ConfirmRequest,
  viewer: Viewer,
): Promise<ChangeAnswer> {
  assertMay(viewer, "confirm", [request.source]);
  const eventIds = [...new Set(request.eventIds)];
  return deps.db.transaction(async (tx) => {
    const sourceId = (await holdSources(tx, [request.source])).get(request.source);
    if (sourceId === undefined) throw unknownSource(request.source);
    const events = await findConfirmable(tx, sourceId, eventIds);
    await recordProcessed(tx, sourceId, request.consumer ?? CONSUMER, eventIds);
    const moved = await confirmRows(
      tx,
      events.filter(isConfirmable).map((event) => event.id),
    );
    const redriveIds = moved.flatMap(({ redriveId }) => redriveId ?? []);
    await countConfirmed(tx, redriveIds);
    await confirmRedrives(tx, redriveIds, deps.clock.wallMs());
    await endAggregateFailures(
      tx,
      moved.map(({ id }) => id),
      true,
    );
    for (const from of EVENT_MOVES.confirm.from) {
      const ids = moved.filter((event) => event.from === from).map(({ id }) => id);
      await auditConfirmed(tx, ids, {
        from,
        actor: viewer.name,
        consumer: request.consumer ?? CONSUMER,
        nowMs: deps.clock.wallMs(),
      });
    }
    return { changed: moved.length, refused: refusals(eventIds.length, events, new Set(moved.map(({ id }) => id))) };
  });
}

function isConfirmable(event: Confirmable): boolean {
  return !event.confirmed && nextStatus(event.status, "confirm") !== null;
}

function refusals(asked: number, events: Confirmable[], moved: Set<string>): Record<string, number> {
  const refused: Record<string, number> = {};
  const refuse = (reason: string, n = 1) => {
    if (n > 0) refused[reason] = (refused[reason] ?? 0) + n;
  };
  refuse("not-found", asked - events.length);
  for (const event of events) {
    if (moved.has(event.id)) continue;
    if (event.confirmed) refuse("already-confirmed");
    else
      refuse(
        event.status === "QUEUED" ? "already-queued" : event.status === "IGNORED" ? "ignored" : "changed-meanwhile",
      );
  }
  return refused;
}

type Facts = { from: ConfirmedFrom; actor: string; consumer: string; nowMs: number };

async function auditConfirmed(tx: Tx, ids: string[], { from, actor, consumer, nowMs }: Facts): Promise<void> {
  if (ids.length === 0) return;
  await appendAudit(tx, {
    actor,
    action: "event.confirmed",
    subjectKind: "event",
    subjectId: ids.length === 1 ? ids[0]! : null,
    reason: `processed by ${consumer}`,
    before: { status: from, confirmed: false },
    after: { status: EVENT_MOVES.confirm.to, confirmed: true },
    count: ids.length,
    atMs: nowMs,
    eventIds: ids,
  });
}
