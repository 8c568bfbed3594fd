import { windowsBefore } from "@/lib/events/groups/windows-before.pure";
import type { ArrivalRow, OutcomeRow } from "@/lib/observe/alerts/facts/alert-facts.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { asSum, flowPieces, knownSince } from "@/lib/selection/flow.read";
import { CODE_FLOW, DELTA_KINDS, FLOW_KINDS, GROUP_FLOW } from "@/lib/states/flow-tables.sql";

const MINUTE_MS = 60_000;

/** The end of the last window: minutes are counted whole, also the one that is not over. */
const endOf = (nowMs: number) => (Math.floor(nowMs / MINUTE_MS) + 1) * MINUTE_MS;

type Sums = { sql: string; values: unknown[] };

/** Groups of a source, or of every source. */
type Groups = readonly { fingerprint: string; source: string | null }[];

/**
 * SQL: the flow of each of these windows by source and error code, with a column for each kind and the window's `day`; of these
 * groups, where any are given.
 */
function flowOfWindows(windows: readonly { fromMs: number; toMs: number }[], groups: Groups | null = null): Sums {
  const values: unknown[] = [];
  if (groups)
    values.push(
      groups.map(({ fingerprint }) => fingerprint),
      groups.map(({ source }) => source),
    );
  const ofGroups = groups
    ? `and fingerprint = any($1::text[]) and exists (select from unnest($1::text[], $2::text[]) w (fingerprint, source)
         where w.fingerprint = flow.fingerprint
           and (w.source is null or flow.source_id = (select id from sources where name = w.source)))`
    : "";
  const between = (column: string, fromMs: number, toMs: number) =>
    `${column} >= to_timestamp($${values.push(fromMs)}::float8 / 1000) and ${column} < to_timestamp($${values.push(toMs)}::float8 / 1000)`;
  const parts = windows.flatMap(({ fromMs, toMs }, day) => [
    ...flowPieces(groups ? GROUP_FLOW : CODE_FLOW, asSum(fromMs, toMs)).map(
      (piece) =>
        `select ${day} as day, source_id, error_code, ${FLOW_KINDS.join(", ")} from ${piece.table} flow
          where ${between("at", piece.fromMs, piece.toMs)} ${ofGroups}`,
    ),
    `select ${day}, source_id, error_code, ${DELTA_KINDS} from dlq_flow flow where ${between("minute", fromMs, toMs)} ${ofGroups}`,
  ]);
  return { sql: parts.join("\n union all "), values };
}

/** Arrivals by source and error code in the last `windowMs`, and in the same hours of each previous day, without muted groups. */
export async function readArrivalsOf(
  db: Queryable,
  windowMs: number,
  nowMs: number,
  muted: Groups,
): Promise<ArrivalRow[]> {
  const toMs = endOf(nowMs);
  const window = { fromMs: toMs - windowMs, toMs };
  const { windows, scale } = windowsBefore(window, await knownSince(db));
  const all = await arrivedByDay(db, flowOfWindows([window, ...windows]));
  const left = muted.length === 0 ? [] : await arrivedByDay(db, flowOfWindows([window, ...windows], muted));
  const found = new Map<string, ArrivalRow>();
  const add = ({ source, errorCode, day, n }: DayRow, sign: 1 | -1) => {
    const key = JSON.stringify([source, errorCode]);
    const row = found.get(key) ?? { source, errorCode, count: 0, days: Array<number>(windows.length).fill(0) };
    if (day === 0) {
      row.count += sign * n;
      if (sign < 0) row.muted = n;
    } else row.days[day - 1]! += sign * n * scale;
    found.set(key, row);
  };
  for (const row of all) add(row, 1);
  for (const row of left) add(row, -1);
  return [...found.values()];
}

type DayRow = { source: string; errorCode: string; day: number; n: number };

async function arrivedByDay(db: Queryable, flow: Sums): Promise<DayRow[]> {
  const text = `select s.name as source, f.error_code as "errorCode", f.day, sum(f.parked + f.bounced + f.unstored)::bigint as n
      from (${flow.sql}) f join sources s on s.id = f.source_id group by 1, 2, 3`;
  return db.query<DayRow>(text, flow.values, { name: "alert-arrivals" });
}

/** Outcomes of redriven events by source and error code in the last `windowMs`. */
export async function readOutcomesOf(db: Queryable, windowMs: number, nowMs: number): Promise<OutcomeRow[]> {
  const toMs = endOf(nowMs);
  const flow = flowOfWindows([{ fromMs: toMs - windowMs, toMs }]);
  const text = `select s.name as source, f.error_code as "errorCode", sum(f.confirmed - f.unconfirmed)::bigint as confirmed,
          sum(f.bounced)::bigint as bounced, sum(f.failed)::bigint as failed
      from (${flow.sql}) f join sources s on s.id = f.source_id group by 1, 2
     having sum(f.confirmed + f.bounced + f.failed) > 0`;
  return db.query<OutcomeRow>(text, flow.values, { name: "alert-outcomes" });
}
