import { beforeAll, beforeEach, expect, test } from "vitest";
import { readUnstored } from "@/lib/events/groups/arrivals.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { ensurePartitions } from "@/lib/intake/partitions.write";
import { ageMetrics } from "@/lib/observe/metrics/parked-metrics.read";
import { foldRollups } from "@/lib/observe/rollups/fold-rollups.write";
import { removeExpired } from "@/lib/observe/rollups/upkeep.write";
import { readAge, readFlow, readSize } from "@/lib/observe/stats/stats.read";
import { readTopErrors } from "@/lib/observe/stats/top-errors.read";
import type { Queryable } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { statsQueryFrom, topErrorsQueryFrom } from "@/lib/selection/stats-query.shapes";
import { CODE_FLOW, GROUP_ARRIVALS, GROUP_FLOW, SOURCE_FLOW } from "@/lib/states/flow-tables.sql";
import { addSource } from "@/lib/testing/letters";
import { rollupDrift } from "@/lib/testing/rollup-drift";
import { storeOfFile } from "@/lib/testing/store-of-file";

const HOUR_MS = 3_600_000;
const FLOW = [...SOURCE_FLOW, ...CODE_FLOW, ...GROUP_FLOW, ...GROUP_ARRIVALS];
const TABLES = ["dlq_level_totals", "dlq_level_hours", "dlq_source_level_hours", ...FLOW.map(({ table }) => table)];
const { db } = storeOfFile({ max: 4 });
let orders: string;
let billing: string;
/** Ten minutes into an hour, and not the hour of the database: what was rolled is in the past either way. */
const NOW = Math.floor(Date.now() / HOUR_MS) * HOUR_MS + 10 * 60_000;

beforeAll(async () => {
  orders = await addSource(db, "orders");
  billing = await addSource(db, "billing");
});
beforeEach(async () => {
  await db.run(`truncate dlq_flow, ${TABLES.join(", ")}, dlq_levels, dlq_group_levels, dlq_groups, dlq_events`);
});

type Arrival = { agoMs: number; n?: number; code?: string; kind?: string; source?: string; group?: string };

/** As ingest writes it: the flow of its minute, the level of its hour. */
async function happened({ agoMs, n = 1, code = "TIMEOUT", kind = "parked", source = orders, group = "g1" }: Arrival) {
  const at = NOW - agoMs;
  await db.run(
    `insert into dlq_flow (minute, source_id, error_code, fingerprint, kind, n)
     values (date_trunc('minute', to_timestamp($1::float8 / 1000), 'UTC'), $2, $3, $4, $5, $6)`,
    [at, source, code, group, kind, n],
  );
  const leaves = kind === "redriven";
  await db.run(
    `insert into dlq_levels (source_id, error_code, status, hour, n)
     values ($2, $3, 'PENDING', date_trunc('hour', to_timestamp($1::float8 / 1000), 'UTC'), $4)`,
    [at, source, code, leaves ? -n : n],
  );
  await db.run(
    `insert into dlq_groups (fingerprint, error_code, message_pattern, sample_event, first_seen, last_seen)
     values ($1, $2, $3, $4, now(), now()) on conflict do nothing`,
    [group, code, `pattern of ${group}`, uuidv7(NOW)],
  );
}

const top = (query: string) =>
  readTopErrors(db, localViewer(), topErrorsQueryFrom(new URLSearchParams(query), NOW), NOW);
const chart = (query: string) =>
  statsQueryFrom(new URLSearchParams(query), NOW, ["source", "errorCode", "fingerprint"]);

/** An hour in which other things arrive than are parked, after a week of 2 timeouts an hour. */
async function aBadHour() {
  for (let hour = 1; hour <= 168; hour++) await happened({ agoMs: hour * HOUR_MS + 600_000, n: 2 });
  await happened({ agoMs: 26 * HOUR_MS, n: 2_000, code: "VALIDATION_ERROR", group: "g2" });
  await happened({ agoMs: 5 * 60_000, n: 1 });
  await happened({ agoMs: 15 * 60_000, n: 90, code: "UPSTREAM_5XX", group: "g3" });
  await happened({ agoMs: 40 * 60_000, n: 13, code: "UPSTREAM_5XX", group: "g3", kind: "bounced", source: billing });
}

