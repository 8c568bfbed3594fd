import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { countEvents } from "@/lib/events/list/event-count.read";
import { scanEvents } from "@/lib/events/list/event-scan.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { ensurePartitions } from "@/lib/intake/partitions.write";
import { createDb, type Db, type Queryable, type Tx } from "@/lib/platform/database/db";
import {
  countCandidates,
  countUpTo,
  estimateCandidates,
  readCandidateIds,
  readCandidates,
} from "@/lib/selection/candidates.read";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { scopeFilter, scopeSelection } from "@/lib/selection/scope.shapes";
import type { Selection } from "@/lib/selection/selection.shapes";
import { addSource, countStored } from "@/lib/testing/letters";
import { storeOfFile } from "@/lib/testing/store-of-file";

/** What reads of a selection cost: the rows that match, not the rows that are parked. */

const NOW = Date.parse("2026-11-20T12:00:00Z");
const DAYS = 4;
const EVENTS = 40_000;
const CUTOFF = "ffffffff-ffff-ffff-ffff-ffffffffffff";

const { db, database } = storeOfFile({ max: 4 });
/** With one plan for all values, as the console's lists have it. */
let lists: Db;

beforeAll(async () => {
  lists = createDb(database.url, { max: 1, genericPlans: "pages" });
  await addSource(db, "orders");
  await addSource(db, "rare");
  await ensurePartitions(db, NOW - (DAYS + 1) * 86_400_000, NOW + 86_400_000);
  // Of each 4,000 events one has a rare code, one a rare source and one a rare status; all else is PENDING.
  await db.run(
    `insert into dlq_events (id, source_id, event_id, error_code, fingerprint, status, first_seen)
     select (lpad(to_hex(ms), 12, '0') || '70008' || lpad(to_hex(n), 15, '0'))::uuid,
            (select id from sources where name = case when n % 4000 = 1 then 'rare' else 'orders' end), 'event-' || n,
            case when n % 4000 = 2 then 'RARE' else 'TIMEOUT' end,
            case when n % 4000 = 2 then 'rare' else 'group-' || n % 100 end,
            case when n % 4000 = 3 then 'IGNORED' else 'PENDING' end, to_timestamp(ms / 1000.0)
       from (select n, ($1::float8 - $2::float8 * n)::bigint as ms from generate_series(1, $3::int) n) made`,
    [NOW, (DAYS * 86_400_000) / EVENTS, EVENTS],
  );
  // One in 4,000 failed a year before it was parked.
  await db.run(
    `insert into dlq_event_facts (id, failed_at, last_error, payload_bytes)
     select id, first_seen - case when substr(event_id, 7)::int % 4000 = 4 then interval '1 year' else interval '1 second' end,
            'late', 2 from dlq_events`,
  );
  await countStored(db);
  await db.run("analyze");
});

afterAll(() => lists.end());

async function rowsRead(read: (tx: Tx) => Promise<unknown>, store = db): Promise<number> {
  const counted = async (tx: Queryable) => {
    const [row] = await tx.query<{ n: number }>(
      `select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint as n from pg_stat_xact_user_tables
        where relname like 'dlq_event%'`,
    );
    return row!.n;
  };
  return store.transaction(async (tx) => {
    const before = await counted(tx);
    await read(tx);
    return (await counted(tx)) - before;
  });
}

const RARE: EventFilter[] = [
  { errorCode: ["RARE"] },
  { source: ["rare"] },
  { status: ["IGNORED"] },
  { errorCode: ["RARE"], status: ["BOUNCED"] },
  { source: ["rare"], errorCode: ["RARE"] },
];

const selected = (filter: EventFilter) => ({
  selection: scopeSelection(localViewer(), "redrive", { filter }),
  asOfMs: NOW,
  cutoff: CUTOFF,
});

test.each(RARE)("a rare selection reads its events alone: %j", async (filter) => {
  const page = selected(filter);
  // Ten events match; 40,000 are parked. Each event found is read again for its columns.
  expect(await rowsRead((tx) => readCandidates(tx, { ...page, after: null, limit: 2_000 }))).toBeLessThan(100);
  expect(await rowsRead((tx) => countUpTo(tx, page, 10_000))).toBeLessThan(100);
  expect(await rowsRead((tx) => countCandidates(tx, page))).toBeLessThan(100);
});

test.each(RARE)("a count within hours reads the events of a rare selection alone: %j", async (filter) => {
  // A word with a digit stands in no rollup: the events themselves are counted.
  const rows = await rowsRead((tx) => {
    // Counts run beside each other; a transaction has one connection.
    let turn: Promise<unknown> = Promise.resolve();
    const query = <T>(...asked: Parameters<Queryable["query"]>): Promise<T[]> => {
      const rows = turn.then(() => tx.query<T>(...asked));
      turn = rows;
      return rows;
    };
    const inTurn: Tx = { ...tx, query };
    const inside: Db = { ...inTurn, transaction: (work) => work(inTurn), pause: async () => {}, end: async () => {} };
    return countEvents(inside, localViewer(), { ...filter, from: "-77h", q: "no1such" }, NOW);
  });
  expect(rows).toBeLessThan(500);
});

