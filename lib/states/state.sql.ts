import { APPROVAL_STATES } from "@/lib/states/approval-state.pure";
import { BULK_MOVES, BULK_STATES } from "@/lib/states/bulk-operation.pure";
import { EVENT_MOVES, EVENT_STATUSES, HOLDING_STATUSES, PARKED_STATUSES } from "@/lib/states/event-state.pure";
import { ATTEMPT_STATES, ITEM_ENDS, ITEM_MOVES, ITEM_STATES } from "@/lib/states/item-state.pure";
import { FINAL_REDRIVE_STATES, LIVE_REDRIVE_STATES, REDRIVE_STATES } from "@/lib/states/redrive-state.pure";
import type { Wait } from "@/lib/states/redrive-wait.pure";

/**
 * The states of events, redrives, items and attempts as SQL. They are part of the text and not parameters: the planner must see that a condition
 * implies the predicate of a partial index. No other file writes a state into SQL.
 */

const quoted = (state: string) => `'${state}'`;

/** `('PENDING', 'QUEUED')`. A list with one element is also a value: `('QUEUED')`. */
const listOf = (states: readonly string[]) => `(${states.map(quoted).join(", ")})`;

function wordsOf<State extends string>(states: readonly State[]): Record<State, string> {
  return Object.fromEntries(states.map((state) => [state, quoted(state)])) as Record<State, string>;
}

/** `from` is a list, for `in`, or for `=` where the move has one; `to` is a value. */
type MoveSql = { from: string; to: string };

function movesOf<Move extends string>(
  moves: Record<Move, { from: readonly string[]; to: string }>,
): Record<Move, MoveSql> {
  const entries = Object.entries<{ from: readonly string[]; to: string }>(moves);
  return Object.fromEntries(
    entries.map(([move, { from, to }]) => [move, { from: listOf(from), to: quoted(to) }]),
  ) as Record<Move, MoveSql>;
}

/** States by name: `e.status = ${EVENT.QUEUED}`. */
export const EVENT = wordsOf(EVENT_STATUSES);
export const REDRIVE = wordsOf(REDRIVE_STATES);
export const ITEM = wordsOf(ITEM_STATES);
export const BULK = wordsOf(BULK_STATES);
export const ATTEMPT = wordsOf(ATTEMPT_STATES);
export const APPROVAL = wordsOf(APPROVAL_STATES);

/** The states that a compare-and-set compares with, and the state that it writes. */
export const EVENT_MOVE = movesOf(EVENT_MOVES);
export const ITEM_MOVE = movesOf(ITEM_MOVES);
export const BULK_MOVE = movesOf(BULK_MOVES);

export const PARKED = listOf(PARKED_STATUSES);
export const HOLDING = listOf(HOLDING_STATUSES);
export const FINAL_REDRIVES = listOf(FINAL_REDRIVE_STATES);
export const LIVE_REDRIVES = listOf(LIVE_REDRIVE_STATES);

/** Items of the redrive `r` that are not yet decided, by its counters: see `openItems`. */
export const OPEN_ITEMS = `(r.total - ${ITEM_ENDS.map((end) => `r.${end}`).join(" - ")})`;

/** What the redrive `r` may wait for before it starts, see `redrive/request/redrive-wait.pure`. A breaker that has closed since counts until a worker starts the redrive. */
const WAITING: Record<Wait["for"], string> = {
  approval: "r.awaits_approval",
  time: "r.start_at > now()",
  breaker: "r.breaker_until is not null",
};
/** The redrive `r` is frozen and waits for one of these. */
export function waitsFor(waits: readonly Wait["for"][]): string {
  const any = waits.map((wait) => WAITING[wait]).join(" or ");
  return `(r.state in (${REDRIVE.PLANNED}, ${REDRIVE.PAUSED}) and (${any}))`;
}

/** The redrive `r` waits for nothing but its hold. */
const STARTS = "(not r.awaits_approval and (r.start_at is null or r.start_at <= now()) and r.breaker_until is null)";

/** The redrive `r` may send: it runs, its hold is over, and it waits for nothing. */
export const SENDS = `(r.state = ${REDRIVE.RUNNING} and (r.hold_until is null or r.hold_until <= now()) and ${STARTS})`;

/** A move of the redrive `r` to the state `to` is not a start of a redrive that still waits. */
export const startsInTime = (to: string) => `(${to} <> ${REDRIVE.RUNNING} or ${STARTS})`;

/** Codes of attempts that were stopped between their intent and their send. */
const UNSENT_CODES = ["CANCELLED", "BREAKER_OPEN"].map((code) => `'${code}'`);

/** The attempt `a` was stopped there. */
export const UNSENT = `(a.state = ${ATTEMPT.failed} and a.code in (${UNSENT_CODES}))`;
