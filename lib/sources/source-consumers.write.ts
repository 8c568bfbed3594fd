import type { ConsumerPart } from "@/lib/brokers/source-mode.pure";
import type { Db, Tx } from "@/lib/platform/database/db";
import { CONSUMER_IS_LIVE, type ConsumerRow } from "@/lib/sources/source-consumers.read";

export type ConsumerReport = Omit<
  ConsumerRow,
  "sinceMs" | "atMs" | "obeys" | "live" | "recoveredAtMs" | "parts" | "partCount"
> & {
  /** `mode_at` of the mode that the worker obeys. */
  modeAt: string;
  parts: readonly ConsumerPart[];
};

/** A pattern of topics may have any number of partitions: those with the most lag are kept. */
const PARTS_MAX = 500;

/** Stores the report of one worker. The last error stays after its end, with the time of both. */
export async function writeConsumer(db: Db, report: ConsumerReport): Promise<void> {
  const parts = [...report.parts].sort((left, right) => (right.lag ?? -1) - (left.lag ?? -1)).slice(0, PARTS_MAX);
  await db.run(
    `insert into source_consumers as held (source_id, worker, state, mode_at, lag, parked, rate_per_second, last_error,
                                           last_error_at, retry_at, parts, part_count)
     select id, $2, $3, $4::timestamptz, $5::bigint, $6::bigint, $7::float8, $8, to_timestamp($9::float8 / 1000),
            to_timestamp($10::float8 / 1000), $11::jsonb, $12
       from sources where id = $1
     on conflict (source_id, worker) do update set
       state = excluded.state, mode_at = excluded.mode_at, at = now(),
       since = case when held.state = excluded.state then held.since else now() end,
       lag = excluded.lag, parked = excluded.parked, rate_per_second = excluded.rate_per_second,
       last_error = coalesce(excluded.last_error, held.last_error),
       last_error_at = case when excluded.last_error is null then held.last_error_at else excluded.last_error_at end,
       recovered_at = case when excluded.last_error is null and held.last_error is not null
                           then coalesce(held.recovered_at, now()) end,
       retry_at = excluded.retry_at, parts = excluded.parts, part_count = excluded.part_count`,
    [
      report.sourceId,
      report.worker,
      report.state,
      report.modeAt,
      report.lag,
      report.parked,
      report.ratePerSecond,
      report.lastError,
      report.lastError === null ? null : report.lastErrorAtMs,
      report.retryAtMs,
      JSON.stringify(parts),
      report.parts.length,
    ],
    { name: "write-consumer" },
  );
}

export async function removeConsumer(db: Db, sourceId: string, worker: string): Promise<void> {
  await db.run("delete from source_consumers where source_id = $1 and worker = $2", [sourceId, worker]);
}

/**
 * Pauses a source that drained, once every worker that reports has found it empty in this drain. Answers the reason that is
 * stored: what the workers know of what is left. null when one has not found it empty, or the mode was changed meanwhile.
 */
export async function pauseDrained(tx: Tx, source: { id: string; modeAt: string; by: string }): Promise<string | null> {
  const [paused] = await tx.query<{ reason: string }>(
    `update sources s set mode = 'paused', mode_at = now(), mode_by = $3,
            mode_reason = coalesce(
              (select case when bool_or(c.lag is null)
                           then 'nothing came for 30 s of a drain; the broker does not say what is left'
                           when max(c.lag) > 0
                           then 'nothing came for 30 s of a drain; the broker still counts ' || max(c.lag) end
                 from source_consumers c
                where c.source_id = s.id and c.state = 'drained' and c.mode_at = s.mode_at),
              'empty after a drain')
      where id = $1 and mode = 'draining' and mode_at = $2::timestamptz
        and not exists (select 1 from source_consumers c
                         where c.source_id = s.id and ${CONSUMER_IS_LIVE}
                           and (c.state <> 'drained' or c.mode_at <> s.mode_at))
     returning mode_reason as reason`,
    [source.id, source.modeAt, source.by],
    { name: "pause-drained" },
  );
  return paused?.reason ?? null;
}
