import { readFileSync } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { afterEach, beforeEach, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { readLine, unpackLines } from "@/lib/keep/archive/sets/archive-lines";
import { packParquet } from "@/lib/keep/archive/sets/set-parquet";
import { setEventOf } from "@/lib/keep/archive/sets/write-set";
import { removeEvents } from "@/lib/keep/removal/remove-events";
import { systemClock } from "@/lib/platform/clock";
import { uuidv7Day } from "@/lib/platform/ids";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { addSource, deadLetter } from "@/lib/testing/letters";
import { worldOfEachTest } from "@/lib/testing/redrive-world";
import { archiveOfEachTest } from "@/lib/testing/test-archive";
import { workBulkOperation } from "@/workers/work-bulk-operation";

const world = worldOfEachTest();
const ADA = localViewer("ada");

const { archive, folder } = archiveOfEachTest();
let duck: DuckDBConnection;
beforeEach(async () => {
  duck = await (await DuckDBInstance.create(":memory:")).connect();
  await duck.run(`set file_search_path = '${folder()}'`);
});
afterEach(async () => {
  duck.closeSync();
  // Their states were made by SQL, which counts nothing.
  await world.db.run("truncate dlq_levels, dlq_group_levels, dlq_flow, dlq_events, archived_events");
});

async function query(sql: string): Promise<Record<string, unknown>[]> {
  return (await duck.runAndReadAll(sql)).getRowObjectsJson();
}

/** The queries of the page, in their order. */
function documented(): string[] {
  const page = readFileSync("docs/archive.md", "utf8");
  return [...page.matchAll(/^```sql\n(.*?)^```/gms)].map(([, sql]) => sql!);
}

async function parkAt(at: string, source: string, letter: Partial<DeadLetter>): Promise<void> {
  const clock = { ...systemClock, wallMs: () => Date.parse(at) };
  await parkEvents({ ...world.deps, clock }, [{ source, letter: deadLetter(letter) }], ADA);
}

const EVENTS: [at: string, source: string, Partial<DeadLetter>][] = [
  [
    "2026-11-25T00:00:00.000Z",
    "orders",
    { eventId: "first", version: 0n, errorCode: "TIMEOUT", tags: { orderId: "77" } },
  ],
  ["2026-11-25T23:59:59.999Z", "orders", { eventId: "last", version: 999_999_999_999_999_999n, errorCode: "TIMEOUT" }],
  ["2026-11-26T00:00:00.000Z", "orders", { eventId: "next-day", version: 9_007_199_254_740_993n }],
  ["2026-11-25T12:00:00.001Z", "billing", { eventId: "日本 \u{1F600} '\"\\\n\t", errorCode: "TIMEOUT", traceId: null }],
  [
    "2026-11-25T12:00:00.002Z",
    "billing",
    {
      eventId: "bare",
      aggregateId: null,
      aggregateType: null,
      version: null,
      eventType: null,
      error: { type: null, message: null, stack: null },
      tags: {},
      payload: Buffer.from([0, 255, 1]),
      contentType: "application/octet-stream",
    },
  ],
  [
    "2026-11-25T12:00:00.003Z",
    "billing",
    {
      eventId: "empty",
      error: { type: "", message: "", stack: "" },
      tags: { a: "", '"k"': "\u00e9\u{1F600}", 10: "n", 9: "m" },
    },
  ],
  ["1970-01-01T00:00:00.000Z", "orders", { eventId: "epoch", version: 7n }],
  ["2999-12-31T23:59:59.999Z", "orders", { eventId: "future", version: 8n }],
];

/** All of them settled, and removed. Answers the rows of the store as they were, by the names of the columns of a set. */
async function removeAll(): Promise<Record<string, unknown>[]> {
  await addSource(world.db, "billing");
  for (const event of EVENTS) await parkAt(...event);
  await world.db.run(
    `update dlq_events set status = 'IGNORED', attempts = 3, bounces = case event_id when 'last' then 2 else 0 end,
            last_attempt_at = case event_id when 'first' then timestamptz '1969-12-31 23:59:59.999999+00'
                                            when 'last' then timestamptz '9999-12-31 23:59:59.999999+00'
                                            when 'bare' then null else timestamptz '2026-11-25 12:00:00.000001+00' end`,
  );
  await world.db.run(
    `update dlq_events set status = 'REDRIVEN', confirmed_at = '2026-11-30 00:00:00.5+00', redrive_at = now() where event_id = 'first'`,
  );
  const rows = await world.db.query<Record<string, unknown>>(
    `select e.id::text as id, s.name as source, e.event_id, e.aggregate_id, e.aggregate_type, e.version::text as version,
            f.event_type, e.error_code, e.fingerprint, e.status, e.attempts, e.bounces,
            (extract(epoch from e.first_seen) * 1000000)::bigint::text as first_seen,
            (extract(epoch from e.last_attempt_at) * 1000000)::bigint::text as last_attempt_at,
            (extract(epoch from e.confirmed_at) * 1000000)::bigint::text as confirmed_at,
            f.payload_bytes, f.trace_id, b.error_type, b.error_message, f.tags
       from dlq_events e join sources s on s.id = e.source_id join dlq_event_facts f on f.id = e.id
       join dlq_event_bodies b on b.id = e.id order by e.id`,
  );
  const { id } = await removeEvents(
    { ...world.deps, archive },
    { select: { ids: rows.map((row) => row.id as string) }, reason: "read elsewhere" },
    ADA,
  );
  await workBulkOperation({ ...world.deps, archive }, id!, new AbortController().signal);
  expect(await world.statuses()).toEqual({});
  return rows;
}

type Tags = Record<string, string>;

const READ = "read_parquet('events/**/*.parquet', hive_partitioning = true)";

test("DuckDB reads each column of each event as the store had it, by day and source", async () => {
  const rows = await removeAll();
  expect(rows).toHaveLength(EVENTS.length);
  const micros = ["first_seen", "last_attempt_at", "confirmed_at"];
  const read = await query(
    `select * exclude (day) replace (${micros.map((name) => `epoch_us(${name}) as ${name}`).join(", ")}) from ${READ} order by id`,
  );
  const found = read.map((row) => ({ ...row, tags: JSON.parse(row.tags as string) }));
  expect(found).toEqual(rows);
  const types = await query(`select column_name as name, column_type as type from (describe select * from ${READ})`);
  const times = Object.fromEntries(micros.map((name) => [name, "TIMESTAMP WITH TIME ZONE"]));
  const numbers = { version: "BIGINT", attempts: "INTEGER", bounces: "INTEGER", payload_bytes: "INTEGER" };
  const typed = Object.fromEntries(types.map(({ name, type }) => [name, type]));
  expect(typed).toEqual({
    ...Object.fromEntries(Object.keys(rows[0]!).map((name) => [name, "VARCHAR"])),
    ...{ ...times, ...numbers, day: "DATE" },
  });
  const days = await query(
    `select day::varchar as day, source, list(event_id order by id) as events from ${READ} group by all order by all`,
  );
  expect(days).toEqual([
    { day: "1970-01-01", source: "orders", events: ["epoch"] },
    { day: "2026-11-25", source: "billing", events: [EVENTS[3]![2].eventId, "bare", "empty"] },
    { day: "2026-11-25", source: "orders", events: ["first", "last"] },
    { day: "2026-11-26", source: "orders", events: ["next-day"] },
    { day: "2999-12-31", source: "orders", events: ["future"] },
  ]);
});

test("each column of each group of rows has its least and greatest value and its nulls", async () => {
  const rows = await removeAll();
  const columns = await query(
    `select path_in_schema as name, stats_min_value as min, stats_max_value as max, stats_null_count as nulls, num_values as n
       from parquet_metadata('events/day=2026-11-25/source=billing/*.parquet')`,
  );
  const of = (name: string) => columns.find((column) => column.name === name);
  const billing = rows.filter(({ source }) => source === "billing");
  expect(columns.map(({ name }) => name)).toEqual(Object.keys(rows[0]!));
  expect(of("id")).toMatchObject({ min: billing[0]!.id, max: billing[2]!.id, nulls: "0" });
  expect(of("version")).toMatchObject({ min: "3", max: "3", nulls: "1" });
  expect(of("error_message")).toMatchObject({ min: "", nulls: "1" });
  expect(of("first_seen")).toMatchObject({
    min: "2026-11-25 12:00:00.001+00",
    max: "2026-11-25 12:00:00.003+00",
    nulls: "0",
  });
  expect(of("confirmed_at")).toMatchObject({ nulls: "3" });
});

test("the queries of docs/archive.md answer what they say", async () => {
  const rows = await removeAll();
  const [byCode, whole, unfinished, ...others] = documented();
  expect(others).toEqual([]);
  expect(await query(byCode!)).toMatchObject([
    { error_code: "TIMEOUT", events: "2", first: "2026-11-25 00:00:00+00", last: "2026-11-25 23:59:59.999+00" },
    { error_code: "UPSTREAM_5XX", events: "1" },
  ]);
  // DuckDB writes JSON without blanks, and its numbers as they are.
  const payload = deadLetter().payload.toString().replaceAll(" ", "");
  expect(payload).toContain("9007199254740993");
  const tagged = rows.filter(
    ({ id, tags }) => uuidv7Day(id as string) === "2026-11-25" && (tags as Tags).orderId === "77",
  );
  expect(tagged.map(({ event_id }) => event_id)).toEqual(["first", EVENTS[3]![2].eventId, "last"]);
  expect(await query(whole!)).toEqual(
    tagged.map(({ event_id, version, error_message }) => ({ event_id, version, error_message, payload })),
  );
  expect(await query(unfinished!)).toEqual([]);
  const day = join(folder(), "events/day=2026-11-25/source=orders");
  await writeFile(join(day, "half.ndjson.zst"), "");
  expect(await query(unfinished!)).toEqual([{ file: join(day, "half.ndjson.zst") }]);
});

test("a set that is written again from its lines has the same lines and the same columns", async () => {
  await removeAll();
  const day = join(folder(), "events/day=2026-11-25/source=billing");
  const files = await readdir(day);
  const bytesOf = (ending: string) => readFileSync(join(day, files.find((file) => file.endsWith(ending))!));
  const lines = await unpackLines(bytesOf(".ndjson.zst"));
  const events = lines.map((line) => setEventOf(line, readLine(line)!));
  expect(events.map(({ line }) => line)).toEqual(lines.map((line) => `${line}\n`));
  const parquet = await packParquet(events.map(({ columns }) => columns()));
  expect(Buffer.compare(parquet, bytesOf(".parquet"))).toBe(0);
});
