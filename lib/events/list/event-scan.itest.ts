import { beforeAll, expect, test } from "vitest";
import { scanEvents } from "@/lib/events/list/event-scan.read";
import { scanByFailure } from "@/lib/events/list/failure-order.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { ensurePartitions } from "@/lib/intake/partitions.write";
import type { Queryable } from "@/lib/platform/database/db";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { scopeFilter } from "@/lib/selection/scope.shapes";
import { type Plan, scansOf } from "@/lib/testing/explained-statements";
import { storeOfFile } from "@/lib/testing/store-of-file";

/** More than are looked at first, and more than a rare tag has. */
const [NEWEST, TAGGED] = [1_100, 2_100];

const { db } = storeOfFile({ max: 1 });

beforeAll(async () => {
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
  const { rows } = await scanEvents(noting, { filter, nowMs: Date.now(), from: null, towards: "older", limit: 50 });
  expect(rows.map(({ eventId }) => eventId)).toEqual(Array.from({ length: 50 }, (_, i) => `event-${TAGGED - i}`));
  expect(sent.filter((text) => text.includes("dlq_group_levels"))).toEqual([]);
});

test("a page by the time of failure reads the index of those times as far as the page, however deep it is", async () => {
  await db.run(
    "update dlq_event_facts set failed_at = to_timestamp(1700000000 + hashtext(id::text) % 1000) where last_error = 'late'",
  );
  await db.run("analyze dlq_event_facts");
  const explained: Node[] = [];
  const explaining: Queryable = {
    ...db,
    query: async (text, values, options) => {
      if (text.includes("with ordinality as p")) {
        const [row] = await db.query<{ "QUERY PLAN": [{ Plan: Node }] }>(
          `explain (analyze, format json) ${text}`,
          values,
        );
        explained.push(row!["QUERY PLAN"][0].Plan);
      }
      return db.query(text, values, options);
    },
  };
  const [limit, filter] = [50, scopeFilter(localViewer("tester"), {})];
  const scan = { filter, nowMs: Date.now(), newestFirst: true, backwards: false, limit };
  const { rows: first } = await scanByFailure(explaining, { ...scan, from: null });
  const { id, failedUs } = first.at(-1)!;
  const { rows: second } = await scanByFailure(explaining, { ...scan, from: { id, failedUs } });
  expect(new Set([...first, ...second].map((event) => event.id)).size).toBe(2 * limit);
  for (const plan of explained) {
    const walked = nodesOf(plan).filter((node) => /_failed_at_id_idx/.test(node["Index Name"] ?? ""));
    expect(walked.reduce((sum, node) => sum + node["Actual Rows"], 0)).toBe(limit);
  }
  expect(explained).toHaveLength(2);
});

test("events of a status that their group hardly has are found without reading those between them", async () => {
  const [thin] = await db.query<{ id: string }>(
    "insert into sources (id, name, kind, config) values (uuidv7(), 'thin', 'http', '{}') returning id",
  );
  await ensurePartitions(db, Date.now() - 2 * 86_400_000, Date.now());
  // Three hours of queued events, and before them an hour with a parked event among few others.
  await db.run(
    `with fresh as materialized (
       select uuidv7(make_interval(secs => case when n <= 24000 then -n * 0.4 else -36000 - n * 0.1 end)) as id, n
         from generate_series(1, 24100) n),
     facts as (insert into dlq_event_facts (id, payload_bytes) select id, 2 from fresh)
     insert into dlq_events (id, source_id, event_id, error_code, fingerprint, attempts, first_seen, status)
     select id, $1, 'thin-' || n, 'SLOW', 'thin', 1, uuid_extract_timestamp(id), case when n = 24050 then 'PENDING' else 'QUEUED' end
       from fresh`,
    [thin!.id],
  );
  await db.run(
    `insert into dlq_groups (fingerprint, error_code, message_pattern, sample_event, first_seen, last_seen)
     values ('thin', 'SLOW', 'slow', uuidv7(), now(), now())`,
  );
  await db.run(
    `insert into dlq_levels select source_id, error_code, status, date_trunc('hour', first_seen, 'UTC'), count(*)
       from dlq_events where source_id = $1 group by 1, 2, 3, 4`,
    [thin!.id],
  );
  await db.run(
    `insert into dlq_group_levels select fingerprint, source_id, status, count(*) from dlq_events where source_id = $1 group by 1, 2, 3`,
    [thin!.id],
  );
  await db.run("analyze");
  const counted = counting();
  const filter = scopeFilter(localViewer("tester"), { fingerprint: ["thin"], status: ["PENDING"] });
  for (const towards of ["older", "newer"] as const) {
    counted.reset();
    const { rows } = await scanEvents(counted.db, { filter, nowMs: Date.now(), from: null, towards, limit: 50 });
    expect(rows.map(({ eventId }) => eventId)).toEqual(["thin-24050"]);
    // Those that are looked at first, and those of one hour.
    expect(counted.rows()).toBeLessThan(4_000 + 200);
  }
});

