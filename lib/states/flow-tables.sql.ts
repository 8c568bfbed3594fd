import { type FlowKind, NARROW_DAYS, SIZE_EFFECT } from "@/lib/states/flow.pure";

/**
 * The folded flow of events. Each statement that changes events appends deltas to the log `dlq_flow`; the janitor moves
 * each delta into every table here. A row has a column for each kind: the changes of the events of a source (and an error
 * code, and a group) in the `widthMs` from `at`. The tables and the log together hold the whole flow.
 */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export type FlowTable = { table: string; widthMs: number };

/** By source and error code, the widest first. */
export const CODE_FLOW: readonly FlowTable[] = [
  { table: "dlq_flow_days", widthMs: DAY_MS },
  { table: "dlq_flow_quarters", widthMs: DAY_MS / 4 },
  { table: "dlq_flow_hours", widthMs: HOUR_MS },
  { table: "dlq_flow_fives", widthMs: 5 * MINUTE_MS },
  { table: "dlq_flow_minutes", widthMs: MINUTE_MS },
];

/** By source alone, the widest first: an age of all error codes reads a row for each hour and source. */
export const SOURCE_FLOW: readonly FlowTable[] = [
  { table: "dlq_source_flow_days", widthMs: DAY_MS },
  { table: "dlq_source_flow_hours", widthMs: HOUR_MS },
];

/** By source, error code and group, the widest first. */
export const GROUP_FLOW: readonly FlowTable[] = [
  { table: "dlq_group_flow_days", widthMs: DAY_MS },
  { table: "dlq_group_flow_hours", widthMs: HOUR_MS },
  { table: "dlq_group_flow_minutes", widthMs: MINUTE_MS },
];

/** Arrivals by group alone, the widest first: a group has a row for each of its sources in the tables above. */
export const GROUP_ARRIVALS: readonly FlowTable[] = [
  { table: "dlq_group_arrival_days", widthMs: DAY_MS },
  { table: "dlq_group_arrival_hours", widthMs: HOUR_MS },
];
export const ARRIVAL_KINDS = ["parked", "bounced", "unstored"] as const satisfies readonly FlowKind[];

/** A day longer than they are read: two clocks may differ. */
const REMOVED_BEFORE = `date_trunc('day', now(), 'UTC') - interval '${NARROW_DAYS + 1} days'`;

/** SQL: where the hour is read in place of the minutes of it. */
export const NARROW_SINCE = `date_trunc('day', now(), 'UTC') - interval '${NARROW_DAYS} days'`;

/** Arrivals that became no event. Not kept by group: noise may have a group for each message. */
export const UNGROUPED_KINDS = ["duplicate", "dropped", "rejected"] as const satisfies readonly FlowKind[];

const ROWS_MAX = 50_000;

/** SQL by table: removes rows that nobody reads any more, some of them. */
export const REMOVE_NARROW = [...CODE_FLOW, ...GROUP_FLOW]
  .filter(({ widthMs }) => widthMs < HOUR_MS)
  .map(
    ({ table }) =>
      `delete from ${table} where ctid = any(array(select ctid from ${table} where at < ${REMOVED_BEFORE} limit ${ROWS_MAX}))`,
  );

export const FLOW_KINDS = Object.keys(SIZE_EFFECT) as FlowKind[];

/** The kinds of one delta as the columns of a row. */
export const deltasOf = (kinds: readonly FlowKind[]) =>
  kinds.map((kind) => `case when kind = '${kind}' then n else 0 end as ${kind}`).join(", ");
export const DELTA_KINDS = deltasOf(FLOW_KINDS);

/** The change of dlq_size by a row. */
export const SIZE_EFFECT_SQL = FLOW_KINDS.filter((kind) => SIZE_EFFECT[kind] !== 0)
  .map((kind) => `${SIZE_EFFECT[kind] > 0 ? "+" : "-"} ${kind}`)
  .join(" ")
  .replace(/^\+ /, "");
