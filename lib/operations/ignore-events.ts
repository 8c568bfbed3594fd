import { type ChangeAnswer, type MoveAnswer, UNDO_IDS_MAX } from "@/lib/contract/events";
import type { Selection } from "@/lib/contract/selection";
import { EVENT_MOVES } from "@/lib/core/event-state";
import { DomainError } from "@/lib/core/problem";
import { assertMay, type Viewer } from "@/lib/core/viewer";
import { looks } from "@/lib/operations/await-open-sends";
import type { Deps } from "@/lib/operations/deps";
import { settleRedrive } from "@/lib/redriving/settle-redrive";
import type { Db, Tx } from "@/lib/store/db";
import { type Candidate, cutoffOf, readCandidates } from "@/lib/store/read/candidates";
import { openSends } from "@/lib/store/read/open-sends";
import { retrying } from "@/lib/store/retrying";
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
 * redrive. Chunk by chunk up to the moment of the request. Events that are being sent are waited for, for a moment, and
 * ignored when their send ends without a delivery. Throws DomainError `empty-selection`, `unknown-event`,
 * `invalid-filter`.
 */
export async function ignoreEvents(deps: Deps, input: BulkChange, viewer: Viewer): Promise<MoveAnswer> {
  assertMay(viewer, "ignore");
  const ignore: Chunk = (tx, candidates, nowMs) => ignoreChunk(tx, candidates, { ...input, actor: viewer.name, nowMs });
  const answer = await inChunks(deps, input, ignore);
  const underWay = await ignoreWhatEnds(deps, answer, ignore);
  return answerOut(answer, underWay);
}

/** Ignores the events of `answer` that were being sent, as their sends end; corrects the answer. Returns what is left. */
async function ignoreWhatEnds(deps: Deps, answer: ChunkAnswer, ignore: Chunk): Promise<number | null> {
  try {
    for await (const _ of looks(deps.clock)) {
      if (answer.inFlight.length === 0) return 0;
      const open = new Set(await openSends(deps.db, { ids: answer.inFlight }));
      const ended = answer.inFlight.filter((id) => !open.has(id));
      if (ended.length === 0) continue;
      const step = await repeated(deps.db, async (tx) =>
        ignore(tx, await readNamed(tx, ended, deps), deps.clock.wallMs()),
      );
      takeOff(answer, ended);
      addUp(answer, step);
    }
    return answer.inFlight.length;
  } catch (error) {
    // What was ignored is committed: the answer must not say that it failed.
    deps.log.warn({ err: error }, "events under way not ignored");
    return null;
  }
}

function readNamed(tx: Tx, ids: string[], { clock }: Pick<Deps, "clock">): Promise<Candidate[]> {
  const selection = { ids };
  const asOfMs = clock.wallMs();
  return readCandidates(tx, { selection, asOfMs, cutoff: cutoffOf(selection, asOfMs), after: null, limit: ids.length });
}

function takeOff(answer: ChunkAnswer, ids: readonly string[]): void {
  answer.inFlight = answer.inFlight.filter((id) => !ids.includes(id));
  const left = (answer.refused["in-flight"] ?? 0) - ids.length;
  if (left > 0) answer.refused["in-flight"] = left;
  else delete answer.refused["in-flight"];
}

/**
 * Releases IGNORED events: PENDING again, with redrive limit and cooldown starting anew unless `keepLimits`. Errors as for
 * ignoring.
 */
export async function releaseEvents(
  deps: Deps,
  input: BulkChange & { keepLimits?: boolean },
  viewer: Viewer,
): Promise<MoveAnswer> {
  assertMay(viewer, "release");
  const answer = await inChunks(deps, input, (tx, candidates, nowMs) =>
    releaseChunk(tx, candidates, { ...input, actor: viewer.name, nowMs }),
  );
  return answerOut(answer, 0);
}

