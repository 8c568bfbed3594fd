import type { CountOut, EventCounts, EventOut } from "@/lib/events/events.shapes";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import { readDecidingControls } from "@/lib/order/controls/deciding-controls.read";
import { readHeldBehind } from "@/lib/order/tails/held-behind.read";
import type { Db, Queryable } from "@/lib/platform/database/db";
import { paramsFrom } from "@/lib/platform/database/params.sql";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { isDecidedByKinds, kindConditions } from "@/lib/selection/event-kinds.read";
import { inGroups, narrow, narrowParts, readSearch } from "@/lib/selection/event-search.read";
import type { EventFilter, FilterStatus } from "@/lib/selection/filter/event-filter.shapes";
import {
  asksRefinement,
  type CompileOptions,
  compileFilter,
  statusesOf,
} from "@/lib/selection/filter/event-filter.sql";
import { readScopedFilter } from "@/lib/selection/scope.read";
import type { ScopedFilter } from "@/lib/selection/scope.shapes";
import type { EventStatus } from "@/lib/states/event-state.pure";

/**
 * The number of matching events. Exact from the rollups where they suffice: any combination of source, error code and
 * stored status with any window, or the names of kinds. Else counted up to a limit, in limited time.
 */

/** Counting stops here: "at least 10,000" is enough to know that there are many. */
const COUNT_BOUND = 10_000;
/** Time limit of a count: the list does not need it, so nobody waits longer for it. */
const COUNT_MS_MAX = 1_500;
const HOUR_MS = 3_600_000;

type StatusCounts = Map<string, number>;
/** null = it took too long. `bounded` = counting stopped at the bound. */
type Counted = { byStatus: StatusCounts; bounded: boolean } | null;

export async function countEvents(db: Db, viewer: Viewer, asked: EventFilter, nowMs: number): Promise<EventCounts> {
  const filter = await readScopedFilter(db, viewer, asked);
  const [counted, refined, held] = await Promise.all([
    countByStatus(db, filter, nowMs),
    countRefined(db, filter, nowMs),
    filter.status?.includes("HELD") ? countAsked(db, filter, nowMs) : countHeld(db, filter, nowMs),
  ]);
  const asOf = iso(nowMs);
  const out = (value: number | null, bounded: boolean): CountOut => {
    if (value === null) return { value, kind: "estimated", asOf };
    return { value, kind: bounded ? "atLeast" : "exact", asOf };
  };
  const byStatus: EventCounts["byStatus"] = refinedOut(refined, out);
  if (held === null) byStatus.HELD = out(null, false);
  else if (held.n > 0) byStatus.HELD = out(held.n, held.more);
  else if (held.more) byStatus.HELD = out(null, false);
  if (counted === null) return { total: out(null, false), byStatus };
  let total = 0;
  for (const [status, n] of counted.byStatus) {
    total += n;
    // After a count that stopped, the shares depend on the read order and mean nothing.
    if (!counted.bounded) byStatus[status] = out(n, false);
  }
  return { total: out(total, counted.bounded), byStatus };
}

function countByStatus(db: Db, filter: ScopedFilter, nowMs: number): Promise<Counted> {
  if (isDecidedByLevels(filter)) return countLevels(db, filter, nowMs);
  if (isDecidedByKinds(filter)) return countGroups(db, filter);
  return countRows(db, filter, nowMs);
}

/** True when the filter restricts by nothing but these names, and by no refinement of a status. */
function restrictsOnly(filter: ScopedFilter, names: readonly (keyof ScopedFilter)[]): boolean {
  const used = (Object.keys(filter) as (keyof ScopedFilter)[]).filter((name) => filter[name] !== undefined);
  if (asksRefinement(filter)) return false;
  return used.every((name) => names.includes(name));
}

function isDecidedByLevels(filter: ScopedFilter): boolean {
  const excluding = ["not.source", "not.errorCode", "not.status"] as const;
  return restrictsOnly(filter, ["source", "errorCode", "status", ...excluding, "from", "to"]);
}

/** Whole hours come from the rollup; the partial hours at the ends of the window come from their events. */
async function countLevels(db: Db, filter: ScopedFilter, nowMs: number): Promise<Counted> {
  const { fromMs, toMs } = compileFilter(filter, nowMs);
  const firstHour = fromMs === null ? null : Math.ceil(fromMs / HOUR_MS) * HOUR_MS;
  const lastHour = toMs === null ? null : Math.floor(toMs / HOUR_MS) * HOUR_MS;
  const { from: _from, to: _to, ...rest } = filter;
  if (firstHour !== null && lastHour !== null && firstHour >= lastHour) return countRows(db, filter, nowMs);
  const edges: Promise<Counted>[] = [];
  const edge = (from: number, to: number) => {
    if (from < to) edges.push(countRows(db, rest, nowMs, { fromMs: from, toMs: to }));
  };
  if (fromMs !== null) edge(fromMs, firstHour!);
  if (toMs !== null) edge(lastHour!, toMs);
  const [whole, ...cut] = await Promise.all([sumLevels(db, rest, firstHour, lastHour), ...edges]);
  return cut.reduce(add, { byStatus: whole, bounded: false });
}

