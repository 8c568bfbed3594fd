import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as neighbours from "@/app/(events)/api/v1/events/[id]/neighbours/route";
import * as payload from "@/app/(events)/api/v1/events/[id]/payload/route";
import * as detail from "@/app/(events)/api/v1/events/[id]/route";
import * as count from "@/app/(events)/api/v1/events/count/route";
import * as exported from "@/app/(events)/api/v1/events/export/route";
import * as meaning from "@/app/(events)/api/v1/events/meanings/route";
import * as events from "@/app/(events)/api/v1/events/route";
import * as groups from "@/app/(events)/api/v1/groups/route";
import * as view from "@/app/(events)/api/v1/saved-views/[id]/route";
import * as views from "@/app/(events)/api/v1/saved-views/route";
import * as auditEvents from "@/app/(guard)/api/v1/audit/[id]/events/route";
import * as audit from "@/app/(guard)/api/v1/audit/route";
import * as age from "@/app/(observe)/api/v1/stats/age/route";
import * as flow from "@/app/(observe)/api/v1/stats/flow/route";
import * as markers from "@/app/(observe)/api/v1/stats/markers/route";
import * as success from "@/app/(observe)/api/v1/stats/redrive-success/route";
import * as size from "@/app/(observe)/api/v1/stats/size/route";
import * as top from "@/app/(observe)/api/v1/stats/top-errors/route";
import * as status from "@/app/(observe)/api/v1/status/route";
import * as metrics from "@/app/(observe)/metrics/route";
import * as confirm from "@/app/(redrive)/api/v1/events/confirm/route";
import * as preview from "@/app/(redrive)/api/v1/redrives/preview/route";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import type {
  BulkAnswer,
  EventCounts,
  EventDetail,
  EventList,
  GroupList,
  Neighbours,
} from "@/lib/events/events.shapes";
import type { Meanings } from "@/lib/events/meanings.shapes";
import type { AuditEventList, AuditList } from "@/lib/guard/audit/audit.shapes";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import type {
  AgeStats,
  FlowStats,
  RedriveSuccess,
  SizeStats,
  StatusOut,
  TopErrors,
} from "@/lib/observe/stats/stats.shapes";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { compileFilter } from "@/lib/selection/filter/event-filter.sql";
import { scopeFilter } from "@/lib/selection/scope.shapes";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource, deadLetter } from "@/lib/testing/letters";

let console: TestConsole;
const all: { source: string; letter: DeadLetter }[] = [];

beforeAll(async () => {
  console = await testConsole();
  await addSource(console.deps.db, "orders");
  await addSource(console.deps.db, "billing");
  for (let i = 0; i < 120; i++) {
    const timeout = i % 3 === 0;
    all.push({
      source: i % 4 === 0 ? "billing" : "orders",
      letter: deadLetter({
        eventId: `event-${i}`,
        aggregateId: `order-${i % 10}`,
        version: BigInt(i),
        errorCode: timeout ? "TIMEOUT" : "UPSTREAM_5XX",
        error: timeout
          ? { type: "TimeoutError", message: `no answer from stock within ${i} ms`, stack: null }
          : { type: "HttpError", message: `503 from payment for order ${i}`, stack: null },
        tags: { orderId: String(i), tenant: i % 2 ? "acme" : "globex" },
      }),
    });
  }
  await parkEvents(console.deps, all, localViewer("tester"));
  const select = { filter: { eventId: ["event-1", "event-2"] } };
  await ignoreEvents(console.deps, { select, reason: "known" }, localViewer("ada"));
});
afterAll(() => console.close());

const list = async (query = "") => (await console.call<EventList>(events.GET, { query })).body;
const counts = async (query = "") => (await console.call<EventCounts>(count.GET, { query })).body;
const idOf = async (eventId: string) => (await list(`?eventId=${eventId}`)).items[0]!.id;

