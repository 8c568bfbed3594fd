import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { listGroups } from "@/lib/events/groups/group-list.read";
import { countEvents } from "@/lib/events/list/event-count.read";
import { exportEvents } from "@/lib/events/list/event-export.read";
import { listEvents, readNeighbours } from "@/lib/events/list/event-list.read";
import { EVENT_SORTS, type EventSort } from "@/lib/events/list/event-sort.pure";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { applyingControls, type ControlIndex, indexControls, ruleControls } from "@/lib/order/controls/control.pure";
import { readControlsOfPeople, readControlsOver } from "@/lib/order/controls/controls.read";
import { LINE_COLUMNS, linesOf } from "@/lib/order/line.sql";
import { systemClock } from "@/lib/platform/clock";
import { createDb, type Db } from "@/lib/platform/database/db";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { cutoffOf, readCandidates } from "@/lib/selection/candidates.read";
import { controlledParts } from "@/lib/selection/controlled-parts.read";
import {
  type EventFilter,
  FILTER_STATUSES,
  type FilterStatus,
  fromSearchParams,
  resolveFailedWindow,
  resolveWindow,
  toSearchParams,
} from "@/lib/selection/filter/event-filter.shapes";
import { compileFilter } from "@/lib/selection/filter/event-filter.sql";
import { scopeFilter, scopeSelection } from "@/lib/selection/scope.shapes";
import { addSource, countStored, deadLetter } from "@/lib/testing/letters";
import { storeOfFile } from "@/lib/testing/store-of-file";

/** The contract of the one filter: list, count, export, groups and bulk select the same events, whatever is asked. */

const NOW = Date.parse("2026-11-20T12:00:00Z");
const HOUR = 3_600_000;
const EVENTS = 400;

const { db, database } = storeOfFile({ max: 6 });
/** Lists run with one plan for all values, as in the console. */
let lists: Db;

beforeAll(async () => {
  lists = createDb(database.url, { max: 2, genericPlans: "pages" });
  for (const name of ["orders", "billing", "shipping"]) await addSource(db, name);
  for (let i = 0; i < EVENTS; i += 4) {
    // Some share a millisecond, others are minutes or days apart: a window cuts through hours that hold some.
    const atMs = NOW - (i / 4) * 0.31 * HOUR;
    const arrivals = [i, i + 1, i + 2, i + 3].map((n) => ({ source: sources[n % 3]!, letter: letterOf(n) }));
    await parkEvents({ db, clock: { ...systemClock, wallMs: () => atMs } }, arrivals, localViewer("tester"));
  }
  await db.run("update dlq_events set status = 'IGNORED' where hashtext(event_id) % 5 = 0");
  await db.run(
    "update dlq_events set status = 'REDRIVEN', confirmed_at = case when version % 2 = 0 then now() end where hashtext(event_id) % 5 = 1",
  );
  await db.run(
    "update dlq_events set admission = (array['early', 'confirm', 'superseded'])[1 + abs(hashtext(event_id)) % 3] where hashtext(event_id) % 4 = 0",
  );
  await db.run("update dlq_events set bounces = 1 where hashtext(event_id) % 7 = 0");
  await db.run(
    "update dlq_events set cooldown_until = to_timestamp($1::float8 / 1000) where hashtext(event_id) % 9 = 0",
    [NOW + HOUR],
  );
  await db.run("update dlq_events set status = 'QUEUED' where hashtext(event_id) % 23 = 0");
  await db.run("delete from aggregate_lines");
  await db.run(
    `insert into aggregate_lines (${LINE_COLUMNS}) select ${LINE_COLUMNS} from (${linesOf("true")}) l where part is not null`,
  );
  await db.run(
    "insert into processed_events (consumer, source_id, event_id, producer, aggregate_type, aggregate_id, version) select 'shop', id, 'reported', '', 'order', 'order-5', 150 from sources where name = 'orders'",
  );
  await db.run("truncate dlq_levels, dlq_group_levels");
  await countStored(db);
  await imposeControls();
});
afterAll(() => lists.end());

