import { LINES_FOLLOW, linesOf } from "@/lib/order/line.sql";
import { columnsOf } from "@/lib/platform/database/columns";
import type { Tx } from "@/lib/platform/database/db";
import { idSpan } from "@/lib/platform/database/id-span";
import { INT4_MAX, storableJsonText, storableText } from "@/lib/platform/plain/storable.pure";
import { quietWindowOf } from "@/lib/redrive/confirm/confirm-quiet.write";
import { storedChecks } from "@/lib/redrive/gate/stored-checks.pure";
import type { Finding } from "@/lib/redrive/list/redrive-items.shapes";
import type { EventAfter } from "@/lib/redrive/run/event-after.pure";
import type { AttemptIntent, Intent } from "@/lib/redrive/run/store/intents.write";
import type { SliceItem } from "@/lib/redrive/run/store/slice-items.read";
import { EVENT_MOVES, type EventStatus } from "@/lib/states/event-state.pure";
import { checked, lockEvents, ownedItem, ownedItems } from "@/lib/states/fence.write";
import { flowOf } from "@/lib/states/flow.pure";
import { type ItemOutcome, isDeduplicated, itemStateAfter, moveOf } from "@/lib/states/item-outcome.pure";
import type { AttemptState, ItemEnd } from "@/lib/states/item-state.pure";
import { rollupOf } from "@/lib/states/rollup.write";
import { EVENT, ITEM } from "@/lib/states/state.sql";

/** The end of one item, to be stored. */
export type FinishedItem = {
  item: SliceItem;
  outcome: ItemOutcome;
  /** null: the event stays QUEUED, the item stays open (`later`, `back`). */
  after: EventAfter | null;
  /** Sends within this redrive, under all owners together. */
  attempts: number;
  findings: Finding[];
  /** Ends of attempts that are not in the store yet. */
  closes: AttemptClose[];
};

/** The end of an attempt. */
export type AttemptClose = Pick<
  AttemptIntent,
  "id" | "redriveId" | "attempt" | "fence" | "target" | "targetId" | "idempotencyKey" | "revision"
> & {
  intent: Intent;
  state: Exclude<AttemptState, "open">;
  latencyMs: number;
  code: string;
  detail: string | null;
  /** The decision after the attempt and all its inputs, as JSON; null = nothing was decided. */
  decision: object | null;
};

function resultOf(outcome: ItemOutcome): { result: string | null; detail: string | null } {
  switch (outcome.kind) {
    case "delivered":
      return outcome.deduplicated
        ? { result: "DEDUPLICATED", detail: `${outcome.code}: the target already had it` }
        : { result: outcome.code, detail: null };
    case "already-processed":
      return { result: "ALREADY_PROCESSED", detail: outcome.detail };
    case "verified":
      return { result: "PASSED", detail: null };
    case "failed":
      return { result: outcome.code, detail: outcome.detail };
    case "refused":
      return { result: outcome.refusal, detail: outcome.detail };
    case "later":
    case "behind":
    case "back":
      return { result: null, detail: null };
  }
}

/** The checks of an item as JSON; null = none was made. */
function verdictText({ findings, outcome }: FinishedItem): string | null {
  return findings.length === 0 ? null : storableJsonText(storedChecks(findings, outcome.kind === "delivered"));
}

/** How long the item waits; null = for nothing. One behind an open event waits until that is woken. */
function waitMsOf(outcome: ItemOutcome): number | null {
  if (outcome.kind === "behind") return Number.POSITIVE_INFINITY;
  return outcome.kind === "later" ? outcome.waitMs : null;
}

/** Longest stored text of an answer: a summary. */
const DETAIL_CHARS_MAX = 2_048;

/** The text of a target may hold characters that PostgreSQL refuses: it is cut, then made storable. */
function storedDetail(detail: string | null): string | null {
  return detail === null ? null : storableText(detail.slice(0, DETAIL_CHARS_MAX));
}

/** The only send of an item whose first attempt was delivered: its item tells it, and it has no row of its own. */
function onlySend({ outcome, closes }: FinishedItem): AttemptClose | null {
  const [close] = closes;
  const told = outcome.kind === "delivered" && closes.length === 1 && close!.attempt === 1 && close!.detail === null;
  return told && close!.state === "delivered" ? close! : null;
}

