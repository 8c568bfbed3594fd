import { afterAll, beforeAll, expect, test } from "vitest";
import { scanEvents } from "@/lib/events/list/event-scan.read";
import { scopeFilter } from "@/lib/guard/viewer/scope.shapes";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { ensurePartitions } from "@/lib/intake/partitions.write";
import { createDb, type Db, type Queryable } from "@/lib/platform/database/db";
import { type TestDatabase, testDatabase } from "@/lib/testing/postgres";

/** More than are looked at first, and more than a rare tag has. */
const [NEWEST, TAGGED] = [1_100, 2_100];

let database: TestDatabase;
let db: Db;

beforeAll(async () => {
  database = await testDatabase();
  db = createDb(database.url, { max: 1 });
  const source = "00000000-0000-7000-8000-000000000001";
  await ensurePartitions(db, Date.now() - 60_000, Date.now());
  await db.run("insert into sources (id, name, kind, config) values ($1, 'orders', 'http', '{}')", [source]);
  await db.run(
    `with fresh as materialized (select uuidv7(make_interval(secs => n / 1000.0 - 10)) as id, n from generate_series(1, $2::int) n),
     facts as (
       insert into dlq_event_facts (id, last_error_code, last_error, payload_bytes, tags)
       select id, 'TIMEOUT', 'late', 2, jsonb_build_object('tenant', case when n <= $3::int then 'acme' else 'globex' end) from fresh),
     levels as (
       insert into dlq_group_levels (fingerprint, source_id, status, n)
       select 'group-' || n, $1, 'PENDING', 1 from fresh)
     insert into dlq_events (id, source_id, event_id, error_code, fingerprint, attempts, first_seen)
     select id, $1, 'event-' || n, 'TIMEOUT', 'group-' || n, 1, uuid_extract_timestamp(id) from fresh`,
    [source, NEWEST + TAGGED, TAGGED],
  );
});
afterAll(async () => {
  await db.end();
  await database.drop();
});

test("a common tag that the newest events lack is read in the order of the list, and not by group", async () => {
  const sent: string[] = [];
  const noting: Queryable = {
    ...db,
    query: (text, ...rest) => {
      sent.push(text);
      return db.query(text, ...rest);
    },
  };
  const filter = scopeFilter(localViewer("tester"), { tags: { tenant: ["acme"] } });
  const rows = await scanEvents(noting, { filter, nowMs: Date.now(), from: null, towards: "older", limit: 50 });
  expect(rows.map(({ eventId }) => eventId)).toEqual(Array.from({ length: 50 }, (_, i) => `event-${TAGGED - i}`));
  expect(sent.filter((text) => text.includes("dlq_group_levels"))).toEqual([]);
});
