import { LINE_COLUMNS, linesOf } from "@/lib/order/line.sql";
import type { Db } from "@/lib/platform/database/db";
import { countStored } from "@/lib/testing/letters";

/** Parks events of a source in aggregates of `each`, a millisecond apart, of which all but the first are held. They are one group, with the source's name. */
export async function parkLines(
  db: Db,
  source: string,
  { events, each, agoMs }: { events: number; each: number; agoMs: number },
): Promise<void> {
  await db.run(
    `with fresh as materialized (
       select uuidv7(make_interval(secs => (n - $3::float8) / 1000)) as id, n from generate_series(0, $2::int - 1) n),
     facts as (insert into dlq_event_facts (id, payload_bytes, aggregate_id) select id, 2, $1 || n / $4::int from fresh)
     insert into dlq_events (id, source_id, event_id, aggregate_type, aggregate_id, version, error_code, fingerprint, attempts, first_seen)
     select f.id, s.id, $1 || '-' || n, 'order', $1 || n / $4::int, 1 + n % $4::int, 'TIMEOUT', $1, 1, uuid_extract_timestamp(f.id)
       from fresh f, sources s where s.name = $1`,
    [source, events, agoMs, each],
  );
  const fresh = `e.source_id = (select id from sources where name = $1) and not exists (select from aggregate_lines l where l.id = e.id)`;
  await db.run(
    `insert into aggregate_lines (${LINE_COLUMNS}) select ${LINE_COLUMNS} from (${linesOf(fresh)}) e where part is not null`,
    [source],
  );
  await db.run("truncate dlq_levels, dlq_group_levels");
  await countStored(db);
  await db.run("vacuum analyze");
}