test("a walk by kinds reads its events a few times, and finds each once", async () => {
  const page = selected({ source: ["orders"], status: ["PENDING", "IGNORED"] });
  const found: string[] = [];
  const rows = await rowsRead(async (tx) => {
    for (let after: string | null = null; ; ) {
      const chunk = await readCandidates(tx, { ...page, after, limit: 2_000 });
      found.push(...chunk.map(({ id }) => id));
      if (chunk.length < 2_000) return;
      after = chunk.at(-1)!.id;
    }
  });
  const expected = await db.query<{ id: string }>(
    "select e.id from dlq_events e join sources s on s.id = e.source_id where s.name = 'orders' order by e.id desc",
  );
  expect(found).toEqual(expected.map(({ id }) => id));
  expect(rows).toBeLessThan(EVENTS * 5);
});

test("events that failed long before they arrived are found by their time of failure", async () => {
  const filter: EventFilter = { failedTo: "-300d" };
  const listed: string[] = [];
  const rows = await rowsRead(async (tx) => {
    const { rows: found } = await scanEvents(tx, {
      ...{ filter: scopeFilter(localViewer(), filter), nowMs: NOW, from: null },
      ...{ towards: "older", limit: 50 },
    });
    listed.push(...found.map(({ eventId }) => eventId));
  }, lists);
  expect(listed).toEqual(Array.from({ length: 10 }, (_, n) => `event-${n * 4_000 + 4}`));
  // A thousand of the newest are looked at first, each in two tables.
  expect(rows).toBeLessThan(3_000);
  const page = selected(filter);
  expect(await rowsRead((tx) => readCandidates(tx, { ...page, after: null, limit: 2_000 }))).toBeLessThan(100);
  expect(await rowsRead((tx) => countUpTo(tx, page, 10_000))).toBeLessThan(100);
});

const OPERATION = "019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a60";
const REDRIVE = "019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a61";

/** Each form also contains events of the source "orders". */
const FORMS: Record<string, (ids: string[]) => Selection> = {
  ids: (ids) => ({ ids }),
  filter: () => ({ filter: { status: ["PENDING"] } }),
  operation: () => ({ operation: OPERATION }),
  redrive: () => ({ redrive: REDRIVE, outcome: ["failed"] }),
};

describe("of each form of a selection a viewer of one source reads the events of that source alone", () => {
  let ids: string[];
  beforeAll(async () => {
    const events = await db.query<{ id: string }>(
      "select e.id from dlq_events e join sources s on s.id = e.source_id where e.error_code = 'RARE' or s.name = 'rare'",
    );
    ids = events.map(({ id }) => id);
    await db.run(
      `insert into bulk_operations (id, kind, state, selection, cutoff, expected, expected_kind, audit_id, created_by, reason)
       values ($1, 'ignore', 'DONE', '{}', $2, 20, 'exact', $1, 'ada', 'not needed')`,
      [OPERATION, CUTOFF],
    );
    await db.run("insert into audit_subjects (event_id, entry_id) select unnest($1::uuid[]), $2", [ids, OPERATION]);
    await db.run(
      `insert into redrive_items (id, redrive_id, slice, source_id, error_code, state)
       select id, $2, 0, source_id, error_code, 'failed' from dlq_events where id = any($1::uuid[])`,
      [ids, REDRIVE],
    );
  });

  test.each(Object.keys(FORMS))("%s", async (form) => {
    const mine = { ...localViewer("eve"), sources: ["rare"] };
    const page = { selection: scopeSelection(mine, "redrive", FORMS[form]!(ids)), asOfMs: NOW, cutoff: CUTOFF };
    const expected = await db.query<{ id: string }>(
      "select e.id from dlq_events e join sources s on s.id = e.source_id where s.name = 'rare' order by e.id desc",
    );
    expect(expected).toHaveLength(10);
    const read = async (after: string | null, limit: number) =>
      (await readCandidateIds(db, { ...page, after, limit })).map(({ id }) => ({ id }));
    expect(await read(null, 100)).toEqual(expected);
    expect(await read(expected[3]!.id, 2)).toEqual(expected.slice(4, 6));
    expect((await readCandidates(db, { ...page, after: null, limit: 100 })).map(({ source }) => source)).toEqual(
      Array(10).fill("rare"),
    );
    expect(await countUpTo(db, page, 1_000)).toBe(10);
    const counts = await countCandidates(db, page);
    expect(counts.map(({ source, count }) => ({ source, count }))).toEqual([{ source: "rare", count: 10 }]);
    expect(await db.transaction((tx) => estimateCandidates(tx, page, 1))).toBeGreaterThan(0);
  });
});