describe("the list", () => {
  test("goes a page on and back by its cursors", async () => {
    const first = await list("?limit=50");
    expect(first.items.map((item) => item.eventId)).toEqual(
      all
        .map(({ letter }) => letter.eventId)
        .reverse()
        .slice(0, 50),
    );
    const second = await list(`?limit=50&cursor=${first.nextCursor}`);
    expect((await list(`?limit=50&cursor=${second.prevCursor}`)).items).toEqual(first.items);
  });

  // What any filter selects: event-filter.itest.ts.
  test.each([
    ["?source=billing&errorCode=TIMEOUT", 10],
    ["?status=IGNORED&status=BOUNCED", 2],
    ["?tag.tenant=acme&tag.orderId=77", 1],
    ["?q=stock+payment", 0],
    ["?from=-1h&to=now&errorCode=TIMEOUT", 40],
    ["?not.errorCode=TIMEOUT", 80],
    ["?not.source=billing&not.status=IGNORED&not.tag.tenant=acme", 29],
  ])("%s matches %i, and so do count, export and groups", async (query, n) => {
    const page = await list(`${query}&limit=500`);
    expect(page.items).toHaveLength(n);
    expect((await counts(query)).total).toMatchObject({ value: n, kind: "exact" });
    const lines = (await console.call(exported.GET, { query: `${query}&reason=test` })).text
      .split("\n")
      .filter(Boolean);
    expect(lines.map((line) => JSON.parse(line).stored.id)).toEqual(page.items.map((item) => item.id));
    const grouped = (await console.call<GroupList>(groups.GET, { query })).body.items;
    expect(grouped.flatMap((group) => Object.values(group.counts)).reduce((sum, one) => sum + one, 0)).toBe(n);
  });

  test("counts by status", async () => {
    const { byStatus } = await counts();
    expect(byStatus).toMatchObject({ PENDING: { value: 118 }, IGNORED: { value: 2 } });
  });

  test.each([
    ["?from=-1h&to=-2h", 422, "invalid-window", "from"],
    ["?cursor=abc", 422, "invalid-cursor", "cursor"],
    ["?limit=0", 400, "invalid-request", "limit"],
    ["?limit=501", 400, "invalid-request", "limit"],
    ["?limit=0x10", 400, "invalid-request", "limit"],
    ["?status=NEW", 400, "invalid-filter", "status"],
    ["?page=2", 400, "invalid-filter", "page"],
    ["?not.status=NEW", 400, "invalid-filter", "not.status"],
    ["?not.from=-1h", 400, "invalid-filter", "not.from"],
  ])("refuses %s", async (query, status, code, field) => {
    const answer = await console.call<{ code: string; errors: { field: string }[] }>(events.GET, { query });
    expect(answer).toMatchObject({ status, body: { code, errors: [{ field }] } });
  });

  test("takes an order, of which no cursor is of another", async () => {
    const page = await list("?limit=50&sort=failedOldest");
    expect(page.items).toHaveLength(50);
    expect(JSON.stringify(page)).not.toContain("failedUs");
    for (const query of ["?limit=50", "?limit=50&sort=failedNewest"]) {
      const answer = await console.call(events.GET, { query: `${query}&cursor=${page.nextCursor}` });
      expect(answer.body, query).toMatchObject({ code: "invalid-cursor" });
    }
    expect((await console.call(events.GET, { query: "?sort=failed" })).status).toBe(400);
  });
});

