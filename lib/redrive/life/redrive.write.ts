import { endApproval } from "@/lib/guard/approvals/approvals.write";
import { ASKED_SELECTION } from "@/lib/guard/viewer/scope.sql";
import { addedReasons } from "@/lib/platform/database/added-reasons.sql";
import type { Queryable, Tx } from "@/lib/platform/database/db";
import { type AskedRedrive, REDRIVE_FACTS, type RedriveFacts } from "@/lib/redrive/life/redrive.sql";
import type { BrakeSeen } from "@/lib/redrive/pace/brake.pure";
import { type CanaryMove, type CanaryStand, stepAfter } from "@/lib/redrive/pace/canary.pure";
import type { Canary } from "@/lib/redrive/request/redrive-request.shapes";
import type { RedriveDelta } from "@/lib/redrive/run/store/finish-items.write";
import { isFinal, REDRIVE_MOVES, type RedriveMove } from "@/lib/states/redrive-state.pure";
import { FINAL_REDRIVES, REDRIVE, startsInTime } from "@/lib/states/state.sql";

export type NewRedrive = AskedRedrive & {
  /** Where it delivers; null = to the target of each event's source on the lane. */
  target: { id: string; name: string } | null;
  /** Names; null = its events may come from any source. */
  sources: string[] | null;
  cutoff: string;
  slices: number;
  policies: Record<string, unknown>;
  atMs: number;
  /** The hold: the time from now in which nothing of the redrive is sent. 0 = no hold. */
  holdMs: number;
};

/** Returns the end of the hold, ISO 8601 by the database's clock; null = no hold. */
export async function insertRedrive(tx: Tx, redrive: NewRedrive): Promise<string | null> {
  const [row] = await tx.query<{ hold_until: string | null }>(
    `insert into redrives (id, state, mode, lane, rate_per_second, selection, cutoff, slices, canary, released, policies,
                           created_by, reason, created_at, hold_until, brake,
                           earlier, sources, despite, target_id, target, start_at, breaker_until)
     values ($1, $2, $3, $4, $5, $6::jsonb, $7, $8, $9::jsonb, $10, $11::jsonb, $12, $13, to_timestamp($14::float8 / 1000),
             case when $15::float8 > 0 then now() + make_interval(secs => $15 / 1000) end, $16::jsonb, $17, $18, $19, $20, $21,
             to_timestamp($22::float8 / 1000), to_timestamp($23::float8 / 1000))
     returning hold_until`,
    [
      redrive.id,
      redrive.state,
      redrive.mode,
      redrive.lane,
      redrive.ratePerSecond,
      JSON.stringify(redrive.selection),
      redrive.cutoff,
      redrive.slices,
      redrive.canary === null ? null : JSON.stringify(redrive.canary),
      redrive.released,
      JSON.stringify(redrive.policies),
      redrive.createdBy,
      redrive.reason,
      redrive.atMs,
      redrive.holdMs,
      redrive.brake === null ? null : JSON.stringify(redrive.brake),
      redrive.earlier,
      redrive.sources,
      redrive.despite,
      redrive.target?.id ?? null,
      redrive.target?.name ?? null,
      redrive.startAtMs,
      redrive.breakerUntilMs,
    ],
    { isoTimes: true },
  );
  return row!.hold_until;
}

/** A redrive with the columns that the worker and the operations read. */
export type RedriveRow = RedriveFacts & {
  /** The name of its target when the redrive was asked for. */
  target: string | null;
  /** Names; null = any source. */
  sources: string[] | null;
  cutoff: string;
  planCursor: string | null;
  slices: number;
  /**
   * The time when it began to send, epoch ms of the store's clock: its start, or the end of its hold. null = not yet.
   */
  beganAtMs: number | null;
  /** Whether the quiet window of the canary's step has begun, and is over by the store's clock. */
  quiet: CanaryStand["quiet"];
  recent: string;
  /** Latencies of the last sends, ms, newest last; empty without a bound on them. */
  latencies: number[];
  /** It was resumed: sends that began before it are in no sample. */
  resumed: boolean;
  policies: Record<string, unknown>;
  /** null = it was not cancelled. */
  cancelledBy: string | null;
  /** By the store's clock. */
  startsLater: boolean;
  breakerWaitOver: boolean;
};

const COLUMNS = `${REDRIVE_FACTS}, r.target, r.sources, r.cutoff, r.plan_cursor as "planCursor", r.slices,
  greatest(r.started_at, r.hold_until) as "beganAtMs", r.recent, r.latencies, coalesce(r.sampled_from > r.started_at, false) as resumed,
  case when r.waiting_until is null then 'not-begun' when r.waiting_until > now() then 'running' else 'over' end as quiet, r.policies,
  r.cancelled_by as "cancelledBy", coalesce(r.start_at > now(), false) as "startsLater",
  coalesce(r.breaker_until <= now(), false) as "breakerWaitOver"`;