/** Of each kind and scope, wide and narrowed, in force and ended; they overlap. */
async function imposeControls(): Promise<void> {
  const until = "2031-01-02T03:04:05Z";
  const imposed: [kind: string, scope: string, value: string, source: string | null, until: string | null][] = [
    ["blacklist", "errorCode", "RARE", null, null],
    ["blacklist", "errorCode", "TIMEOUT", "billing", until],
    ["blacklist", "aggregateId", "order-3", "shipping", null],
    ["blacklist", "eventId", "event-8", null, null],
    ["blacklist", "source", "orders", null, "2026-11-20T11:00:00Z"],
    ["cooldown", "source", "shipping", null, until],
    ["cooldown", "eventId", "event-1", "billing", until],
    ["cooldown", "aggregateId", "order-7", null, until],
    ["whitelist", "aggregateId", "order-2", null, null],
    ["whitelist", "eventId", "event-8", null, null],
    ["whitelist", "errorCode", "UPSTREAM_5XX", "shipping", until],
  ];
  for (const [kind, scope, value, source, expiresAt] of imposed) {
    await db.run(
      `insert into controls (id, kind, scope, value, source, reason, origin, created_by, created_at, expires_at)
       values (gen_random_uuid(), $1, $2, $3, $4, 'a test', 'person', 'ada', now(), $5::timestamptz)`,
      [kind, scope, value, source, expiresAt],
    );
  }
  for (const [aggregate, source] of [
    ["order-2", "orders"],
    ["order-4", "orders"],
    ["order-9", "billing"],
  ]) {
    await db.run(
      `insert into controls (id, kind, scope, value, source, aggregate_type, reason, origin, created_by)
       values (gen_random_uuid(), 'blacklist', 'aggregateId', $1, $2, 'order', 'kept failing', 'automatic', 'worker')`,
      [aggregate, source],
    );
  }
  const own = ["order-2", "order-4", "order-9"].map((aggregateId) => ({
    eventId: "",
    aggregateId,
    errorCode: "",
    source: "",
  }));
  const automatic = (await readControlsOver(db, own)).filter(({ origin }) => origin === "automatic");
  controls = indexControls([...(await readControlsOfPeople(db)), ...automatic]);
}
let controls: ControlIndex;

const sources = ["orders", "billing", "shipping"];
const codes = ["TIMEOUT", "UPSTREAM_5XX", "VALIDATION_ERROR", "RARE"];
const codeOf = (i: number) => (i % 97 === 0 ? codes[3]! : codes[i % 3]!);

function letterOf(i: number): DeadLetter {
  return deadLetter({
    eventId: `event-${i}`,
    aggregateId: i % 5 === 0 ? null : `order-${i % 11}`,
    aggregateType: i % 5 === 0 ? null : "order",
    version: i % 17 === 0 ? null : BigInt(i),
    eventType: i % 6 === 0 ? null : `Type${i % 3}`,
    traceId: i % 4 === 0 ? null : `trace-${i % 50}`,
    errorCode: codeOf(i),
    error: {
      type: i % 3 === 0 ? "com.acme.CallException" : null,
      message: `call ${i} of ${["stock", "pricing"][i % 2]} for "sku ${"abc"[i % 3]}" of x${i % 4}@shop.example failed`,
      stack: null,
    },
    // Not in the order of arrival.
    // Some fail at one moment.
    failedAtMs: i % 13 === 0 ? null : NOW - Math.floor(((i * 7) % EVENTS) / 4) * 2 * HOUR,
    tags: { orderId: String(i % 60), tenant: i % 3 ? "acme" : "globex" },
  });
}