/** The attempts of these items that have rows: all but those that their items tell. */
export function attemptsToKeep(finished: readonly FinishedItem[], held: ReadonlySet<FinishedItem>): AttemptClose[] {
  return finished.flatMap((finish) => (held.has(finish) && onlySend(finish) ? [] : finish.closes));
}

/**
 * Closes items or gives them back, while their slices are owned under their fences. Returns the ids that this worker still held; nothing
 * was changed for the others, and the caller must write nothing that depends on them. `entryId`: the audit entry that covers
 * the end; null = the item does not end.
 */
export async function closeItems(
  tx: Tx,
  redriveId: string,
  finished: readonly (FinishedItem & { entryId: string | null })[],
): Promise<Set<string>> {
  const results = finished.map(({ outcome }) => resultOf(outcome));
  const sends = finished.map(onlySend);
  const rows = await tx.query<{ id: string }>(
    `with w as materialized (
       select * from unnest($2::uuid[], $3::bigint[], $4::text[], $5::float8[], $6::int[], $7::text[], $8::text[], $9::text[],
                            $10::text[], $11::uuid[], $12::float8[], $13::float8[], $14::text[], $15::uuid[], $16::int[])
         as w(id, fence, state, wait_ms, attempts, result, detail, verdict, record, entry, sent_at, latency_ms, sent_to, sent_to_id, slice)
     )${ownedItems("$1::uuid", "wait")}, gone as (
       delete from open_items i using held w where w.state <> ${ITEM.open} and ${ownedItem("$1::uuid")} returning w.*
     ), waiting as (
       update open_items i set attempts = w.attempts, not_before = now() + w.wait_ms * interval '1 ms'
         from held w where w.state = ${ITEM.open} and ${ownedItem("$1::uuid")} returning w.*
     ), taken as materialized (
       select * from gone union all select * from waiting
     ), items as (
       update redrive_items i
          set state = w.state, fence = w.fence, attempts = w.attempts, result = w.result, detail = w.detail, sent_record = w.record,
              verdict = coalesce(w.verdict::jsonb, i.verdict), finished_at = case when w.state <> ${ITEM.open} then now() end,
              ended_entry = w.entry, sent_at = to_timestamp(w.sent_at / 1000), latency_ms = w.latency_ms, sent_to = w.sent_to,
              sent_to_id = w.sent_to_id
         from taken w where (w.state <> ${ITEM.open} or w.verdict is not null) and ${ownedItem("$1::uuid")}
     )
     select id from taken`,
    [
      redriveId,
      finished.map(({ item }) => item.id),
      finished.map(({ item }) => item.fence.toString()),
      finished.map(({ outcome }) => itemStateAfter(outcome)),
      finished.map(({ outcome }) => waitMsOf(outcome)),
      finished.map(({ attempts }) => attempts),
      results.map(({ result }) => result),
      results.map(({ detail }) => storedDetail(detail)),
      finished.map(verdictText),
      finished.map(({ outcome }) => (outcome.kind === "delivered" ? (outcome.record ?? null) : null)),
      finished.map(({ entryId }) => entryId),
      sends.map((send) => send?.intent.openedAtMs ?? null),
      sends.map((send) => send?.latencyMs ?? null),
      sends.map((send) => send?.target ?? null),
      sends.map((send) => send?.targetId ?? null),
      finished.map(({ item }) => item.slice),
    ],
    { name: "close-items" },
  );
  return new Set(rows.map((row) => row.id));
}

/** Names another audit entry, or none, as the one of an item's end. The caller has closed these items in the same transaction. */
export async function renameEntries(
  tx: Tx,
  redriveId: string,
  changes: ReadonlyMap<string, string | null>,
): Promise<void> {
  if (changes.size === 0) return;
  await tx.run(
    `update redrive_items i set ended_entry = w.entry from unnest($2::uuid[], $3::uuid[]) as w(id, entry)
      where i.id = w.id and i.redrive_id = $1`,
    [redriveId, [...changes.keys()], [...changes.values()]],
  );
}

/** `cameBack`: the bounce was parked before this finish. */
export type MovedEvent = { id: string; status: EventStatus; cameBack: boolean };