describe("one event", () => {
  test("has its body, headers, error, origin, history and aggregate", async () => {
    const params = { id: await idOf("event-2") };
    const { body } = await console.call<EventDetail>(detail.GET, { params });
    expect(body).toMatchObject({
      eventId: "event-2",
      status: "IGNORED",
      body: { contentType: "application/json", text: '{"orderId": 77, "big": 9007199254740993}', bytes: 40 },
      headers: [
        ["b", "1"],
        ["a", null],
        ["b", "2"],
      ],
      errorDetail: { type: "HttpError" },
      origin: { queue: "orders.dlq" },
      group: { pattern: "503 from payment for order <n>", parked: 78 },
      target: { main: "http://127.0.0.1:9/sink" },
    });
    expect(body.history.map(({ kind, actor, reason }) => ({ kind, actor, reason }))).toEqual([
      { kind: "parked", actor: "tester", reason: null },
      { kind: "state", actor: "ada", reason: "known" },
    ]);
    expect(body.aggregate.map((member) => member.version)).toEqual(
      [...body.aggregate].map((m) => m.version).sort((a, b) => Number(a) - Number(b)),
    );
    // Ignored by a person: it holds what is behind it, here as in the engine.
    expect(body.aggregate.filter((member) => member.head).map((member) => member.eventId)).toEqual(["event-2"]);
  });

  test("gives its payload byte for byte, as a file that no browser runs", async () => {
    const answer = await console.call(payload.GET, {
      params: { id: await idOf("event-3") },
      query: "?reason=test",
    });
    expect(answer.text).toBe('{"orderId": 77, "big": 9007199254740993}');
    expect(answer.headers.get("content-disposition")).toContain("attachment");
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  });

  test("has neighbours in the filtered list", async () => {
    const around = await console.call<Neighbours>(neighbours.GET, {
      params: { id: await idOf("event-6") },
      query: "?errorCode=TIMEOUT",
    });
    expect(around.body).toEqual({ previous: await idOf("event-9"), next: await idOf("event-3") });
    const end = await console.call<Neighbours>(neighbours.GET, { params: { id: await idOf("event-0") } });
    expect(end.body.next).toBeNull();
  });

  test.each(["nonsense", "018f9c4e-0000-7000-8000-000000000001"])("is unknown as %s", async (id) => {
    const answer = await console.call(detail.GET, { params: { id } });
    expect(answer).toMatchObject({ status: 404, body: { code: "unknown-event" } });
  });
});

describe("export", () => {
  test("writes CSV that no spreadsheet runs", async () => {
    await parkEvents(
      console.deps,
      [
        {
          source: "orders",
          letter: deadLetter({ eventId: "=cmd()", error: { type: null, message: 'a "b", c', stack: null } }),
        },
      ],
      localViewer("tester"),
    );
    const { text, headers } = await console.call(exported.GET, { query: "?format=csv&eventId=%3Dcmd()" });
    expect(headers.get("content-type")).toContain("text/csv");
    const [head, line] = text.split("\r\n");
    expect(head).toMatch(/^id,source,eventId,/);
    expect(line).toContain("'=cmd()");
    expect(line).toContain('"a ""b"", c"');
    await console.deps.db.run("delete from dlq_events where event_id = '=cmd()'");
    await console.deps.db.run("delete from dlq_levels where ctid = (select max(ctid) from dlq_levels)");
  });
});

describe("groups", () => {
  test("are judged against what usually arrives by the numbers of the overview, for the same window", async () => {
    const { db } = console.deps;
    // The same hours of four days before, and the two before those.
    await db.run(
      `insert into dlq_flow (minute, source_id, error_code, fingerprint, kind, n)
       select date_trunc('minute', now() - make_interval(days => day, mins => minutes)), s.id, g.error_code, g.fingerprint, 'parked', 10
         from dlq_groups g, sources s, generate_series(1, 5) day, unnest(array[5, 65, 130]) minutes
        where g.error_code = 'TIMEOUT' and s.name = 'orders'`,
    );
    for (const query of ["?from=-1h", "?from=-24h", "?from=-1h&source=orders", "?from=-2h&to=-1h&errorCode=TIMEOUT"]) {
      const overview = (await console.call<TopErrors>(top.GET, { query })).body;
      const arrived = overview.counts === "arrived" ? overview.groups : [];
      const listed = (await console.call<GroupList>(groups.GET, { query })).body.items;
      expect(listed.length, query).toBe(query.includes("to=") ? 0 : 2);
      for (const { fingerprint, arrivals } of listed) {
        const { count, usual, spread, factor, trend } = arrived.find((group) => group.fingerprint === fingerprint)!;
        expect(usual, query).not.toBeNull();
        expect(arrivals, query).toEqual({ count, usual, spread, factor, trend });
      }
    }
    const last = (await console.call<GroupList>(groups.GET, { query: "?errorCode=TIMEOUT" })).body.items[0]!;
    expect(last.arrivals).toMatchObject({ count: 40, usual: 30, trend: "usual" });
    await db.run(`delete from dlq_flow where minute < now() - interval '1 day'`);
  });
});