const some = <T>(...values: T[]) => fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 3 });
const filters: fc.Arbitrary<EventFilter> = fc.record(
  {
    source: some(...sources, "nowhere"),
    eventId: some("event-1", "event-8", "event-97", "event-none"),
    aggregateId: some("order-1", "order-2", "order-10", "order-none"),
    eventType: some("Type0", "Type1", "Type2"),
    errorCode: some(...codes, "NONE"),
    status: some(...FILTER_STATUSES),
    traceId: some("trace-1", "trace-2", "trace-3"),
    admission: some("early", "confirm", "superseded"),
    q: fc.constantFrom(
      "stock",
      "PRICING",
      "call failed",
      "stock pricing",
      "97",
      "stock 8",
      "failed of call",
      '"sku a" stock',
      "CallException x2@shop.example",
      "X1@SHOP.example",
      "%",
      "nothing",
    ),
    from: fc.constantFrom("-95m", "-20h", "-1195m", "2026-11-19T17:13:00Z", "-30d"),
    to: fc.constantFrom("now", "-10m", "-1141m", "2026-11-20"),
    failedFrom: fc.constantFrom("-3d", "-90h", "2026-11-13", "1795110060"),
    failedTo: fc.constantFrom("now", "-2d", "2026-11-19T17:13:00Z"),
    tags: fc.constantFrom<Record<string, string[]>>(
      { orderId: ["7"] },
      { tenant: ["acme"] },
      { tenant: ["globex"], orderId: ["9", "12"] },
      { none: ["x"] },
    ),
    "not.source": some(...sources, "nowhere"),
    "not.eventId": some("event-1", "event-8", "event-none"),
    "not.aggregateId": some("order-1", "order-2", "order-none"),
    "not.aggregateType": some("order", "none"),
    "not.eventType": some("Type0", "Type1", "Type2"),
    "not.errorCode": some(...codes, "NONE"),
    "not.status": some(...FILTER_STATUSES),
    "not.traceId": some("trace-1", "trace-2"),
    "not.admission": some("early", "confirm", "superseded"),
    "not.tags": fc.constantFrom<Record<string, string[]>>(
      { tenant: ["globex"] },
      { tenant: ["globex"], orderId: ["9", "12"] },
      { none: ["x"] },
    ),
  },
  { requiredKeys: [] },
);
/** Filters that only exclude: kinds, levels and walks of the newest events answer them. */
const exclusions = filters.map(
  (filter): EventFilter =>
    Object.fromEntries(Object.entries(filter).filter(([name]) => name.startsWith("not.") || name === "from")),
);
/** Filters of one or two names: plans that a filter of many names never reaches. */
const short = fc.tuple(filters, fc.nat(), fc.nat()).map(([filter, ...picks]): EventFilter => {
  const names = Object.keys(filter) as (keyof EventFilter)[];
  const kept = names.length === 0 ? [] : picks.map((pick) => names[pick % names.length]!);
  return Object.fromEntries(kept.map((name) => [name, filter[name]]));
});

type Stored = {
  id: string;
  source: string;
  event_id: string;
  aggregate_id: string | null;
  event_type: string | null;
  error_code: string;
  trace_id: string | null;
  admission: string | null;
  status: string;
  bounces: number;
  confirmed_at: number | null;
  cooldown_until: number | null;
  first_seen: number;
  failed_at: number | null;
  last_error: string;
  aggregate_type: string | null;
  fingerprint: string;
  version: string | number | null;
  held: boolean;
  tags: Record<string, string>;
  group_text: string;
};

/** The truth, told by plain code from every stored event. */
async function matching(filter: EventFilter, sort: EventSort | null = null): Promise<string[]> {
  const rows = await db.query<Stored>(
    `select e.*, s.name as source,
            lower(concat_ws(' ', g.error_code, g.exception_type, g.message_pattern, g.first_frame)) as group_text
       from dlq_event_rows e join sources s on s.id = e.source_id join dlq_groups g using (fingerprint) order by e.id desc`,
  );
  for (const row of rows) row.held = isHeldIn(rows, row);
  const met = rows.filter((row) => matches(row, filter));
  return (sort === null ? met : inFailureOrder(met, sort)).map((row) => row.id);
}