function add(total: Counted, part: Counted): Counted {
  if (total === null || part === null) return null;
  const byStatus = new Map(total.byStatus);
  for (const [status, n] of part.byStatus) byStatus.set(status, (byStatus.get(status) ?? 0) + n);
  return { byStatus, bounded: total.bounded || part.bounded };
}

type StatusRow = { status: EventStatus; n: number };

const toCounts = (rows: StatusRow[]): StatusCounts => new Map(rows.map(({ status, n }) => [status, n]));

async function sumLevels(
  db: Queryable,
  filter: Pick<ScopedFilter, "source" | "errorCode" | "status" | "not.source" | "not.errorCode" | "not.status">,
  firstHour: number | null,
  lastHour: number | null,
): Promise<StatusCounts> {
  const { source, errorCode, "not.source": noSource, "not.errorCode": noErrorCode } = filter;
  const values: unknown[] = [
    source ?? null,
    errorCode ?? null,
    statusesOf(filter),
    noSource ?? null,
    noErrorCode ?? null,
  ];
  const hours = [
    ...(firstHour === null ? [] : [`hour >= to_timestamp($${values.push(firstHour)}::float8 / 1000)`]),
    ...(lastHour === null ? [] : [`hour < to_timestamp($${values.push(lastHour)}::float8 / 1000)`]),
  ];
  const text = `select status, sum(n)::bigint as n from ${hours.length > 0 ? "dlq_level_ages" : "dlq_level_sums"}
      where ($1::text[] is null or source_id = any(array(select id from sources where name = any($1))))
        and ($2::text[] is null or error_code = any($2)) and ($3::text[] is null or status = any($3))
        and ($4::text[] is null or not source_id = any(array(select id from sources where name = any($4))))
        and ($5::text[] is null or not error_code = any($5))
        ${hours.map((condition) => `and ${condition}`).join(" ")}
      group by status`;
  const rows = await db.query<StatusRow>(text, values, { name: "sum-levels" });
  return toCounts(rows);
}

async function countGroups(db: Queryable, filter: ScopedFilter): Promise<Counted> {
  const params = paramsFrom(1);
  const rows = await db.query<StatusRow>(
    `select l.status, sum(l.n)::bigint as n from dlq_group_levels l where ${kindConditions(filter, params)} group by l.status`,
    params.values,
  );
  return { byStatus: toCounts(rows), bounded: false };
}

/** Counts events themselves, up to the bound; held ones up to a lower one, since each is looked up in its line. */
async function countRows(
  db: Db,
  filter: ScopedFilter,
  nowMs: number,
  window?: CompileOptions["window"],
): Promise<Counted> {
  const search = await readSearch(db, filter);
  const ofGroups = search && inGroups(filter, search);
  if (ofGroups) {
    const counted = await countRows(db, ofGroups, nowMs, window);
    if (counted === null || counted.bounded) return counted;
  }
  const bound = filter.status?.includes("HELD") ? HELD_LOOKED_AT_MAX : COUNT_BOUND;
  const rows = await inTime(db, async (tx) => {
    const { wheres, values } = await narrowParts(tx, filter, nowMs, window);
    if (wheres.length === 0) return [];
    const met = wheres.map(
      (where) => `(select e.id, e.status from dlq_event_rows e where ${where} limit ${bound + 1})`,
    );
    // Parts overlap where two controls match the same event: the union counts it once.
    return tx.query<StatusRow>(
      `select status, count(*) as n from (select * from (${met.join(" union ")}) met limit ${bound + 1}) counted
        group by status`,
      values,
      // Planning costs more than reading, and of a filter without a list of kinds there are few texts.
      restrictsOnly({ ...filter, status: undefined }, []) ? { name: "count-rows" } : {},
    );
  });
  if (rows === null) return null;
  const total = rows.reduce((sum, { n }) => sum + n, 0);
  if (total <= bound) return { byStatus: toCounts(rows), bounded: false };
  return { byStatus: new Map([["PENDING", bound]]), bounded: true };
}

const REFINED = ["BOUNCED", "COOLING", "BLACKLISTED", "CONFIRMED"] as const;
type Refined = Partial<Record<(typeof REFINED)[number], Counted>>;