test("top errors of the last hour are what arrived in it, against what usually arrives", async () => {
  await aBadHour();
  const answer = await top("from=-1h");
  expect(answer).toMatchObject({
    kind: "exact",
    counts: "arrived",
    total: 104,
    buckets: [
      { errorCode: "UPSTREAM_5XX", count: 103, parked: 90, bounced: 13, usual: 0, factor: null },
      { errorCode: "TIMEOUT", count: 1, parked: 1, bounced: 0 },
    ],
    groups: [
      { fingerprint: "g3", errorCode: "UPSTREAM_5XX", count: 103, pattern: "pattern of g3", usual: 0 },
      { fingerprint: "g1", count: 1 },
    ],
  });
  const timeouts = answer.buckets[1] as { usual: number; factor: number };
  expect(timeouts.usual).toBeCloseTo(2, 1);
  expect(timeouts.factor).toBeCloseTo(0.5, 1);
});

test("without a window top errors are what is parked now, and say so", async () => {
  await aBadHour();
  expect(await top("")).toMatchObject({
    counts: "parked-now",
    buckets: [{ errorCode: "VALIDATION_ERROR", count: 2_000 }, { errorCode: "TIMEOUT" }, { errorCode: "UPSTREAM_5XX" }],
  });
  expect(() => topErrorsQueryFrom(new URLSearchParams("from=-1h&status=PENDING"), NOW)).toThrow(/status/);
});

test("arrivals can be narrowed by source and code, and a short history says nothing of what is usual", async () => {
  await happened({ agoMs: 5 * 60_000, n: 4 });
  await happened({ agoMs: 5 * 60_000, n: 7, source: billing, code: "UPSTREAM_5XX", group: "g3" });
  expect(await top("from=-1h&source=billing")).toMatchObject({
    total: 7,
    usualFrom: null,
    buckets: [{ errorCode: "UPSTREAM_5XX", count: 7, usual: null, factor: null }],
    groups: [{ fingerprint: "g3", count: 7, usual: null }],
  });
  for (const query of [
    "not.source=billing",
    "not.errorCode=UPSTREAM_5XX",
    "source=orders&source=billing&not.source=billing",
  ]) {
    expect(await top(`from=-1h&${query}`), query).toMatchObject({
      total: 4,
      groups: [{ fingerprint: "g1", count: 4 }],
    });
    expect(await top(query), query).toMatchObject({ counts: "parked-now", total: 4 });
  }
  expect(await top("not.status=PENDING")).toMatchObject({ total: 0 });
  expect(() => topErrorsQueryFrom(new URLSearchParams("from=-1h&not.status=PENDING"), NOW)).toThrow(/not.status/);
  expect(await top("from=-1h&errorCode=TIMEOUT")).toMatchObject({ total: 4, groups: [{ fingerprint: "g1" }] });
});

test("a chart reads the same from minutes and from hours, whatever its window", async () => {
  await aBadHour();
  await happened({ agoMs: 30 * HOUR_MS, n: 40, kind: "redriven" });
  const queries = [
    "from=-7d",
    "from=-1h",
    "from=-30d",
    "from=-50h&to=-49h",
    "from=-50h&to=-20h&bucket=1h",
    "from=-3d&to=-2d",
  ];
  const read = async (query: string) => ({
    size: await readSize(db, localViewer(), chart(query), NOW),
    flow: await readFlow(db, localViewer(), chart(query), NOW),
    age: await readAge(db, localViewer(), chart(query), NOW),
    top: await top(query),
  });
  const before = await Promise.all(queries.map(read));
  await foldRollups(db);
  expect(await db.query("select count(*) as n from dlq_flow")).toEqual([{ n: 0 }]);
  expect(await Promise.all(queries.map(read))).toEqual(before);
});

test("a window that ends where it begins is one empty bucket", async () => {
  await happened({ agoMs: 30 * 60_000 });
  const at = new Date(NOW - 30 * 60_000).toISOString();
  const { buckets } = await readFlow(db, localViewer(), chart(`from=${at}&to=${at}`), NOW);
  expect(buckets).toEqual([expect.objectContaining({ at, parked: 0 })]);
});

