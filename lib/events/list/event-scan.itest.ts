import { beforeAll, expect, test } from "vitest";
import { scanEvents } from "@/lib/events/list/event-scan.read";
import { scanByFailure } from "@/lib/events/list/failure-order.read";
import { scopeFilter } from "@/lib/guard/viewer/scope.shapes";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { ensurePartitions } from "@/lib/intake/partitions.write";
import type { Queryable } from "@/lib/platform/database/db";
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
  const rows = await scanEvents(noting, { filter, nowMs: Date.now(), from: null, towards: "older", limit: 50 });
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
  const first = await scanByFailure(explaining, { ...scan, from: null });
  const { id, failedUs } = first.at(-1)!;
  const second = await scanByFailure(explaining, { ...scan, from: { id, failedUs } });
  expect(new Set([...first, ...second].map((event) => event.id)).size).toBe(2 * limit);
  for (const plan of explained) {
    const walked = nodesOf(plan).filter((node) => /_failed_at_id_idx/.test(node["Index Name"] ?? ""));
    expect(walked.reduce((sum, node) => sum + node["Actual Rows"], 0)).toBe(limit);
  }
  expect(explained).toHaveLength(2);
});

type Node = { "Index Name"?: string; "Actual Rows": number; Plans?: Node[] };

const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];
