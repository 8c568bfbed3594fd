import { inLine } from "@/lib/order/line.sql";
import type { Queryable } from "@/lib/platform/database/db";
import { isWithin } from "@/lib/platform/database/moments.sql";
import type { StallFacts } from "@/lib/redrive/life/stalled.pure";
import { type HeartbeatInfo, IS_ALIVE } from "@/lib/sources/targets/target-list.read";
import { OPEN_ITEMS, REDRIVE } from "@/lib/states/state.sql";

/** The causes outside of a redrive's own row that can stop it. */
export type LiveFacts = Pick<
  StallFacts,
  "workersAlive" | "stops" | "breakers" | "away" | "targets" | "underWay" | "deferred" | "blockedBy"
> & {
  /** It runs and has decided nothing lately. Else `deferred` and `blockedBy` were not looked for. */
  quiet: boolean;
};

/** A redrive that has decided nothing for this long, seconds, sends nothing. */
export const QUIET_S = 30;

/**
 * Open items that are looked at, whatever number is open: all of a small redrive. Of a large one they are those of its first batches, and
 * batches are by hash of the aggregate: sources and waits are found in them as they are spread over all.
 */
const OPEN_LOOK = 1_000;
/** Of these, items searched for one that another redrive holds back: enough to name that redrive. */
const BLOCKED_LOOK = 200;

type LiveRedrive = {
  id: string;
  quiet: boolean;
  underWay: number;
  deferred: number;
  untilMs: number | null;
  blockedBy: string | null;
  targets: { name: string; force: "open" | "closed" | null }[] | null;
  stops: { target: string | null; by: string; reason: string }[] | null;
};

/** The causes by redrive id, for redrives that are not final. Two statements, however many redrives there are. */
export async function readLiveFacts(
  db: Queryable,
  ids: readonly string[],
  nowMs: number,
): Promise<Map<string, LiveFacts>> {
  if (ids.length === 0) return new Map();
  const [rows, beats] = await Promise.all([db.query<LiveRedrive>(LIVE, [ids], { name: "live-facts" }), readBeats(db)]);
  return new Map(
    rows.map((row) => {
      const targets = row.targets ?? [];
      return [
        row.id,
        {
          quiet: row.quiet,
          workersAlive: beats.length,
          targets: targets.length,
          stops: row.stops ?? [],
          breakers: targets.flatMap((target) => openBreaker(target, beats, nowMs)),
          away: targets.flatMap(({ name }) => awayTarget(name, beats, nowMs)),
          underWay: row.underWay,
          deferred: { count: row.deferred, untilMs: row.untilMs },
          blockedBy: row.blockedBy,
        },
      ];
    }),
  );
}

/** SQL: the redrive `r` sends nothing: only then are its open items a cause. Ticks count what it sends and refuses. */
const QUIET = `r.state = ${REDRIVE.RUNNING} and r.mode = 'deliver' and not exists (
  select 1 from redrive_ticks t
   where t.redrive_id = r.id and ${isWithin("t.at", `interval '${QUIET_S} s'`)} and (t.delivered > 0 or t.failed > 0 or (t.refused > 0 and t.at > r.planned_at)))`;

/** SQL: some open items of the redrive `r`, those that may go first. */
function openItems(limit: number): string {
  const some = (waits: string) =>
    `(select * from open_items where redrive_id = r.id and not_before is ${waits} order by slice limit ${limit})`;
  return `(select * from (${some("null")} union all ${some("not null")}) i limit ${limit})`;
}

/**
 * SQL: the ids of the sources of the redrive `r`: those of all events that it has queued, some of which may be done. While it
 * sends nothing, those of its open items: what stands still must not hide behind what is done.
 */
export const OPEN_SOURCES = `(select unnest(case when r.queued_sources is null or (${QUIET}) then array(
  select distinct i.source_id from ${openItems(OPEN_LOOK)} i) else r.queued_sources end))`;