test("what is older than a week is read by the hour, the same before and after its minutes are removed", async () => {
  const HOURS = 24 * 20;
  for (let hour = 1; hour <= HOURS; hour += 3) await happened({ agoMs: hour * HOUR_MS + 600_000, n: 2 });
  await happened({ agoMs: 12 * 24 * HOUR_MS + 1_234_567, n: 5, kind: "unstored", group: "g9" });
  await happened({ agoMs: 12 * 24 * HOUR_MS + 34_567, n: 7, group: "g9", code: "UPSTREAM_5XX", source: billing });
  await foldRollups(db);
  const queries = [
    "from=-20d",
    "from=-9d",
    "from=-12d&to=-11d",
    "from=-290h&to=-289h",
    "from=-12d&bucket=90m",
    "from=-2d",
    "from=-8d&to=-1h",
  ];
  const old = (from: number, to: number) =>
    readUnstored(db, { fingerprint: ["g1", "g9"] }, { fromMs: NOW - from * HOUR_MS, toMs: NOW - to * HOUR_MS });
  const read = async () => ({
    charts: await Promise.all(
      queries.map(async (query) => ({
        size: await readSize(db, localViewer(), chart(query), NOW),
        flow: await readFlow(db, localViewer(), chart(query), NOW),
        top: await top(query),
      })),
    ),
    unstored: await Promise.all([old(400, 0), old(288.5, 287), old(200, 0)]),
  });
  const before = await read();
  expect(before.unstored.map((found) => found.get("g9")?.count ?? 0)).toEqual([5, 5, 0]);
  const minutes = async () => (await db.query<{ n: number }>("select count(*)::int as n from dlq_flow_minutes"))[0]!.n;
  const had = await minutes();
  await removeExpired(db);
  expect(await minutes()).toBeLessThan(had / 2);
  expect(await read()).toEqual(before);
  expect(
    await rollupDrift(db).then((drift) =>
      drift.filter((row) => String((row as { rollup: string }).rollup).startsWith("dlq_")),
    ),
  ).toEqual([]);
});

/** An event beside its counters. */
async function stored({ agoMs, status = "PENDING", ...kind }: Arrival & { status?: string }) {
  const { code = "TIMEOUT", source = orders, group = "g1" } = kind;
  const at = NOW - agoMs;
  await ensurePartitions(db, at);
  await db.run(
    `insert into dlq_events (id, source_id, event_id, error_code, fingerprint, status, attempts, first_seen)
     values ($1::uuid, $2, $1::uuid::text, $3, $4, $5, 1, to_timestamp($6::float8 / 1000))`,
    [uuidv7(at), source, code, group, status, at],
  );
  await db.run("insert into dlq_group_levels (fingerprint, source_id, status, n) values ($1, $2, $3, 1)", [
    group,
    source,
    status,
  ]);
  await happened({ agoMs, ...kind });
  if (status !== "PENDING") await happened({ agoMs, kind: "redriven", ...kind });
}

test("the oldest age is that of the oldest parked event, to the millisecond", async () => {
  await stored({ agoMs: 70 * HOUR_MS, status: "IGNORED" });
  await stored({ agoMs: 50 * HOUR_MS + 12_345 });
  await stored({ agoMs: 50 * HOUR_MS + 2_345, group: "g2" });
  await stored({ agoMs: 2 * HOUR_MS + 99, code: "UPSTREAM_5XX", source: billing, group: "g3" });
  const oldest = async (query: string) => (await readAge(db, localViewer(), chart(query), NOW)).oldestMs;
  const ages = {
    "": 50 * HOUR_MS + 12_345,
    "source=billing": 2 * HOUR_MS + 99,
    "errorCode=UPSTREAM_5XX": 2 * HOUR_MS + 99,
  };
  for (const [query, age] of Object.entries(ages)) expect(await oldest(query)).toBe(age);
  await foldRollups(db);
  for (const [query, age] of Object.entries(ages)) expect(await oldest(query)).toBe(age);
  expect(await oldest("source=nowhere")).toBeNull();
  const metrics = (scope: string[] | null) => ageMetrics(db, { viewer: localViewer(), scope, nowMs: NOW });
  const ofMetric = async (scope: string[] | null) =>
    (await metrics(scope))[0]!.samples.find(({ labels }) => labels?.quantile === "1")!.value;
  expect(await ofMetric(null)).toBe(50 * 3_600 + 12);
  expect(await ofMetric(["billing"])).toBe(2 * 3_600);
});