test("a status alone is read in order, or in the hours that hold it, and not by group", async () => {
  await db.run(
    `with changed as (
       update dlq_events set status = case when event_id like 'event-%' or event_id < 'thin-15' then 'IGNORED' else 'REDRIVEN' end
        where event_id in (select 'event-' || n from generate_series(3100, 3109) n)
           or event_id in (select 'thin-' || n * 100 from generate_series(100, 240) n) returning *)
     insert into dlq_levels select source_id, error_code, status, date_trunc('hour', first_seen, 'UTC'), count(*) from changed group by 1, 2, 3, 4`,
  );
  await db.run(
    "insert into dlq_group_levels select fingerprint, source_id, status, count(*) from dlq_events group by 1, 2, 3",
  );
  await db.run(
    `insert into open_items (id, redrive_id, slice, place, source_id, revision)
     select id, gen_random_uuid(), 0, 0, source_id, 1 from dlq_events where status = 'QUEUED'`,
  );
  const sent: string[] = [];
  const noting: Queryable = {
    ...db,
    query: (text, ...rest) => {
      sent.push(text);
      return db.query(text, ...rest);
    },
  };
  for (const status of ["IGNORED", "REDRIVEN", "QUEUED"] as const) {
    const filter = scopeFilter(localViewer("tester"), { status: [status] });
    for (const towards of ["older", "newer"] as const) {
      const { rows } = await scanEvents(noting, { filter, nowMs: Date.now(), from: null, towards, limit: 40 });
      const order = towards === "older" ? "desc" : "asc";
      const expected = await db.query(
        `select event_id as "eventId" from dlq_events where status = $1 order by id ${order} limit 40`,
        [status],
      );
      expect(rows.map(({ eventId }) => ({ eventId }))).toEqual(expected);
    }
  }
  expect(sent.filter((text) => text.includes("r.settled"))).toEqual([]);
  expect(sent.filter((text) => text.includes("dlq_level_ages"))).not.toEqual([]);

  sent.length = 0;
  const ofCode = scopeFilter(localViewer("tester"), { status: ["IGNORED"], errorCode: ["SLOW"] });
  await scanEvents(noting, { filter: ofCode, nowMs: Date.now(), from: null, towards: "older", limit: 400 });
  const ofRanges = sent.filter((text) => text.includes("r.settled"));
  expect(ofRanges).not.toEqual([]);
  // With it the planner reads the index of all ignored events once for each range.
  expect(ofRanges.filter((text) => text.includes("e.settled = 1"))).toEqual([]);
});

test("few queued or ignored events are read in the order of their status, whatever else is asked", async () => {
  await db.run(
    `with few as (delete from open_items where id not in (select id from open_items order by id limit 300) returning id)
     update dlq_events set status = 'PENDING' where id in (select id from few)`,
  );
  const orders = "(select id from sources where name = 'orders')";
  await db.run(
    `update open_items set source_id = ${orders} where id in (select id from open_items order by id limit 3)`,
  );
  await db.run(`update dlq_events e set source_id = o.source_id from open_items o where o.id = e.id`);
  await db.run(
    `update dlq_event_facts set event_type = 'Paid'
      where id in (select id from dlq_events where status = 'IGNORED' order by id offset 4 limit 9)`,
  );
  await db.run("truncate dlq_group_levels");
  await db.run(
    "insert into dlq_group_levels select fingerprint, source_id, status, count(*) from dlq_events group by 1, 2, 3",
  );
  await db.run("analyze");
  const filters: [EventFilter, matching: string][] = [
    [{ status: ["QUEUED"], source: ["orders"] }, `e.status = 'QUEUED' and e.source_id = ${orders}`],
    [{ status: ["QUEUED"], errorCode: ["NONE"] }, "false"],
    [{ status: ["IGNORED"], eventType: ["Paid"] }, "e.status = 'IGNORED' and f.event_type = 'Paid'"],
    [{ status: ["IGNORED"], q: "late" }, "e.status = 'IGNORED' and f.last_error = 'late'"],
  ];
  const counted = counting();
  for (const [filter, matching] of filters) {
    for (const towards of ["older", "newer"] as const) {
      const expected = await db.query<{ id: string }>(
        `select e.id from dlq_events e join dlq_event_facts f using (id) where ${matching}
          order by id ${towards === "older" ? "desc" : "asc"} limit 5`,
      );
      counted.reset();
      const scan = {
        filter: scopeFilter(localViewer("tester"), filter),
        nowMs: Date.now(),
        from: null,
        towards,
        limit: 5,
      };
      const { rows } = await scanEvents(counted.db, scan);
      expect(
        rows.map(({ id }) => id),
        JSON.stringify(filter),
      ).toEqual(expected.map(({ id }) => id));
      // Of each event that has the status its own row and its facts, and those of the page.
      expect(counted.rows(), JSON.stringify(filter)).toBeLessThan(3 * 300);
    }
  }
});

/** A store that counts the rows of events and facts that its scans look at. */
function counting(): { db: Queryable; rows(): number; reset(): void } {
  let looked = 0;
  const query: Queryable["query"] = async (text, values, options) => {
    const [row] = await db.query<{ "QUERY PLAN": [{ Plan: Plan }] }>(`explain (analyze, format json) ${text}`, values);
    for (const { table, rows } of scansOf(row!["QUERY PLAN"][0].Plan)) {
      if (/^dlq_event(s|_facts)_/.test(table)) looked += rows;
    }
    return db.query(text, values, options);
  };
  const reset = () => {
    looked = 0;
  };
  return { db: { ...db, query }, rows: () => looked, reset };
}

type Node = { "Index Name"?: string; "Actual Rows": number; Plans?: Node[] };

const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];
