import { beforeAll, describe, expect, test } from "vitest";
import * as merge from "@/app/(events)/api/v1/groups/[fingerprint]/merge/route";
import * as group from "@/app/(events)/api/v1/groups/[fingerprint]/route";
import * as groups from "@/app/(events)/api/v1/groups/route";
import * as top from "@/app/(observe)/api/v1/stats/top-errors/route";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import type { GroupList } from "@/lib/events/events.shapes";
import { listGroups } from "@/lib/events/groups/group-list.read";
import type { GroupDetail } from "@/lib/events/groups/groups.shapes";
import { localViewer, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { foldRollups } from "@/lib/observe/rollups/fold-rollups.write";
import type { TopErrors } from "@/lib/observe/stats/stats.shapes";
import { consoleOfFile } from "@/lib/testing/console-of-file";
import { addSource, deadLetter } from "@/lib/testing/letters";

const ADA = localViewer("ada");
const HOUR_MS = 3_600_000;
const web = consoleOfFile();

/** Events of a code that are parked now, and so many in the same hour on each of these days before. */
type Made = { code: string; source?: string; now: number; days?: Record<number, number> };

async function make({ code, source = "orders", now, days = {} }: Made): Promise<void> {
  const letters = Array.from({ length: now }, (_, index) => ({
    source,
    letter: deadLetter({
      ...{ eventId: `${code}-${source}-${index}`, errorCode: code, aggregateId: `order-${index % 3}` },
      tags: { tenant: index % 4 === 0 ? "north" : "south", orderId: `${code}-${index}` },
    }),
  }));
  await parkEvents(web.deps, letters, ADA);
  for (const [day, n] of Object.entries(days)) {
    await web.deps.db.run(
      `insert into dlq_flow (minute, source_id, error_code, fingerprint, kind, n)
       select date_trunc('minute', now()) - make_interval(days => $3, mins => 30), s.id, g.error_code, g.fingerprint, 'parked', $4
         from dlq_groups g, sources s where g.error_code = $1 and s.name = $2`,
      [code, source, Number(day), n],
    );
  }
  if (now === 0)
    await web.deps.db.run("update dlq_flow set minute = minute - interval '3 days' where error_code = $1", [code]);
}

beforeAll(async () => {
  await addSource(web.deps.db, "orders");
  await addSource(web.deps.db, "billing");
  const week = (n: number) => Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8].map((day) => [day, n]));
  await make({ code: "RISING", now: 60, days: week(5) });
  await make({ code: "STEADY", now: 90, days: week(90) });
  await make({ code: "NEW", now: 12 });
  await make({ code: "BACK", now: 7, days: { 9: 4 } });
  await make({ code: "FALLING", now: 2, days: week(80) });
  // New in billing, and old in orders.
  await make({ code: "MOVED", now: 3, days: week(3) });
  await make({ code: "MOVED", source: "billing", now: 8 });
});

const list = async (query = "?from=-1h") => (await web.call<GroupList>(groups.GET, { query })).body.items;
const codes = async (query: string) => (await list(query)).map(({ errorCode }) => errorCode);

