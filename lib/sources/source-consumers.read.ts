import { CONSUMER_STATES, type ConsumerPart, type ConsumerWord } from "@/lib/brokers/source-mode.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { isWithin } from "@/lib/platform/database/moments.sql";
import { iso, isoOrNull } from "@/lib/platform/plain/iso-time.pure";
import type { SourceConsumerOut, SourceOut } from "@/lib/sources/sources.shapes";

/** A worker reports every two seconds. After this time without a report it no longer counts. */
const CONSUMER_LOST_S = 10;

/** SQL over `c`, a row of source_consumers: its worker reports. */
export const CONSUMER_IS_LIVE = isWithin("c.at", `interval '${CONSUMER_LOST_S} s'`);

export type ConsumerRow = {
  sourceId: string;
  worker: string;
  state: ConsumerWord;
  sinceMs: number;
  atMs: number;
  obeys: boolean;
  live: boolean;
  lag: number | null;
  parked: number;
  ratePerSecond: number | null;
  lastError: string | null;
  lastErrorAtMs: number | null;
  recoveredAtMs: number | null;
  retryAtMs: number | null;
  parts: ConsumerPart[];
  partCount: number;
};

export async function readConsumers(db: Queryable, sourceIds: readonly string[]): Promise<Map<string, ConsumerRow[]>> {
  const rows = await db.query<ConsumerRow>(
    `select c.source_id as "sourceId", c.worker, c.state, c.since as "sinceMs", c.at as "atMs", c.mode_at = s.mode_at as obeys,
            ${CONSUMER_IS_LIVE} as live, c.lag, c.parked, c.rate_per_second as "ratePerSecond",
            c.last_error as "lastError", c.last_error_at as "lastErrorAtMs", c.recovered_at as "recoveredAtMs",
            c.retry_at as "retryAtMs", c.parts, c.part_count as "partCount"
       from source_consumers c join sources s on s.id = c.source_id
      where c.source_id = any($1::uuid[]) order by c.worker`,
    [sourceIds],
    { name: "read-consumers" },
  );
  return Map.groupBy(rows, (row) => row.sourceId);
}

export function consumerOut(row: ConsumerRow): SourceConsumerOut {
  return {
    worker: row.worker,
    state: row.state,
    since: iso(row.sinceMs),
    at: iso(row.atMs),
    obeysMode: row.obeys,
    lag: row.lag,
    parked: row.parked,
    ratePerSecond: row.ratePerSecond,
    lastError: row.lastError,
    lastErrorAt: isoOrNull(row.lastErrorAtMs),
    recoveredAt: isoOrNull(row.recoveredAtMs),
    retryAt: isoOrNull(row.retryAtMs),
    parts: row.parts,
    partCount: row.partCount,
  };
}

/** The worst state with its error. Silent workers count only when no other reports; parts add up, other workers count the same queue. */
export function stateOf(rows: readonly ConsumerRow[]): SourceOut["state"] {
  const live = rows.filter((row) => row.live);
  const counted = live.length > 0 ? live : rows;
  const rank = (row: ConsumerRow) => CONSUMER_STATES.indexOf(row.state);
  const [worst] = [...counted].sort((left, right) => rank(left) - rank(right) || right.atMs - left.atMs);
  if (worst === undefined) return null;
  const error = [worst, ...counted].find((row) => row.lastError !== null && row.recoveredAtMs === null);
  const retries = counted.flatMap((row) => row.retryAtMs ?? []);
  return {
    state: worst.state,
    since: iso(worst.sinceMs),
    at: iso(Math.max(...counted.map((row) => row.atMs))),
    lag: lagOf(counted),
    lastError: error?.lastError ?? null,
    retryAt: retries.length === 0 ? null : iso(Math.min(...retries)),
    ratePerSecond: sum(counted.map((row) => row.ratePerSecond)),
    workers: live.length,
  };
}

function lagOf(rows: readonly ConsumerRow[]): number | null {
  const lags = rows.flatMap((row) => row.lag ?? []);
  if (lags.length === 0) return null;
  return rows.some((row) => row.partCount > 0) ? sum(lags) : Math.max(...lags);
}

function sum(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((total, value) => total + value, 0);
}