describe("stats", () => {
  test("tell size, flow, age and top errors from the rollups", async () => {
    const sizes = (await console.call<SizeStats>(size.GET, { query: "?source=orders&source=billing" })).body;
    expect(sizes.now).toBeGreaterThanOrEqual(118);
    expect(sizes.buckets.at(-1)).toMatchObject({ total: sizes.now, byErrorCode: { TIMEOUT: 40 } });
    expect(sizes.buckets[0]).toMatchObject({ total: 0 });
    const others = (await console.call<SizeStats>(size.GET, { query: "?not.source=billing&not.errorCode=TIMEOUT" }))
      .body;
    expect(others.buckets.at(-1)!.byErrorCode).toEqual({ UPSTREAM_5XX: 58 });
    const flows = (await console.call<FlowStats>(flow.GET, { query: "?from=-1h&bucket=1m" })).body;
    expect(flows.bucketMs).toBe(60_000);
    expect(flows.buckets.reduce((sum, bucket) => sum + bucket.ignored, 0)).toBe(2);
    const ages = (await console.call<AgeStats>(age.GET)).body;
    expect(ages).toMatchObject({ kind: "estimated" });
    expect(ages.oldestMs).toBeLessThan(600_000);
    expect(ages.p50Ms).toBeLessThanOrEqual(3_600_000);
    const errors = (await console.call<TopErrors>(top.GET)).body;
    expect(errors.buckets[0]!.errorCode).toBe("UPSTREAM_5XX");
    expect((await console.call<RedriveSuccess>(success.GET)).body).toMatchObject({ delivered: 0, rate: null });
    expect((await console.call(markers.GET)).body).toEqual({ items: [] });
  });

  test.each([
    ["?tag.a=b", "invalid-filter"],
    ["?not.fingerprint=a", "invalid-filter"],
    ["?bucket=5x", "invalid-filter"],
    ["?from=-300d&bucket=1m", "invalid-window"],
  ])("refuse %s", async (query, code) => {
    expect((await console.call(size.GET, { query })).body).toMatchObject({ code });
  });
});

describe("a filter by a source that does not exist", () => {
  type Hinted = { hints?: { field: string; detail: string }[] };
  const reads = { events, count, groups, size, flow, age, success, top, preview };
  const read = async (name: keyof typeof reads, sources: string[]) => {
    const { GET, POST } = { POST: undefined, GET: undefined, ...reads[name] };
    const query = `?${new URLSearchParams(sources.map((source) => ["source", source]))}`;
    const body = { select: { filter: { source: sources } } };
    return GET ? console.call<Hinted>(GET, { query }) : console.call<Hinted>(POST!, { body });
  };

  test.each(Object.keys(reads) as (keyof typeof reads)[])("is answered by %s, which says so", async (name) => {
    const field = name === "preview" ? "select.filter.source" : "source";
    expect(await read(name, ["odrers", "nowhere"])).toMatchObject({
      status: 200,
      body: {
        hints: [
          { field, detail: 'There is no source "odrers": is orders meant?' },
          { field, detail: 'There is no source "nowhere"' },
        ],
      },
    });
    expect((await read(name, ["orders"])).body).not.toHaveProperty("hints");
  });

  test("says so where it is excluded, since it excludes nothing", async () => {
    const detail = 'There is no source "odrers": is orders meant?';
    expect((await console.call<Hinted>(count.GET, { query: "?not.source=odrers" })).body.hints).toEqual([
      { field: "not.source", detail },
    ]);
    const body = { select: { filter: { source: ["billing"], "not.source": ["odrers"] } } };
    expect((await console.call<Hinted>(preview.POST, { body })).body.hints).toEqual([
      { field: "select.filter.not.source", detail },
    ]);
  });

  test("is not looked into for a list that has events, which is polled", async () => {
    expect((await read("events", ["orders", "nowhere"])).body).not.toHaveProperty("hints");
    expect((await read("count", ["orders", "nowhere"])).body.hints).toHaveLength(1);
  });
});