describe.each(["in the log", "folded"])("the groups, %s", (when) => {
  beforeAll(async () => {
    if (when === "folded") await foldRollups(web.deps.db);
  });

  test("have the verdict that the overview has", async () => {
    const items = await list();
    expect(items.map(({ errorCode, verdict }) => [errorCode, verdict])).toEqual([
      ["STEADY", "steady"],
      ["RISING", "rising"],
      ["NEW", "new"],
      ["MOVED", "rising"],
      ["BACK", "back"],
      ["FALLING", "falling"],
    ]);
    const overview = (await web.call<TopErrors>(top.GET, { query: "?from=-1h" })).body;
    const judged = overview.counts === "arrived" ? overview.groups : [];
    expect(judged).toHaveLength(6);
    for (const { fingerprint, verdict, arrivals } of items) {
      const { factor } = judged.find((each) => each.fingerprint === fingerprint)!;
      expect(judged.find((each) => each.fingerprint === fingerprint)!.verdict).toBe(verdict);
      expect(arrivals.factor).toBe(factor);
    }
  });

  test("are judged by what arrived in the sources of the filter", async () => {
    const [moved] = await list("?from=-1h&source=billing");
    expect(moved).toMatchObject({ errorCode: "MOVED", verdict: "new", arrivals: { count: 8 } });
    expect(Date.parse(moved!.firstSeen)).toBeGreaterThan(Date.now() - HOUR_MS);
    const [old] = await list("?from=-1h&source=orders&errorCode=MOVED");
    expect(old).toMatchObject({ verdict: "steady" });
    // Of events that have left the store the hour is known, as soon as it is folded.
    if (when === "folded") expect(Date.parse(old!.firstSeen)).toBeLessThan(Date.now() - 7 * 24 * HOUR_MS);
    const clerk: Viewer = { name: "clerk", means: "session", sources: ["billing"], actions: "all" };
    const filter = { from: "-1h" };
    const seen = await listGroups(web.deps.db, clerk, { filter, limit: 9, cursor: null }, Date.now());
    expect(seen.items.map(({ errorCode, verdict }) => [errorCode, verdict])).toEqual([["MOVED", "new"]]);
  });

  test("tell since when they rise, and of the others when they were first seen", async () => {
    const items = await list();
    const since = Object.fromEntries(items.map(({ errorCode, since: its }) => [errorCode, its]));
    const lately = Date.now() - HOUR_MS;
    for (const code of ["RISING", "NEW", "BACK"]) {
      expect([code, since[code]!.of]).toEqual([code, "rise"]);
      expect(Date.parse(since[code]!.at)).toBeGreaterThan(lately);
    }
    expect(since.STEADY!.of).toBe("first");
  });
});

test.each([
  ["?from=-1h&verdict=new,back", ["NEW", "BACK"]],
  ["?from=-1h", ["STEADY", "RISING", "NEW", "MOVED", "BACK", "FALLING"]],
  ["?from=-1h&sort=last&errorCode=MOVED&errorCode=NEW", ["MOVED", "NEW"]],
])("%s lists %j", async (query, expected) => expect(await codes(query)).toEqual(expected));

test.each(["", "&sort=last", "&sort=last&source=orders&source=billing", "&verdict=new,back,rising,steady,falling"])(
  "pages of%s hold each group once",
  async (asked) => {
    const seen: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const query: string = `?from=-1h&limit=2${asked}${cursor === "" ? "" : `&cursor=${cursor}`}`;
      const { items, nextCursor }: GroupList = (await web.call<GroupList>(groups.GET, { query })).body;
      seen.push(...items.map(({ errorCode }) => errorCode));
      cursor = nextCursor;
    }
    expect(seen.toSorted()).toEqual(["BACK", "FALLING", "MOVED", "NEW", "RISING", "STEADY"]);
  },
);

test("by the last failure, a group without a parked event comes behind those with one", async () => {
  const of = "where fingerprint in (select fingerprint from dlq_groups where error_code = 'MOVED')";
  await web.deps.db.run(`update dlq_group_levels set status = 'REDRIVEN' ${of}`);
  const listed = await codes("?sort=last&errorCode=MOVED&errorCode=NEW");
  await web.deps.db.run(`update dlq_group_levels set status = 'PENDING' ${of}`);
  expect(listed).toEqual(["NEW", "MOVED"]);
});

test.each([
  "WyJsYXN0Il0",
  Buffer.from('["last","soon","f00d"]').toString("base64url"),
  Buffer.from('["last",1,"a\\u0000b"]').toString("base64url"),
])("the cursor %s is refused", async (cursor) => {
  const answer = await web.call(groups.GET, { query: `?limit=1&sort=last&cursor=${cursor}` });
  expect(answer).toMatchObject({ status: 422, body: { code: "invalid-cursor" } });
});