type Chunk = (tx: Tx, candidates: readonly Candidate[], nowMs: number) => Promise<ChunkAnswer>;
/** `inFlight`: ids of the events that were being sent. */
type ChunkAnswer = ChangeAnswer & { ids: string[]; inFlight: string[] };

function answerOut({ inFlight: _inFlight, ...answer }: ChunkAnswer, underWay: number | null): MoveAnswer {
  return { ...answer, ids: answer.changed > UNDO_IDS_MAX ? null : answer.ids, underWay };
}

function addUp(sum: ChunkAnswer, step: ChunkAnswer): void {
  sum.changed += step.changed;
  if (sum.changed <= UNDO_IDS_MAX) sum.ids.push(...step.ids);
  sum.inFlight.push(...step.inFlight);
  for (const [reason, count] of Object.entries(step.refused)) {
    sum.refused[reason] = (sum.refused[reason] ?? 0) + count;
  }
}

async function inChunks(
  deps: { db: Db; clock: Deps["clock"] },
  input: BulkChange,
  change: Chunk,
): Promise<ChunkAnswer> {
  const asOfMs = deps.clock.wallMs();
  const page = { selection: input.select, asOfMs, cutoff: cutoffOf(input.select, asOfMs), limit: CHUNK };
  const answer = nothing();
  let after: string | null = null;
  for (;;) {
    const step: { last: string | null; answer: ChunkAnswer } = await repeated(deps.db, async (tx) => {
      const candidates = await readCandidates(tx, { ...page, after });
      if (candidates.length === 0) return { last: null, answer: nothing() };
      return { last: candidates.at(-1)!.id, answer: await change(tx, candidates, deps.clock.wallMs()) };
    });
    if (step.last === null) {
      if (after === null) throw nothingSelected(input.select);
      countMissing(answer, input.select);
      return answer;
    }
    after = step.last;
    addUp(answer, step.answer);
  }
}

/** Named events that are no longer there. */
function countMissing(answer: ChunkAnswer, select: Selection): void {
  if (!("ids" in select)) return;
  const seen = Object.values(answer.refused).reduce((sum, count) => sum + count, answer.changed);
  const missing = new Set(select.ids).size - seen;
  if (missing > 0) answer.refused["not-found"] = missing;
}

/** A worker that commits or renews some of the same items locks them in another order: the chunk is changed again. */
function repeated<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  return retrying(() => db.transaction(work));
}

function nothing(): ChunkAnswer {
  return { changed: 0, refused: {}, ids: [], inFlight: [] };
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
  const free = candidates.filter((event) => event.status === "PENDING").map(({ id }) => ({ id, attempts: 0 }));
  const moved = await moveToIgnored(tx, [...free, ...withdrawn], facts.actor);
  await countWithdrawn(tx, withdrawn, facts.nowMs);
  for (const from of EVENT_MOVES.ignore.from) {
    const ids = moved.filter((event) => event.from === from).map((event) => event.id);
    await auditMove(tx, ids, { ...facts, action: "event.ignored", from, to: EVENT_MOVES.ignore.to });
  }
  const changed = new Set(moved.map((event) => event.id));
  const inFlight = queued.filter((id) => !changed.has(id));
  const answer = answerOf(candidates, changed, (event) => {
    if (event.status === "QUEUED") return "in-flight";
    return event.status === "IGNORED" ? "already-ignored" : "not-pending";
  });
  return { ...answer, inFlight };
}

async function releaseChunk(
  tx: Tx,
  candidates: readonly Candidate[],
  facts: Facts & { keepLimits?: boolean },
): Promise<ChunkAnswer> {
  const ignored = candidates.filter((event) => event.status === "IGNORED").map((event) => event.id);
  const moved = await moveToPending(tx, ignored, facts);
  await auditMove(tx, moved, {
    ...facts,
    action: "event.released",
    from: EVENT_MOVES.release.from[0],
    to: EVENT_MOVES.release.to,
  });
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
  return { changed: changed.size, refused, ids: [...changed], inFlight: [] };
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