/** null = there is no such redrive. */
export async function readRedriveRow(db: Queryable, id: string): Promise<RedriveRow | null> {
  const [row] = await db.query<RedriveRow>(`select ${COLUMNS} from redrives r where r.id = $1`, [id], {
    name: "redrive-row",
  });
  return row ?? null;
}

/** The same, locked until the transaction ends: no other transaction can change its counters or state meanwhile. */
export async function lockRedrive(tx: Tx, id: string): Promise<RedriveRow | null> {
  const [row] = await tx.query<RedriveRow>(`select ${COLUMNS} from redrives r where r.id = $1 for update`, [id], {
    name: "lock-redrive",
  });
  return row ?? null;
}

/** SQL: sends per second over the last 30 s, or since the redrive started or was resumed. */
const SENT_PER_SECOND = `(
  select round((coalesce(sum(t.delivered + t.failed), 0)
                / least(30, greatest(1, extract(epoch from now() - coalesce(sampled_from, started_at)))))::numeric, 2)
    from redrive_ticks t where t.redrive_id = r.id and t.at > now() - interval '30 s')`;

/**
 * Compare-and-set on the state. False = the move is not allowed from the current state, or the redrive would run while
 * it still waits. A redrive that ends withdraws the approval that is asked for.
 */
export async function moveRedrive(
  tx: Tx,
  id: string,
  move: RedriveMove,
  facts: { pauseReason?: string | null; cancelledBy?: string; brakeSeen?: BrakeSeen } = {},
): Promise<boolean> {
  const { from, to } = REDRIVE_MOVES[move];
  const changed = await tx.run(
    `update redrives r
        set state = $3, selection = ${ASKED_SELECTION}, pause_reason = $4, cancelled_by = $5, recent = case when $3 = ${REDRIVE.RUNNING} then '' else recent end,
            latencies = case when $3 = ${REDRIVE.RUNNING} then '{}' else latencies end,
            brake_seen = case when $3 = ${REDRIVE.RUNNING} then null when $6::jsonb is null then brake_seen
                 else $6::jsonb || jsonb_build_object('atMs', floor(extract(epoch from now()) * 1000), 'ratePerSecond', ${SENT_PER_SECOND}) end,
            sampled_from = case when $3 = ${REDRIVE.RUNNING} then now() else sampled_from end,
            planned_at = case when $3 in (${REDRIVE.PLANNED}, ${REDRIVE.RUNNING}, ${REDRIVE.DONE}) then coalesce(planned_at, now()) else planned_at end,
            started_at = case when $3 = ${REDRIVE.RUNNING} then coalesce(started_at, now()) else started_at end,
            finished_at = case when $3 in ${FINAL_REDRIVES} then now() else null end
      where id = $1 and state = any($2::text[]) and ${startsInTime("$3")}`,
    [
      ...[id, from, to, facts.pauseReason ?? null, facts.cancelledBy ?? null],
      facts.brakeSeen === undefined ? null : JSON.stringify(facts.brakeSeen),
    ],
  );
  if (changed === 1 && isFinal(to)) await endApproval(tx, id, "withdraw");
  return changed === 1;
}

/** Adds decided items to the counters and the 5-second tick of the chart. Returns the redrive as it is then, locked. */
export async function countItems(
  tx: Tx,
  id: string,
  delta: RedriveDelta & { total?: number },
  sample: { recent?: string; latencies?: number[] } = {},
): Promise<RedriveRow | null> {
  const [row] = await tx.query<RedriveRow>(
    `with counted as (
       update redrives r
          set total = total + $2, delivered = delivered + $3, passed = passed + $4, failed = failed + $5,
              refused = refused + $6, cancelled = cancelled + $7,
              deduplicated = deduplicated + $11, confirmed = confirmed + $12,
              refused_by_reason = case when $8::jsonb = '{}' then refused_by_reason else ${addedReasons("refused_by_reason", "$8")} end,
              failed_by_reason = case when $9::jsonb = '{}' then failed_by_reason else ${addedReasons("failed_by_reason", "$9")} end,
              recent = coalesce($10, recent), latencies = coalesce($13::int[], latencies)
        where id = $1
       returning ${COLUMNS}
     ), ticked as (
       insert into redrive_ticks (redrive_id, at, delivered, failed, refused)
       select id, to_timestamp(floor(extract(epoch from now()) / 5) * 5), $3::int + $4::int, $5, $6
         from counted where $3::int + $4::int + $5::int + $6::int > 0
     )
     select * from counted`,
    [
      id,
      delta.total ?? 0,
      delta.delivered,
      delta.passed,
      delta.failed,
      delta.refused,
      delta.cancelled,
      JSON.stringify(delta.refusedByReason),
      JSON.stringify(delta.failedByReason),
      sample.recent ?? null,
      delta.deduplicated,
      delta.confirmed,
      sample.latencies ?? null,
    ],
    { name: "count-items" },
  );
  return row ?? null;
}

