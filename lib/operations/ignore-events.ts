import { type ChangeAnswer, type MoveAnswer, UNDO_IDS_MAX } from "@/lib/contract/events";
import type { Selection } from "@/lib/contract/selection";
import { DomainError } from "@/lib/core/problem";
import type { Deps } from "@/lib/operations/deps";
import { settleRedrive } from "@/lib/operations/settle-redrive";
import type { Db, Tx } from "@/lib/store/db";
import { type Candidate, cutoffOf, readCandidates } from "@/lib/store/read/candidates";
import { appendAudit } from "@/lib/store/write/audit";
import { NO_DELTA } from "@/lib/store/write/finish-items";
import { ignoreEvents as moveToIgnored, releaseEvents as moveToPending } from "@/lib/store/write/ignore-events";
import { countItems, lockRedrive } from "@/lib/store/write/redrive";
import { refuseQueuedItems } from "@/lib/store/write/withdraw-items";

/** Events of one transaction. A larger set is several: each commits with its audit entry. */
const CHUNK = 2_000;

export type BulkChange = { select: Selection; reason: string };

/**
 * Marks events IGNORED, all that are PENDING, and those that are QUEUED but not being sent: ignoring beats a queued
 * redrive. Chunk by chunk up to the moment of the request. Throws DomainError `empty-selection`, `unknown-event`,
 * `invalid-filter`.
 */
export async function ignoreEvents(deps: Deps, input: BulkChange, actor: string): Promise<MoveAnswer> {
  return inChunks(deps, input, (tx, candidates, nowMs) => ignoreChunk(tx, candidates, { ...input, actor, nowMs }));
}

/**
 * Releases IGNORED events: PENDING again, with redrive limit and cooldown starting anew unless `keepLimits`. Errors as for
 * ignoring.
 */
export async function releaseEvents(
  deps: Deps,
  input: BulkChange & { keepLimits?: boolean },
  actor: string,
): Promise<MoveAnswer> {
  return inChunks(deps, input, (tx, candidates, nowMs) => releaseChunk(tx, candidates, { ...input, actor, nowMs }));
}

type Chunk = (tx: Tx, candidates: readonly Candidate[], nowMs: number) => Promise<ChunkAnswer>;
type ChunkAnswer = ChangeAnswer & { ids: string[] };

async function inChunks(deps: { db: Db; clock: Deps["clock"] }, input: BulkChange, change: Chunk): Promise<MoveAnswer> {
  const asOfMs = deps.clock.wallMs();
  const page = { selection: input.select, asOfMs, cutoff: cutoffOf(input.select, asOfMs), limit: CHUNK };
  const answer: ChunkAnswer = { changed: 0, refused: {}, ids: [] };
  let after: string | null = null;
  for (;;) {
    const step: { last: string | null; answer: ChunkAnswer } = await deps.db.transaction(async (tx) => {
      const candidates = await readCandidates(tx, { ...page, after });
      if (candidates.length === 0) return { last: null, answer: { changed: 0, refused: {}, ids: [] } };
      return { last: candidates.at(-1)!.id, answer: await change(tx, candidates, deps.clock.wallMs()) };
    });
    if (step.last === null) {
      if (after === null) throw nothingSelected(input.select);
      return { ...answer, ids: answer.changed > UNDO_IDS_MAX ? null : answer.ids };
    }
    after = step.last;
    answer.changed += step.answer.changed;
    if (answer.changed <= UNDO_IDS_MAX) answer.ids.push(...step.answer.ids);
    for (const [reason, count] of Object.entries(step.answer.refused)) {
      answer.refused[reason] = (answer.refused[reason] ?? 0) + count;
    }
  }
}

function nothingSelected(select: Selection): DomainError {
  return "ids" in select
    ? new DomainError("unknown-event", "None of the selected events exists", {
        fields: [{ field: "select.ids", detail: "use the `id` of events as listed, not their eventId" }],
      })
    : new DomainError("empty-selection", "The filter matches no event", {
        fields: [{ field: "select.filter", detail: "widen the filter or check its values" }],
      });
}

type Facts = { reason: string; actor: string; nowMs: number };

async function ignoreChunk(tx: Tx, candidates: readonly Candidate[], facts: Facts): Promise<ChunkAnswer> {
  const queued = candidates.filter((event) => event.status === "QUEUED").map((event) => event.id);
  const withdrawn = await refuseQueuedItems(tx, queued, "ignored");
  const free = candidates.filter((event) => event.status === "PENDING").map((event) => event.id);
  const moved = await moveToIgnored(tx, [...free, ...withdrawn.map((item) => item.id)], facts.actor);
  await countWithdrawn(tx, withdrawn, facts.nowMs);
  for (const from of ["PENDING", "QUEUED"] as const) {
    const ids = moved.filter((event) => event.from === from).map((event) => event.id);
    await auditMove(tx, ids, { ...facts, action: "event.ignored", from, to: "IGNORED" });
  }
  const changed = new Set(moved.map((event) => event.id));
  return answerOf(candidates, changed, (event) => {
    if (event.status === "QUEUED") return "in-flight";
    return event.status === "IGNORED" ? "already-ignored" : "not-pending";
  });
}

async function releaseChunk(
  tx: Tx,
  candidates: readonly Candidate[],
  facts: Facts & { keepLimits?: boolean },
): Promise<ChunkAnswer> {
  const ignored = candidates.filter((event) => event.status === "IGNORED").map((event) => event.id);
  const moved = await moveToPending(tx, ignored, facts);
  await auditMove(tx, moved, { ...facts, action: "event.released", from: "IGNORED", to: "PENDING" });
  return answerOf(candidates, new Set(moved), () => "not-ignored");
}

function answerOf(
  candidates: readonly Candidate[],
  changed: ReadonlySet<string>,
  why: (event: Candidate) => string,
): ChunkAnswer {
  const refused: Record<string, number> = {};
  for (const event of candidates) {
    if (changed.has(event.id)) continue;
    const reason = why(event);
    refused[reason] = (refused[reason] ?? 0) + 1;
  }
  return { changed: changed.size, refused, ids: [...changed] };
}

/** The redrives that lost an item count it as refused, and are done when it was their last. */
async function countWithdrawn(
  tx: Tx,
  withdrawn: readonly { id: string; redriveId: string }[],
  nowMs: number,
): Promise<void> {
  const byRedrive = Map.groupBy(withdrawn, (item) => item.redriveId);
  for (const [redriveId, items] of [...byRedrive].sort(([left], [right]) => (left < right ? -1 : 1))) {
    await countItems(tx, redriveId, {
      ...NO_DELTA,
      refused: items.length,
      refusedByReason: { ignored: items.length },
    });
    const redrive = await lockRedrive(tx, redriveId);
    if (redrive) await settleRedrive(tx, redrive, nowMs);
  }
}

async function auditMove(
  tx: Tx,
  ids: string[],
  facts: Facts & { action: string; from: string; to: string },
): Promise<void> {
  if (ids.length === 0) return;
  await appendAudit(tx, {
    actor: facts.actor,
    action: facts.action,
    subjectKind: "event",
    subjectId: ids.length === 1 ? ids[0]! : null,
    reason: facts.reason,
    before: { status: facts.from },
    after: { status: facts.to },
    count: ids.length,
    atMs: facts.nowMs,
    eventIds: ids,
  });
}