function inFailureOrder(rows: readonly Stored[], sort: EventSort): Stored[] {
  const way = sort === "failedNewest" ? -1 : 1;
  return rows.toSorted((a, b) => {
    if (a.failed_at === null || b.failed_at === null) {
      if (a.failed_at !== b.failed_at) return a.failed_at === null ? 1 : -1;
      return a.id < b.id ? -way : way;
    }
    return way * (a.failed_at - b.failed_at) || (a.id < b.id ? -way : way);
  });
}

/** The values of an event by the names that a filter may exclude. */
const valuesOf = (row: Stored) => ({
  source: row.source,
  eventId: row.event_id,
  aggregateId: row.aggregate_id,
  aggregateType: row.aggregate_type,
  eventType: row.event_type,
  errorCode: row.error_code,
  fingerprint: row.fingerprint,
  traceId: row.trace_id,
  admission: row.admission,
});

function isExcluded(row: Stored, filter: EventFilter): boolean {
  const values = Object.entries(valuesOf(row)).some(([name, value]) =>
    (filter[`not.${name}` as keyof EventFilter] as (string | null)[] | undefined)?.includes(value),
  );
  const tags = Object.entries(filter["not.tags"] ?? {}).some(([key, list]) => list.includes(row.tags[key] ?? ""));
  return values || tags || (filter["not.status"] ?? []).some((status) => hasStatus(row, status));
}

function matches(row: Stored, filter: EventFilter): boolean {
  if (isExcluded(row, filter)) return false;
  const among = (value: string | null, list?: string[]) => !list || (value !== null && list.includes(value));
  const { fromMs, toMs } = resolveWindow(filter, NOW);
  const failed = resolveFailedWindow(filter, NOW);
  return (
    among(row.source, filter.source) &&
    among(row.event_id, filter.eventId) &&
    among(row.aggregate_id, filter.aggregateId) &&
    among(row.event_type, filter.eventType) &&
    among(row.error_code, filter.errorCode) &&
    among(row.trace_id, filter.traceId) &&
    among(row.admission, filter.admission) &&
    (!filter.status || filter.status.some((status) => hasStatus(row, status))) &&
    (fromMs === null || row.first_seen >= fromMs) &&
    (toMs === null || row.first_seen < toMs) &&
    (failed.fromMs === null || (row.failed_at !== null && row.failed_at >= failed.fromMs)) &&
    (failed.toMs === null || (row.failed_at !== null && row.failed_at < failed.toMs)) &&
    Object.entries(filter.tags ?? {}).every(([key, values]) => values.includes(row.tags[key] ?? "")) &&
    (filter.q ?? "")
      .toLowerCase()
      .split(/\s+/)
      .every((word) => hasWord(row, word))
  );
}

/** An earlier version of its aggregate is parked, or an event that comes before it cools down. */
function isHeldIn(rows: readonly Stored[], row: Stored): boolean {
  if (row.aggregate_id === null) return false;
  const processed = row.source === "orders" && row.aggregate_id === "order-5" ? 150 : 0;
  const place = ({ version }: Stored) => (version === null ? Number.POSITIVE_INFINITY : Number(version));
  return rows.some((other) => {
    if (other.source !== row.source || other.aggregate_id !== row.aggregate_id) return false;
    if (!["PENDING", "IGNORED"].includes(other.status) || place(other) <= processed) return false;
    if (place(other) < place(row) && row.version !== null) return true;
    const cools = other.status === "PENDING" && other.cooldown_until !== null && other.cooldown_until > NOW;
    return cools && (place(other) < place(row) || (place(other) === place(row) && other.id < row.id));
  });
}

/** As the gate rules, in plain code. */
function rulingOf(row: Stored) {
  const facts = {
    eventId: row.event_id,
    aggregateType: row.aggregate_type,
    aggregateId: row.aggregate_id,
    errorCode: row.error_code,
    source: row.source,
  };
  return ruleControls(applyingControls(controls, facts, NOW));
}