/** The matches in each refinement of a status. They are counted, since no rollup holds them. */
async function countRefined(db: Db, filter: ScopedFilter, nowMs: number): Promise<Refined> {
  const asked = filter.status;
  const wanted = REFINED.filter((status) => {
    const parent = status === "CONFIRMED" ? "REDRIVEN" : "PENDING";
    return !asked || asked.includes(status) || asked.includes(parent);
  });
  const counts = await Promise.all(wanted.map((status) => countRows(db, { ...filter, status: [status] }, nowMs)));
  return Object.fromEntries(wanted.map((status, index) => [status, counts[index]]));
}

type HeldFacts = Pick<
  EventOut,
  "id" | "source" | "status" | "eventId" | "aggregateType" | "aggregateId" | "version" | "errorCode" | "cooldownUntil"
>;

/** Matches whose order is looked at; where there are more, HELD is a lower bound. */
const HELD_LOOKED_AT_MAX = 2_000;
/** So many are looked at where there are more: each costs three look-ups, and the answer is a lower bound anyway. */
const HELD_SAMPLE = 300;

/** The matches that are HELD, of a filter that asks for them: up to the bound, and not only among the first matches. */
async function countAsked(db: Db, filter: ScopedFilter, nowMs: number): Promise<{ n: number; more: boolean } | null> {
  const counted = await countRows(db, { ...filter, status: ["HELD"] }, nowMs);
  if (counted === null) return null;
  return { n: [...counted.byStatus.values()].reduce((sum, one) => sum + one, 0), more: counted.bounded };
}

/** The matches that would show as HELD: no other cause keeps them. `more`: not all were looked at; null = it took too long. */
async function countHeld(db: Db, filter: ScopedFilter, nowMs: number): Promise<{ n: number; more: boolean } | null> {
  const status = (["PENDING", "BOUNCED"] as const).filter((one) => !filter.status || filter.status.includes(one));
  if (status.length === 0) return { n: 0, more: false };
  const asked: FilterStatus[] = status.includes("PENDING") ? ["PENDING"] : [...status];
  return inTime(db, async (tx) => {
    const part = { ...filter, status: asked };
    const compiled = await narrow(tx, part, compileFilter(part, nowMs), 1);
    const found = await tx.query<{ id: string }>(
      `select e.id from dlq_event_rows e where ${compiled.where} limit ${HELD_LOOKED_AT_MAX + 1}`,
      compiled.values,
      restrictsOnly({ ...filter, status: undefined }, []) ? { name: "count-pending" } : {},
    );
    const more = found.length > HELD_LOOKED_AT_MAX;
    const ids = found.slice(0, more ? HELD_SAMPLE : HELD_LOOKED_AT_MAX).map(({ id }) => id);
    // The columns are read only for these rows, see `page` in scan-statements.read.ts; none is in the facts, whose errors are long.
    const rows = await tx.query<HeldFacts>(
      `select e.id, s.name as source, e.status, e.event_id as "eventId", e.aggregate_type as "aggregateType",
              e.aggregate_id as "aggregateId", e.version, e.error_code as "errorCode", e.cooldown_until as "cooldownUntil"
         from unnest($1::uuid[]) p (id) join dlq_event_rows e on e.id = p.id join sources s on s.id = e.source_id`,
      [ids],
      { isoTimes: true, name: "count-held" },
    );
    const held = await readHeldBehind(tx, rows);
    const behind = rows.filter(({ id }) => held.has(id));
    const controls = await readDecidingControls(tx, behind, nowMs);
    const shown = behind.filter(({ id, cooldownUntil }) => {
      const kind = controls.get(id)?.kind;
      const cooling = cooldownUntil !== null && Date.parse(cooldownUntil) > nowMs;
      return kind === "whitelist" || (kind === undefined && !cooling);
    });
    return { n: shown.length, more };
  });
}

function refinedOut(refined: Refined, out: (n: number | null, bounded: boolean) => CountOut): EventCounts["byStatus"] {
  const byStatus: EventCounts["byStatus"] = {};
  for (const status of REFINED) {
    const counted = refined[status];
    if (!counted) continue;
    const n = [...counted.byStatus.values()].reduce((sum, one) => sum + one, 0);
    if (n > 0) byStatus[status] = out(n, counted.bounded);
  }
  return byStatus;
}

/** Runs a read within the time limit of a count; null when the limit was over. */
async function inTime<T>(db: Db, read: (tx: Queryable) => Promise<T>): Promise<T | null> {
  try {
    return await db.transaction(read, { statementTimeoutMs: COUNT_MS_MAX, readOnly: true });
  } catch (error) {
    if (error instanceof DomainError && error.code === "read-timeout") return null;
    throw error;
  }
}
