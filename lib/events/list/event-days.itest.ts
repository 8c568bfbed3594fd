import { beforeAll, beforeEach, expect, test } from "vitest";
import { scanEvents } from "@/lib/events/list/event-scan.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { ensurePartitions } from "@/lib/intake/partitions.write";
import type { Queryable } from "@/lib/platform/database/db";
import { uuidv7, uuidv7TimeMs } from "@/lib/platform/ids";
import { eventRows } from "@/lib/selection/event-rows.read";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { scopeFilter } from "@/lib/selection/scope.shapes";
import { storeOfFile } from "@/lib/testing/store-of-file";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** Noon of a UTC day: each event is of a day of its own, whatever the hour. */
const NOON_MS = Math.floor(Date.now() / DAY_MS) * DAY_MS + DAY_MS / 2;
const DAYS = 30;

const { db } = storeOfFile({ max: 1 });

const sent: string[] = [];
const noting: Queryable = {
  run: (...statement) => db.run(...statement),
  query: (text, ...rest) => {
    sent.push(text);
    return db.query(text, ...rest);
  },
};
beforeEach(() => void sent.splice(0));

/** Newest first. */
const ids = Array.from({ length: DAYS }, (_, day) => uuidv7(NOON_MS - day * DAY_MS));

beforeAll(async () => {
  const source = "00000000-0000-7000-8000-000000000001";
  await ensurePartitions(db, NOON_MS - DAYS * DAY_MS, NOON_MS + 14 * DAY_MS);
  await db.run("insert into sources (id, name, kind, config) values ($1, 'orders', 'http', '{}')", [source]);
  await db.run(
    `with fresh as (select id, n from unnest($2::uuid[]) with ordinality as fresh (id, n)),
     facts as (insert into dlq_event_facts (id, event_type, last_error_code, payload_bytes, tags, failed_at)
               select id, case when n % 2 = 0 then 'Paid' end, 'TIMEOUT', n, '{"tenant": "acme"}', now() from fresh where n <> 3),
     keys as (insert into event_keys (source_id, event_id, id) select $1, 'event-' || n, id from fresh)
     insert into dlq_events (id, source_id, event_id, error_code, fingerprint, first_seen)
     select id, $1, 'event-' || n, 'TIMEOUT', 'group-1', uuid_extract_timestamp(id) from fresh`,
    [source, ids],
  );
});

async function page(
  scan: { from?: string; towards?: "older" | "newer"; limit: number },
  filter: EventFilter = {},
): Promise<string[]> {
  const scoped = scopeFilter(localViewer("tester"), filter);
  const { rows } = await scanEvents(noting, {
    filter: scoped,
    nowMs: NOON_MS + HOUR_MS,
    from: null,
    towards: "older",
    ...scan,
  });
  return rows.map(({ id }) => id);
}

test.each([1, 2, 3, 9, 10, 11, 29, 30, 31])(
  "a page of %i events goes as many days back, from any cursor",
  async (limit) => {
    expect(await page({ limit })).toEqual(ids.slice(0, limit));
    for (const at of [0, 1, 12, 28, 29]) {
      const from = ids[at]!;
      expect(await page({ from, limit })).toEqual(ids.slice(at + 1, at + 1 + limit));
      expect(await page({ from, towards: "newer", limit })).toEqual(ids.slice(0, at).toReversed().slice(0, limit));
    }
    expect(await page({ towards: "newer", limit })).toEqual(ids.toReversed().slice(0, limit));
  },
);

test("a page of sparse days takes three statements, and one of few days takes one", async () => {
  await page({ limit: DAYS });
  expect(sent).toHaveLength(3);
  sent.length = 0;
  await page({ limit: 1 });
  expect(sent).toHaveLength(1);
});