const QUEUED = EVENT_MOVES.freeze.to;
const PARKED_AGAIN = EVENT_MOVES.deliverBounced.to;
const CAME_BACK = "coalesce($1 = any(e.bounced_redrives), false)";
/** Other bytes than were sent have arrived meanwhile, and are the current ones. */
const HAS_NEWER = "(w.if_bounced is not null and e.revision <> w.revision)";

/**
 * Moves the events of closed items, with their lines and rollups, in one statement. A delivery whose bounce was parked before
 * this finish (`bounced_redrives` holds the redrive) gets `statusIfBounced`. That bounce has already counted the
 * delivery, the failure and the cooldown, so they stay unchanged. A delivered event of which newer bytes arrived meanwhile is parked
 * for them, and has never left the parked events.
 *
 * All sends of the redrive count as attempts of the event, also earlier sends: an item that waits again
 * leaves its event unchanged. `last_operator` stays the person who requested the redrive. Returns the status of each
 * event.
 */
export async function moveFinishedEvents(
  tx: Tx,
  redriveId: string,
  finished: readonly (FinishedItem & { after: EventAfter })[],
): Promise<MovedEvent[]> {
  if (finished.length === 0) return [];
  const ids = finished.map(({ item }) => item.id);
  await lockEvents(tx, ids);
  const moved = await tx.query<MovedEvent>(
    `with moved as (
       update dlq_events e
          set status = case when ${CAME_BACK} then coalesce(w.if_bounced, w.status)
                            when ${HAS_NEWER} then ${EVENT[PARKED_AGAIN]} else w.status end,
              failures = case when w.processed then 0 else greatest(e.failures, w.failures) end, redrives = w.redrives,
              cooldown_until = case when w.processed or (w.if_bounced is not null and not ${CAME_BACK}) then null
                                    else greatest(e.cooldown_until, to_timestamp(w.cooldown_until / 1000)) end,
              confirmed_at = to_timestamp(w.confirmed_at / 1000),
              confirmed_redrive = case when w.processed then $1::uuid end,
              redrive_at = case when w.status = ${EVENT.REDRIVEN} then now() else e.redrive_at end,
              attempts = least(e.attempts::bigint + w.sends, ${INT4_MAX}),
              last_attempt_at = case when w.sent_now then now() else e.last_attempt_at end
         from unnest($2::uuid[], $3::text[], $4::text[], $5::int[], $6::int[], $7::float8[], $8::float8[], $9::int[],
                     $10::text[], $11::text[], $12::boolean[], $13::boolean[], $16::int[])
           as w(id, status, if_bounced, failures, redrives, cooldown_until, confirmed_at, sends, flow, flow_if_bounced, processed,
                sent_now, revision)
        where e.id = any($2::uuid[]) and e.id between $14 and $15 and e.id = w.id and ${checked("e.status", EVENT[QUEUED])}
       returning e.id, e.source_id, e.error_code, e.fingerprint, e.first_seen, ${EVENT[QUEUED]} as old_status,
                 e.status as new_status, ${CAME_BACK} as came_back, e.aggregate_type, e.aggregate_id, e.version, e.status,
                 e.cooldown_until, e.revision, e.bounces, w.processed,
                 case when w.if_bounced is not null and ${CAME_BACK} then w.flow_if_bounced
                      when ${HAS_NEWER} then '${flowOf("deliverBounced", QUEUED).join()}' else w.flow end as flow
     ), lines as materialized (${linesOf("true", "moved")})${LINES_FOLLOW}${rollupOf("moved", { flow: { kinds: "string_to_array(flow, ',')", at: "now()" } })}${quietWindowOf("moved", `status = ${EVENT.REDRIVEN} and not processed`, "now()")}
     select id, status, came_back as "cameBack" from moved`,
    [
      redriveId,
      ids,
      ...columnsOf(
        finished.map(({ after }) => after),
        ...(["status", "statusIfBounced", "failures", "redrives", "cooldownUntilMs", "confirmedAtMs"] as const),
      ),
      finished.map(({ attempts }) => attempts),
      finished.map(({ outcome, after }) => flowOf(moveOf(outcome), QUEUED, after.status).join()),
      finished.map(
        ({ after }) => after.statusIfBounced && flowOf("deliverBounced", QUEUED, after.statusIfBounced).join(),
      ),
      finished.map(({ outcome }) => outcome.kind === "already-processed"),
      finished.map(({ item, attempts }) => attempts > item.attempts),
      ...idSpan(ids),
      finished.map(({ item }) => item.revision),
    ],
    { name: "move-finished-events" },
  );
  await recordErrors(tx, finished, new Set(moved.map(({ id }) => id)));
  return moved;
}