const LIVE = `
select r.id, ${QUIET} as quiet, (select count(*)::int from live_sends s where ${QUIET} and s.redrive_id = r.id) as "underWay",
       i.deferred, i.until as "untilMs", b.redrive_id as "blockedBy", t.targets, s.stops
  from redrives r
  cross join lateral (select array(${OPEN_SOURCES}) as sources) o
  left join lateral (
    select case when bool_and(waits) then ${OPEN_ITEMS} else count(*) filter (where waits) end as deferred,
           min(not_before) filter (where waits) as until
      from (select not_before, (not_before > now() and not_before < 'infinity') is true as waits
              from ${openItems(OPEN_LOOK)} i where ${QUIET}) i) i on true
  left join lateral (
    select l.redrive_id
      from (select m.source_id, m.aggregate_type, m.aggregate_id, i.place, i.id from ${openItems(BLOCKED_LOOK)} i
              join redrive_items m on m.id = i.id and m.redrive_id = i.redrive_id
             where ${QUIET} and m.aggregate_id is not null) mine
      join aggregate_lines l on ${inLine("l", "mine", "open")} and l.redrive_id <> r.id and (l.place, l.id) < (mine.place, mine.id)
     limit 1) b on true
  left join lateral (
    select jsonb_agg(jsonb_build_object('name', t.name, 'force', t.breaker_force)) as targets
      from targets t
     where t.id = r.target_id or (r.target_id is null and t.lane = r.lane and t.source_id = any(o.sources))) t
    on true
  left join lateral (
    select jsonb_agg(jsonb_build_object('target', t.name, 'by', s.created_by, 'reason', s.reason) order by t.name nulls first) as stops
      from stops s left join targets t on t.id = s.target_id
     where r.mode = 'deliver' and s.lifted_at is null
       and (s.target_id is null or t.id = r.target_id
            or (r.target_id is null and t.lane = r.lane and t.source_id = any(o.sources)))) s
    on true
 where r.id = any($1::uuid[])`;

/**
 * Targets of a redrive whose breakers let nothing through now: held open, or open for every live worker that uses the
 * target. An open breaker whose time is over does not count, because only a send that passes closes it. null = unknown:
 * no worker is alive.
 */
export function closedTargets({
  breakers,
  workersAlive,
}: Pick<LiveFacts, "breakers" | "workersAlive">): string[] | null {
  if (workersAlive === 0) return null;
  return breakers.filter(({ forced, untilMs }) => forced || untilMs !== null).map(({ target }) => target);
}

/** Which of these targets take no sends now, as the live workers report them. */
export async function readOpenBreakers(
  db: Queryable,
  targets: readonly { name: string; breakerForce: "open" | "closed" | null }[],
  nowMs: number,
): Promise<StallFacts["breakers"]> {
  const beats = await readBeats(db);
  return targets.flatMap(({ name, breakerForce }) => openBreaker({ name, force: breakerForce }, beats, nowMs));
}

type LiveBeat = { info: HeartbeatInfo; seenAtMs: number };

function readBeats(db: Queryable): Promise<LiveBeat[]> {
  return db.query<LiveBeat>(
    `select info, seen_at as "seenAtMs" from worker_heartbeats
      where ${IS_ALIVE}`,
    [],
    { name: "live-heartbeats" },
  );
}

/** As the worker says that has looked for longest. */
function awayTarget(name: string, beats: readonly LiveBeat[], nowMs: number): StallFacts["away"] {
  const seen = beats.flatMap(({ info, seenAtMs }) => {
    const away = info.targets?.[name]?.away;
    return away ? [{ target: name, detail: away.detail, forMs: away.forMs + Math.max(0, nowMs - seenAtMs) }] : [];
  });
  return seen.sort((a, b) => b.forMs - a.forMs).slice(0, 1);
}

/** The breaker is open for every worker that has used the target: otherwise another worker would send. */
function openBreaker(
  target: { name: string; force: "open" | "closed" | null },
  beats: readonly LiveBeat[],
  nowMs: number,
): StallFacts["breakers"] {
  if (target.force === "open") return [{ target: target.name, forced: true, untilMs: null }];
  const reports = beats.flatMap(({ info, seenAtMs }) => {
    const breaker = info.targets?.[target.name]?.breaker;
    return breaker ? [{ ...breaker, seenAtMs }] : [];
  });
  if (reports.length === 0 || reports.some((breaker) => breaker.state !== "open")) return [];
  const ends = reports.flatMap(({ waitMs, seenAtMs }) => (waitMs === null ? [] : [seenAtMs + waitMs]));
  const untilMs = ends.length === 0 ? null : Math.min(...ends);
  return [
    {
      target: target.name,
      forced: reports.every((breaker) => breaker.forced),
      untilMs: untilMs !== null && untilMs > nowMs ? untilMs : null,
    },
  ];
}