test("a window ends the days that are read, and a cursor outside of it reads the part within", async () => {
  const time = (at: number) => new Date(uuidv7TimeMs(ids[at]!)).toISOString();
  const window = { from: time(20), to: time(5) };
  const within = ids.slice(6, 21);
  for (const limit of [1, 4, 15, 16]) {
    expect(await page({ limit }, window)).toEqual(within.slice(0, limit));
    expect(await page({ towards: "newer", limit }, window)).toEqual(within.toReversed().slice(0, limit));
    expect(await page({ from: ids[2]!, limit }, window)).toEqual(within.slice(0, limit));
    expect(await page({ from: ids[25]!, limit }, window)).toEqual([]);
    expect(await page({ from: ids[25]!, towards: "newer", limit }, window)).toEqual(
      within.toReversed().slice(0, limit),
    );
    expect(await page({ from: ids[10]!, limit }, window)).toEqual(ids.slice(11, 21).slice(0, limit));
  }
  sent.length = 0;
  await page({ limit: DAYS }, { from: time(1) });
  expect(sent).toHaveLength(1);
});

test("names of events and of their facts find them on whatever day they are", async () => {
  const paid = ids.filter((_, day) => day % 2 === 1);
  const limit = DAYS;
  expect(await page({ limit }, { eventType: ["Paid"] })).toEqual(paid);
  expect(await page({ from: ids[4]!, limit }, { eventType: ["Paid"] })).toEqual(paid.slice(2));
  expect(await page({ limit }, { tags: { tenant: ["acme"] } })).toEqual(ids.filter((_, day) => day !== 2));
  expect(await page({ limit }, { eventId: ["event-30"] })).toEqual([ids[29]]);
});

test("queued events are read from the queue, from any cursor and in any window", async () => {
  const queued = ids.filter((_, day) => day % 3 === 0);
  await db.run("update dlq_events set status = 'QUEUED' where id = any($1::uuid[])", [queued]);
  await db.run(
    `insert into open_items (id, redrive_id, slice, place, source_id, revision)
     select id, gen_random_uuid(), 0, 0, source_id, 1 from dlq_events where status = 'QUEUED'`,
  );
  const filter: EventFilter = { status: ["QUEUED"] };
  const time = (at: number) => new Date(uuidv7TimeMs(ids[at]!)).toISOString();
  for (const limit of [1, 4, 10, 11]) {
    expect(await page({ limit }, filter)).toEqual(queued.slice(0, limit));
    expect(await page({ from: queued[2]!, limit }, filter)).toEqual(queued.slice(3, 3 + limit));
    expect(await page({ from: queued[5]!, towards: "newer", limit }, filter)).toEqual(
      queued.slice(0, 5).toReversed().slice(0, limit),
    );
    expect(await page({ limit }, { ...filter, from: time(21), to: time(6) })).toEqual(
      queued.slice(3, 8).slice(0, limit),
    );
  }
  expect(sent.filter((text) => !text.includes("open_items"))).toEqual([]);
  await db.run("delete from open_items");
  await db.run("update dlq_events set status = 'PENDING'");
});

test("the plan of a page has the partitions of its days alone", async () => {
  await page({ limit: 1 });
  const [row] = await db.query<{ "QUERY PLAN": [{ Plan: Node }] }>(`explain (generic_plan, format json) ${sent[0]}`);
  const tables = nodesOf(row!["QUERY PLAN"][0].Plan).flatMap((node) => node["Relation Name"] ?? []);
  const days = [0, 1].map((day) => new Date(NOON_MS - day * DAY_MS).toISOString().slice(0, 10).replaceAll("-", ""));
  const named = ["dlq_events", "dlq_event_facts"].flatMap((table) => days.map((day) => `${table}_${day}`));
  expect([...new Set(tables.filter((table) => /_\d{8}$/.test(table)))].sort()).toEqual(named.sort());
});

test("the rows of some days are those of the view", async () => {
  const rows = (from: string) => db.query(`select to_jsonb(e) as e from ${from} order by e.id`);
  const days = { fromMs: NOON_MS - DAYS * DAY_MS, toMs: NOON_MS + DAY_MS };
  const found = await rows(eventRows(days));
  expect(found).toHaveLength(DAYS);
  expect(found).toEqual(await rows(eventRows()));
});

type Node = { "Relation Name"?: string; Plans?: Node[] };

const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];