/** The last error of the events that failed, among those that moved. */
async function recordErrors(tx: Tx, finished: readonly FinishedItem[], moved: ReadonlySet<string>): Promise<void> {
  const errors = finished.flatMap(({ item: { id }, outcome }) =>
    outcome.kind === "failed" && moved.has(id)
      ? [{ id, code: outcome.code, detail: storedDetail(outcome.detail) }]
      : [],
  );
  if (errors.length === 0) return;
  await tx.run(
    `update dlq_event_facts f set last_error_code = w.code, last_error = coalesce(w.detail, f.last_error)
       from unnest($1::uuid[], $2::text[], $3::text[]) as w (id, code, detail) where f.id = w.id`,
    columnsOf(errors, "id", "code", "detail"),
    { name: "record-errors" },
  );
}

/**
 * Keeps attempts that have ended. One that was made ambiguous when its worker was given up stays so; one that its item tells has no
 * row, also when its end is committed again because the answer was lost.
 */
export async function insertAttempts(tx: Tx, closes: readonly AttemptClose[]): Promise<void> {
  if (closes.length === 0) return;
  await tx.run(
    `insert into redrive_attempts (id, redrive_id, attempt, fence, state, target, target_id, idempotency_key, revision, opened_at,
                                   closed_at, latency_ms, code, detail, decision)
     select w.id, w.redrive_id, w.attempt, w.fence, w.state, w.target, w.target_id, w.idempotency_key, w.revision,
            to_timestamp(w.opened_at / 1000), now(), w.latency_ms, w.code, w.detail, w.decision::jsonb
       from unnest($1::uuid[], $2::uuid[], $3::int[], $4::text[], $5::float8[], $6::text[], $7::text[], $8::text[],
                   $9::bigint[], $10::text[], $11::uuid[], $12::text[], $13::int[], $14::float8[])
         as w(id, redrive_id, attempt, state, latency_ms, code, detail, decision, fence, target, target_id, idempotency_key, revision,
              opened_at)
      where not exists (
              select from redrive_items i where i.id = w.id and i.redrive_id = w.redrive_id and i.sent_at is not null and i.fence = w.fence)
     on conflict (id, redrive_id, attempt) do nothing`,
    [
      ...columnsOf(closes, "id", "redriveId", "attempt", "state", "latencyMs", "code"),
      closes.map((close) => storedDetail(close.detail)),
      closes.map((close) => (close.decision === null ? null : JSON.stringify(close.decision))),
      ...columnsOf(closes, "fence", "target", "targetId", "idempotencyKey", "revision"),
      closes.map((close) => close.intent.openedAtMs),
    ],
    { name: "insert-attempts" },
  );
}

/** Counts of decided items, for the redrive's counters and its chart. */
export type RedriveDelta = Record<ItemEnd, number> & {
  /** Of the delivered: known to their target already. */
  deduplicated: number;
  /** Of the deduplicated: processed by their consumer. */
  confirmed: number;
  refusedByReason: Record<string, number>;
  failedByReason: Record<string, number>;
};

export const NO_DELTA: RedriveDelta = {
  delivered: 0,
  passed: 0,
  failed: 0,
  refused: 0,
  cancelled: 0,
  deduplicated: 0,
  confirmed: 0,
  refusedByReason: {},
  failedByReason: {},
};

export function deltaOf(finished: readonly FinishedItem[]): RedriveDelta {
  const delta: RedriveDelta = { ...NO_DELTA, refusedByReason: {}, failedByReason: {} };
  for (const { outcome } of finished) {
    const state = itemStateAfter(outcome);
    if (state === "open") continue;
    delta[state]++;
    if (isDeduplicated(outcome)) delta.deduplicated++;
    if (outcome.kind === "already-processed") delta.confirmed++;
    const { result } = resultOf(outcome);
    if (state === "refused") delta.refusedByReason[result!] = (delta.refusedByReason[result!] ?? 0) + 1;
    if (state === "failed") delta.failedByReason[result!] = (delta.failedByReason[result!] ?? 0) + 1;
  }
  return delta;
}