test("the audit can be narrowed by actor, action, event and time", async () => {
  const read = async (query: string) => (await console.call<AuditList>(audit.GET, { query })).body.items;
  expect(await read("?actor=ada")).toMatchObject([{ action: "event.ignored", count: 2, reason: "known" }]);
  expect((await read("?action=event")).length).toBeGreaterThanOrEqual(2);
  const actors = async (query: string) => [...new Set((await read(query)).map(({ actor }) => actor))].toSorted();
  await console.deps.db.query(
    `insert into audit_entries (id, at, actor, action, subject_kind)
     select gen_random_uuid(), now(), actor, 'event.parked', 'event' from unnest('{worker,source:orders}'::text[]) actor`,
  );
  expect(await actors("?by=all")).toEqual(expect.arrayContaining(["source:orders", "worker"]));
  expect(await actors("?by=people")).toEqual(["ada", "local", "tester"]);
  expect(await read("?eventId=event-2")).toHaveLength(2);
  expect(await read(`?eventId=${await idOf("event-5")}`)).toMatchObject([{ action: "event.parked" }]);
  const [ignored] = await read("?actor=ada");
  const covered = (await console.call<AuditEventList>(auditEvents.GET, { params: { id: ignored!.id } })).body;
  expect(covered.items.map(({ status }) => status)).toEqual(["IGNORED", "IGNORED"]);
  expect((await console.call(auditEvents.GET, { params: { id: covered.items[0]!.id } })).body).toMatchObject({
    code: "unknown-audit-entry",
  });
  expect(await read("?from=-1h&to=-59m")).toEqual([]);
  expect((await console.call(audit.GET, { query: "?subjectKind=thing" })).body).toMatchObject({
    code: "invalid-filter",
  });
});

test("a view keeps a filter under a name", async () => {
  const made = await console.call<{ id: string; filter: unknown }>(views.POST, {
    body: { name: "timeouts", filter: { errorCode: "TIMEOUT", "tag.tenant": ["acme"] } },
  });
  expect(made).toMatchObject({ status: 201, body: { filter: { errorCode: ["TIMEOUT"], tags: { tenant: ["acme"] } } } });
  const again = await console.call(views.POST, { body: { name: "timeouts", filter: {} } });
  expect(again.body).toMatchObject({ code: "name-taken" });
  expect((await console.call(views.GET)).body).toMatchObject({ items: [{ name: "timeouts", createdBy: "local" }] });
  const remove = () => console.call(view.DELETE, { method: "DELETE", params: { id: made.body.id } });
  expect((await remove()).status).toBe(204);
  expect((await remove()).body).toMatchObject({ code: "unknown-view" });
});

test("a consumer's word confirms what was parked, once, and refuses what is not there", async () => {
  const say = (eventIds: string[]) =>
    console.call<BulkAnswer>(confirm.POST, { body: { source: "orders", eventIds, consumer: "shop" } });
  const first = await say(["event-7", "event-7", "nope", "event-2"]);
  expect(first.body).toMatchObject({ state: "DONE", changed: 1 });
  expect(first.body.refused).toEqual({ "not-found": 1, ignored: 1 });
  const again = await say(["event-7"]);
  expect(again.body).toMatchObject({ changed: 0, ids: [] });
  expect(again.body.refused).toEqual({ "already-confirmed": 1 });
  expect((await list("?status=CONFIRMED")).items).toMatchObject([{ eventId: "event-7", status: "REDRIVEN" }]);
  const processed = await console.deps.db.query("select event_id, version from processed_events order by 1");
  expect(processed).toEqual([
    { event_id: "event-2", version: 2 },
    { event_id: "event-7", version: 7 },
    { event_id: "nope", version: null },
  ]);
});