test("a cursor of another order is refused", async () => {
  const { nextCursor } = (await web.call<GroupList>(groups.GET, { query: "?limit=1" })).body;
  const other = await web.call(groups.GET, { query: `?limit=1&sort=last&cursor=${nextCursor}` });
  expect(other).toMatchObject({ status: 422, body: { code: "invalid-cursor" } });
});

describe("the page of a group", () => {
  const detail = async (code: string, query = "") => {
    const [listed] = await list(`?errorCode=${code}`);
    const params = { fingerprint: listed!.fingerprint };
    return web.call<GroupDetail>(group.GET, { params, query });
  };

  test("tells what usually arrives by the hour, and who is affected", async () => {
    const { body } = await detail("RISING");
    expect(body.hours).toHaveLength(7 * 24);
    const last = body.hours.reduce((most, hour) => (hour.count > most.count ? hour : most));
    expect(last.count).toBe(60);
    expect(last.usualMax).toBeLessThan(60);
    expect(body.hours.some(({ usual }) => usual === 5)).toBe(true);
    expect(body.affected).toMatchObject({ events: 60, whole: true, aggregates: 3 });
    // The order's id differs in each event, so it tells nobody apart.
    expect(body.affected!.tags).toEqual([
      {
        ...{ key: "tenant", others: 0 },
        values: [
          { value: "south", count: 45 },
          { value: "north", count: 15 },
        ],
      },
    ]);
  });

  test("tells what was done to its events before, by whom and why", async () => {
    const select = { filter: { errorCode: ["NEW"] } };
    await ignoreEvents(web.deps, { select, reason: "the producer is mended" }, ADA);
    const { body } = await detail("NEW");
    expect(body.past).toMatchObject([
      { what: "ignored", by: "ada", reason: "the producer is mended", events: 12, redriveId: null },
    ]);
    expect(body.group.counts).toMatchObject({ PENDING: 0, IGNORED: 12 });
  });

  test("is of one source where that is asked for", async () => {
    const { body } = await detail("MOVED", "?source=billing");
    expect(body.group).toMatchObject({ verdict: "new", sources: ["billing"], counts: { PENDING: 8 } });
    expect(body.affected).toMatchObject({ events: 8 });
    expect(body.hours.reduce((sum, { count }) => sum + count, 0)).toBe(8);
  });

  test("of a group without events is not found", async () => {
    for (const fingerprint of ["0000000000000000", "no such/thing", "x".repeat(500)]) {
      const answer = await web.call(group.GET, { params: { fingerprint } });
      expect(answer).toMatchObject({ status: 404, body: { code: "unknown-group" } });
    }
  });

  test("is that of the group which stands for it, from a merge to a split", async () => {
    const letter = deadLetter({
      ...{ eventId: "other", errorCode: "STEADY" },
      error: { type: "Other", message: "another cause", stack: null },
    });
    await parkEvents(web.deps, [{ source: "orders", letter }], ADA);
    const [steady, other] = await list("?errorCode=STEADY");
    const [params, into] = [{ fingerprint: other!.fingerprint }, steady!.fingerprint];
    const refused = await web.call(merge.POST, { params, body: { into: "no such group", reason: "one cause" } });
    expect(refused).toMatchObject({ status: 400, body: { code: "invalid-request" } });
    const merged = await web.call(merge.POST, { params, body: { into, reason: "one cause" } });
    expect(merged).toMatchObject({ status: 200, body: { ...params, into } });
    const { body } = await web.call<GroupDetail>(group.GET, { params });
    expect(body).toMatchObject({
      group: { fingerprint: into, counts: { PENDING: 91 } },
      joined: { total: 1, items: [{ ...params, pattern: "another cause", reason: "merge", note: "one cause" }] },
    });
    expect(await web.call(merge.DELETE, { method: "DELETE", params })).toMatchObject({ status: 204 });
    const split = await web.call<GroupDetail>(group.GET, { params });
    expect(split.body).toMatchObject({ group: { ...params, counts: { PENDING: 1 } }, joined: { total: 0 } });
  });
});