function hasStatus(row: Stored, status: FilterStatus): boolean {
  switch (status) {
    case "BLACKLISTED":
      return row.status === "PENDING" && rulingOf(row).blacklisted;
    case "BOUNCED":
      return row.status === "PENDING" && row.bounces > 0;
    case "COOLING":
      if (row.status !== "PENDING" || rulingOf(row).blacklisted || rulingOf(row).whitelisted) return false;
      return rulingOf(row).cooling || (row.cooldown_until !== null && row.cooldown_until > NOW);
    case "HELD":
      return row.held && row.status === "PENDING" && !hasStatus(row, "BLACKLISTED") && !hasStatus(row, "COOLING");
    case "CONFIRMED":
      return row.status === "REDRIVEN" && row.confirmed_at !== null;
    default:
      return row.status === status;
  }
}

function hasWord(row: Stored, word: string): boolean {
  const lower = word.toLowerCase();
  return row.group_text.includes(lower) || row.last_error.toLowerCase().includes(lower);
}

async function listed(filter: EventFilter, limit: number, sort: EventSort | null = null): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof listEvents>> = await listEvents(
      lists,
      localViewer(),
      { filter, limit, cursor, sort },
      NOW,
    );
    ids.push(...page.items.map((item) => item.id));
    cursor = page.nextCursor;
  } while (cursor !== null);
  return ids;
}

async function listedBackwards(filter: EventFilter, limit: number, sort: EventSort | null = null): Promise<string[]> {
  let page = await listEvents(lists, localViewer(), { filter, limit, sort, cursor: null }, NOW);
  while (page.nextCursor !== null)
    page = await listEvents(lists, localViewer(), { filter, limit, sort, cursor: page.nextCursor }, NOW);
  const ids = page.items.map((item) => item.id);
  while (page.prevCursor !== null) {
    page = await listEvents(lists, localViewer(), { filter, limit, sort, cursor: page.prevCursor }, NOW);
    ids.unshift(...page.items.map((item) => item.id));
  }
  return ids;
}

async function exported(filter: EventFilter): Promise<string[]> {
  const ids: string[] = [];
  for await (const page of exportEvents(lists, localViewer(), filter, NOW)) ids.push(...page.map((event) => event.id));
  return ids;
}

async function selected(filter: EventFilter, limit: number): Promise<string[]> {
  const selection = scopeSelection(localViewer(), "redrive", { filter });
  const ids: string[] = [];
  for (let after: string | null = null; ; after = ids.at(-1)!) {
    const page = { selection, asOfMs: NOW, cutoff: cutoffOf(selection, NOW), after, limit };
    const rows = await readCandidates(db, page);
    ids.push(...rows.map(({ id }) => id));
    if (rows.length < limit) return ids;
  }
}

const windowOk = (filter: EventFilter) => {
  try {
    compileFilter(scopeFilter(localViewer(), filter), NOW);
    return true;
  } catch {
    return false;
  }
};

/** Filters that no index of few events answers: groups, last errors and times of failure are read. */
const searches = filters.map(({ q, failedFrom, failedTo, from, to, tags }) => {
  const searched =
    failedFrom === undefined && failedTo === undefined ? { q: q ?? "stock" } : { q, failedFrom, failedTo };
  return fromSearchParams(toSearchParams({ ...searched, from, to, tags } as EventFilter));
});