/** Stores the state of the canary. A wait that has begun keeps its end. */
export async function setCanary(tx: Tx, id: string, { released, waits }: CanaryMove, quietMs: number): Promise<void> {
  await tx.run(
    `update redrives
        set released = $2,
            waiting_until = case when $3 then coalesce(waiting_until, now() + make_interval(secs => $4)) end
      where id = $1`,
    [id, released, waits, quietMs / 1000],
    { name: "set-canary" },
  );
}

/** Running canaries whose step is complete, and confirmed or at the end of its window. */
export async function dueCanaries(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `select id from redrives
      where state = ${REDRIVE.RUNNING} and released is not null and delivered - bounced >= released
        and (waiting_until is null or waiting_until <= now() or confirmed >= released)`,
    [],
    { name: "due-canaries" },
  );
  return rows.map((row) => row.id);
}

/** The items among `ids` whose last send began before their redrive was last started or resumed. */
export async function sentBeforeResume(tx: Tx, id: string, ids: readonly string[]): Promise<Set<string>> {
  const rows = await tx.query<{ id: string }>(
    `select a.id from sends a join redrives r on r.id = a.redrive_id
      where a.redrive_id = $1 and a.id = any($2::uuid[])
      group by a.id, r.sampled_from having max(a.opened_at) < r.sampled_from`,
    [id, ids],
    { name: "sent-before-resume" },
  );
  return new Set(rows.map((row) => row.id));
}

/** The outcomes that the brake looks at. */
export async function setRecent(tx: Tx, id: string, recent: string): Promise<void> {
  await tx.run("update redrives set recent = $2 where id = $1", [id, recent], { name: "set-recent" });
}

/** What is left of the redrive begins with these steps: cumulative sizes that include what was sent before. */
export async function restartCanary(tx: Tx, id: string, canary: Canary): Promise<void> {
  await tx.run("update redrives set canary = $2::jsonb, released = $3, waiting_until = null where id = $1", [
    id,
    JSON.stringify(canary),
    stepAfter(0, canary),
  ]);
}

/**
 * Whether nothing of a locked redrive can have been sent: it has never run, or its hold lasts. Asked by the clock, not
 * by the start of the transaction: a send that begins when the hold is over must not find an undo that began before. The last
 * tenth of a second of a hold is left for the commit: an intent does not see an undo that is not committed.
 */
export async function isHeld(tx: Tx, id: string): Promise<boolean> {
  const [row] = await tx.query<{ held: boolean }>(
    `select started_at is null or coalesce(hold_until - interval '0.1 s' > clock_timestamp(), false) as held
       from redrives where id = $1`,
    [id],
  );
  return row?.held ?? false;
}

/** It no longer waits for a time or a breaker. */
export async function endTimedWaits(tx: Tx, id: string, now: { startAt: boolean }): Promise<void> {
  await tx.run(
    "update redrives set breaker_until = null, start_at = case when $2 then null else start_at end where id = $1",
    [id, now.startAt],
  );
}

/** Redrives that wait for no approval and whose time has come, or whose wait for a breaker may be over. */
export async function startableRedrives(db: Queryable): Promise<{ id: string; breakerUntilMs: number | null }[]> {
  return db.query(
    `select id, breaker_until as "breakerUntilMs" from redrives
      where state = ${REDRIVE.PLANNED}
        and ((not awaits_approval and (start_at is null or start_at <= now())) or breaker_until <= now())
      order by id`,
    [],
    { name: "startable-redrives" },
  );
}

const SETTABLE = { ratePerSecond: "rate_per_second", concurrency: "concurrency", lane: "lane" };

/** Changes what may be changed while it runs. null = what its targets have. */
export async function setRedrive(
  tx: Tx,
  id: string,
  name: keyof typeof SETTABLE,
  value: number | string | null,
): Promise<void> {
  await tx.run(`update redrives set ${SETTABLE[name]} = $2 where id = $1`, [id, value]);
}

/**
 * What the targets of a redrive's open items take together; null = unlimited. Of one that has no open item (yet): what the targets
 * of its sources take, so that a rate is not taken because nothing may go just now.
 */
type PaceCeiling = { ratePerSecond: number | null; places: number | null; targets: string | null };

export async function readPaceCeiling(tx: Tx, id: string): Promise<PaceCeiling> {
  const [row] = await tx.query<PaceCeiling>(
    `select case when bool_and(t.rate_per_second is not null) then sum(t.rate_per_second) end as "ratePerSecond",
            sum(t.bulkhead)::int as places, string_agg(t.name, ', ' order by t.name) as targets
       from redrives r
       join targets t on t.id = r.target_id or (r.target_id is null and t.lane = r.lane)
       join sources s on s.id = t.source_id
      where r.id = $1 and case
        when r.state <> ${REDRIVE.PLANNING} and exists (
          select 1 from open_items i where i.redrive_id = r.id)
        then r.target_id is not null or exists (
          select 1 from open_items i where i.redrive_id = r.id and i.source_id = t.source_id)
        else r.target_id is not null or r.sources is null or s.name = any(r.sources) end`,
    [id],
  );
  return row!;
}