test("level and flow of a size come from one statement, so from one moment", async () => {
  await happened({ agoMs: 5 * 60_000, n: 3 });
  let statements = 0;
  const counting: Queryable = {
    run: db.run,
    query: (...args) => {
      statements++;
      return db.query(...args) as Promise<never>;
    },
  };
  expect((await readSize(counting, localViewer(), chart("from=-1h"), NOW)).now).toBe(3);
  expect(statements).toBe(1);
});

test("a fold without anything new writes nothing", async () => {
  await happened({ agoMs: 5 * 60_000, n: 3 });
  await happened({ agoMs: 5 * 60_000, n: 4 });
  await db.run("insert into dlq_group_levels (fingerprint, source_id, status, n) values ('g1', $1, 'PENDING', 3)", [
    orders,
  ]);
  await db.run("insert into dlq_group_levels (fingerprint, source_id, status, n) values ('g1', $1, 'PENDING', 4)", [
    orders,
  ]);
  const rows = () =>
    db.query(
      `${[...TABLES, "dlq_group_levels"]
        .map((table) => `select '${table}' as name, xmin::text, ctid::text from ${table}`)
        .join(" union all ")} order by 1, 3`,
    );
  await foldRollups(db);
  const folded = await rows();
  expect(folded).toHaveLength(TABLES.length + 1);
  await foldRollups(db);
  expect(await rows()).toEqual(folded);
});

test("a level that comes to nothing leaves no hour behind", async () => {
  await happened({ agoMs: 5 * 60_000, n: 3 });
  await foldRollups(db);
  await happened({ agoMs: 5 * 60_000, n: 3, kind: "redriven" });
  await foldRollups(db);
  expect(await db.query("select n from dlq_level_hours")).toEqual([]);
  expect(await db.query("select n from dlq_source_level_hours")).toEqual([]);
  expect(await db.query("select n from dlq_level_totals")).toEqual([{ n: 0 }]);
});

test("what is written into an hour that was rolled counts", async () => {
  await happened({ agoMs: 30 * HOUR_MS, n: 3 });
  await foldRollups(db);
  await happened({ agoMs: 30 * HOUR_MS, n: 4 });
  const total = async () => (await top("from=-40h")).total;
  expect(await total()).toBe(7);
  await foldRollups(db);
  expect(await total()).toBe(7);
});

test("statistics read rows by the hour: minutes and groups of the past add none", async () => {
  await db.run(
    `insert into dlq_flow (minute, source_id, error_code, fingerprint, kind, n)
     select date_trunc('minute', to_timestamp($1::float8 / 1000), 'UTC') - make_interval(mins => m), $2, 'TIMEOUT', 'g' || g, 'parked', 1
       from generate_series(300, 300 + 4319) m, generate_series(1, 10) g`,
    [NOW, orders],
  );
  await foldRollups(db);
  await db.run("analyze");
  const counted = async (tx: Queryable) => {
    const [row] = await tx.query<{ n: number }>(
      `select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint as n from pg_stat_xact_user_tables
        where relname = any($1)`,
      [["dlq_flow", "dlq_levels", ...TABLES]],
    );
    return row!.n;
  };
  const rowsRead = (read: (tx: Queryable) => Promise<unknown>) =>
    db.transaction(async (tx) => {
      const before = await counted(tx);
      await read(tx);
      return (await counted(tx)) - before;
    });
  // 43,200 rows of flow; three days have 73 hours.
  expect(await rowsRead((tx) => readAge(tx, localViewer(), chart(""), NOW))).toBeLessThan(500);
  expect(await rowsRead((tx) => readSize(tx, localViewer(), chart("from=-30d"), NOW))).toBeLessThan(500);
  expect(await rowsRead((tx) => readSize(tx, localViewer(), chart("from=-70h&to=-69h"), NOW))).toBeLessThan(2_000);
  expect(await rowsRead((tx) => readFlow(tx, localViewer(), chart("from=-30d"), NOW))).toBeLessThan(500);
  expect(
    await rowsRead((tx) =>
      readTopErrors(tx, localViewer(), topErrorsQueryFrom(new URLSearchParams("from=-1h"), NOW), NOW),
    ),
  ).toBeLessThan(2_000);
});