describe("any filter", () => {
  test.each(EVENT_SORTS)("is listed by the time of the last failure, page by page: %s", { retry: 0 }, async (sort) => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.constant({}), ...[filters, searches, exclusions, short].map((any) => any.filter(windowOk))),
        fc.integer({ min: 15, max: 60 }),
        async (filter, limit) => {
          const ids = await matching(filter, sort);
          expect(await listed(filter, limit, sort)).toEqual(ids);
          expect(await listedBackwards(filter, limit, sort)).toEqual(ids);
          const at = Math.floor(ids.length / 2);
          if (ids.length === 0) return;
          const around = await readNeighbours(lists, localViewer(), ids[at]!, { filter, sort }, NOW);
          expect(around).toEqual({ previous: ids[at - 1] ?? null, next: ids[at + 1] ?? null });
        },
      ),
      { numRuns: 12 },
    );
  });

  test.each([
    ["filter", filters],
    ["search", searches],
    ["filter that only excludes", exclusions],
    ["filter of one or two names", short],
  ])(
    "selects the same events in the list, the count, the export, the groups and a bulk operation: a %s",
    {
      retry: 0,
    },
    async (_, any) => {
      await fc.assert(
        fc.asyncProperty(any.filter(windowOk), fc.integer({ min: 15, max: 60 }), async (filter, limit) => {
          const truth = await matching(fromSearchParams(toSearchParams(filter)));
          expect(await listed(filter, limit)).toEqual(truth);
          expect(await listedBackwards(filter, limit + 5)).toEqual(truth);
          expect(await exported(filter)).toEqual(truth);
          expect(await selected(filter, limit)).toEqual(truth);
          const { total } = await countEvents(db, localViewer(), filter, NOW);
          expect(total).toMatchObject({ value: truth.length, kind: "exact" });
          const groups = await listGroups(db, localViewer(), { filter, limit: 500, cursor: null }, NOW);
          const counts = groups.items.flatMap((group) => Object.values(group.counts));
          expect(counts.reduce((sum, n) => sum + n, 0)).toBe(truth.length);
        }),
        { numRuns: 20 },
      );
    },
  );
});

const SHOWN = [
  'key "price" missing',
  "can't parse 'foo\\bar' at C:\\temp\\x.json",
  "mail to ann@shop.example: 550 5.1.1 <ann@shop.example>... 100%_sure",
  "платёж «Ромашка» отклонён: счёт №40817",
  "注文「A-12」の在庫がありません",
  'الدفع "مرفوض" للطلب ٧٧',
];

test("what the list shows as an event's last error finds it, whole and word by word, in any script", async () => {
  const clock = { ...systemClock, wallMs: () => NOW - 40 * 24 * HOUR };
  const letters = SHOWN.map((message, n) =>
    deadLetter({ eventId: `shown-${n}`, errorCode: "SHOWN", error: { type: null, message, stack: null } }),
  );
  await parkEvents(
    { db, clock },
    letters.map((letter) => ({ source: "orders", letter })),
    localViewer("tester"),
  );
  const found = async (q: string) => {
    const filter = fromSearchParams(new URLSearchParams({ q }));
    const page = { filter, limit: 500, cursor: null };
    const { items } = await listEvents(lists, localViewer(), page, NOW);
    const { total } = await countEvents(db, localViewer(), filter, NOW);
    expect(total.value).toBe(items.length);
    const groups = await listGroups(db, localViewer(), page, NOW);
    expect(groups.items.length > 0).toBe(items.length > 0);
    return items.map(({ lastError }) => lastError!);
  };
  for (const [n, message] of SHOWN.entries()) {
    const [{ lastError } = { lastError: null }] = (
      await listEvents(lists, localViewer(), { filter: { eventId: [`shown-${n}`] }, limit: 1, cursor: null }, NOW)
    ).items;
    for (const text of [message, message.toUpperCase(), lastError!, ...lastError!.split(/\s+/)]) {
      expect(await found(text), text).toContain(lastError);
    }
  }
  expect(await found("price-less")).toEqual([]);
});

test("a listed event names the control that decides whether it may be sent, as the gate would", async () => {
  const rows = await db.query<Stored>(
    "select e.*, s.name as source from dlq_event_rows e join sources s on s.id = e.source_id where s.name = any($1::text[])",
    [sources],
  );
  const expected = new Map<string, string | undefined>();
  for (const row of rows.filter(({ status }) => status === "PENDING")) {
    const { blacklisted, cooling, whitelisted } = rulingOf(row);
    expected.set(row.id, blacklisted ? "blacklist" : whitelisted ? "whitelist" : cooling ? "cooldown" : undefined);
  }
  const { items } = await listEvents(
    lists,
    localViewer(),
    { filter: { source: sources }, limit: 20_000, cursor: null },
    NOW + HOUR,
  );
  const found = new Map(
    items.filter(({ status }) => status === "PENDING").map(({ id, control }) => [id, control?.kind]),
  );
  expect(found).toEqual(expected);
  expect(new Set(found.values())).toEqual(new Set(["blacklist", "whitelist", "cooldown", undefined]));
  const own = items.find(({ aggregateId, control }) => aggregateId === "order-9" && control?.origin === "automatic");
  expect(own?.control).toMatchObject({
    scope: "aggregateId",
    value: "order-9",
    source: "billing",
    reason: "kept failing",
  });
});