test("the status strip says what it cannot know", async () => {
  const { body } = await console.call<StatusOut>(status.GET);
  expect(body).toMatchObject({ store: { ok: true }, worker: { alive: 0 }, redrivesRunning: 0 });
  expect(body.lanes).toContainEqual({ lane: "slow", ratePerSecondNow: 0, ratePerSecondSet: 10, targets: 2 });
});

test("metrics are Prometheus text from the rollups", async () => {
  const { text, headers } = await console.call(metrics.GET);
  expect(headers.get("content-type")).toContain("version=0.0.4");
  expect(text).toMatch(/^dlq_size\{source="billing",error_code="TIMEOUT"\} 10$/m);
  expect(text).toMatch(/^top_error_code\{error_code="TIMEOUT"\} 40$/m);
  const p95 = /^message_age_p95 (\d+)$/m.exec(text)![1];
  expect(text).toContain(`\nmessage_age_seconds{quantile="0.95"} ${p95}\n`);
  expect(text).toMatch(/^workers_alive 0$/m);
  for (const line of text.trim().split("\n")) expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{.*\})? [\d.e+-]+)$/);
  const page = await readFile("docs/operate.md", "utf8");
  const documented = [...page.matchAll(/^\| (`.+?) \|/gm)].flatMap(([, cell]) => cell!.match(/\w+/g) ?? []);
  const names = [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name!);
  expect(names.filter((name) => !documented.includes(name))).toEqual([]);
  // As promtool demands it.
  const summaries = [...text.matchAll(/^# TYPE (\w+) summary$/gm)].map(([, name]) => name);
  const quantiles = [...text.matchAll(/^(\w+)\{.*\bquantile="/gm)].map(([, name]) => name);
  expect(quantiles).toContain("message_age_seconds");
  expect(quantiles.filter((name) => !summaries.includes(name))).toEqual([]);
});

describe("what a text names", () => {
  const meanings = async (text: string) =>
    (await console.call<Meanings>(meaning.GET, { query: `?text=${encodeURIComponent(text)}` })).body;
  const counted = ({ names }: Meanings) => Object.fromEntries(names.map(({ name, count }) => [name, count]));

  test("an aggregate with all its events, whatever its errors say", async () => {
    const found = await meanings("order-7");
    expect(counted(found)).toEqual({
      eventId: 0,
      aggregateId: all.filter(({ letter }) => letter.aggregateId === "order-7").length,
      traceId: 0,
    });
    expect(found).toMatchObject({ event: null, errorCodes: [] });
  });

  test("an event by its own id and by ours, and a code in any case", async () => {
    expect(counted(await meanings(" event-7 "))).toEqual({ eventId: 1, aggregateId: 0, traceId: 0 });
    const id = await idOf("event-7");
    expect((await meanings(id.toUpperCase())).event).toEqual({
      id,
      eventId: "event-7",
      source: (await list("?eventId=event-7")).items[0]!.source,
    });
    expect((await meanings("timeout")).errorCodes).toEqual(["TIMEOUT"]);
    expect((await meanings("nothing of ours")).names.every(({ count }) => count === 0)).toBe(true);
  });

  test("reads no event by a scan", async () => {
    for (const name of ["eventId", "aggregateId", "traceId"] as const) {
      const { where, values } = compileFilter(scopeFilter(localViewer(), { [name]: ["order-7"] }), Date.now());
      const plan = await console.deps.db.transaction(async (tx) => {
        await tx.run("set local enable_seqscan = off");
        return tx.query(`explain select 1 from dlq_event_rows e where ${where} limit 1001`, values);
      });
      expect(JSON.stringify(plan)).toMatch(/Index/);
      expect(JSON.stringify(plan)).not.toMatch(/Seq Scan on dlq_events/);
    }
  });

  test("is refused without a text", async () => {
    for (const query of ["", "?text=", "?text=%20", `?text=${"x".repeat(513)}`, "?text=a%00b", "?q=a"]) {
      expect((await console.call(meaning.GET, { query })).status).toBe(400);
    }
  });
});