test("the state that a control puts an event in selects as the gate rules", async () => {
  for (const filter of [
    { status: ["COOLING", "BLACKLISTED"] },
    { status: ["IGNORED", "BLACKLISTED"], source: ["orders"] },
    { status: ["BLACKLISTED"], aggregateId: ["order-2", "order-4", "order-9"] },
    { status: ["CONFIRMED", "COOLING"], from: "-20h" },
  ] satisfies EventFilter[]) {
    const expected = await matching(filter);
    expect(expected.length).toBeGreaterThan(2);
    expect(await listed(filter, 20)).toEqual(expected);
    const { total } = await countEvents(db, localViewer(), filter, NOW);
    expect(total).toMatchObject({ value: expected.length, kind: "exact" });
  }
});

test("HELD selects the events that an earlier event of their aggregate holds, wherever it is asked", async () => {
  for (const filter of [
    { status: ["HELD"] },
    { status: ["HELD"], source: ["orders"], "not.aggregateId": ["order-1"] },
    { status: ["HELD", "IGNORED"] },
    { status: ["PENDING"], "not.status": ["HELD"] },
    { status: ["HELD"], q: "stock" },
    { status: ["HELD"], failedFrom: "-90h" },
  ] satisfies EventFilter[]) {
    const expected = await matching(filter);
    expect(expected.length, JSON.stringify(filter)).toBeGreaterThan(2);
    expect(await listed(filter, 20)).toEqual(expected);
    expect(await listed(filter, 20, "failedNewest")).toEqual(await matching(filter, "failedNewest"));
    expect(await exported(filter)).toEqual(expected);
    const { total, byStatus } = await countEvents(db, localViewer(), filter, NOW);
    expect(total).toMatchObject({ value: expected.length, kind: "exact" });
    if (filter.status.length === 1 && filter.status[0] === "HELD") expect(byStatus.HELD).toEqual(total);
  }
});

test("what a control blacklists is found by the control's scope, among any number of others", async () => {
  await db.run(
    `insert into controls (id, kind, scope, value, source, aggregate_type, reason, origin, created_by)
     select gen_random_uuid(), 'blacklist', 'aggregateId', 'gone-' || n, 'orders', 'order', 'kept failing', 'automatic', 'worker'
       from generate_series(1, 600) n`,
  );
  const parts = await controlledParts(
    db,
    scopeFilter(localViewer(), { status: ["BLACKLISTED"], errorCode: ["TIMEOUT", "RARE"] }),
  );
  const blacklisted = await db.query<{ id: string }>(
    `select e.id from dlq_events e join sources s on s.id = e.source_id
      where (s.name, e.aggregate_id) in (('orders', 'order-2'), ('orders', 'order-4'), ('billing', 'order-9')) and e.status = 'PENDING'`,
  );
  expect(parts?.at(-1)?.ids).toEqual(expect.arrayContaining(blacklisted.map(({ id }) => id)));
  expect(parts?.map(({ filter }) => filter)).toEqual(
    expect.arrayContaining([
      { status: ["BLACKLISTED"], errorCode: ["RARE"] },
      { status: ["BLACKLISTED"], errorCode: ["TIMEOUT"], source: ["billing"] },
      { status: ["BLACKLISTED"], errorCode: ["TIMEOUT", "RARE"] },
    ]),
  );
  expect(await controlledParts(db, scopeFilter(localViewer(), { status: ["PENDING", "COOLING"] }))).toBeNull();
});
