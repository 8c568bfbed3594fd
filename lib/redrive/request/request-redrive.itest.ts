import { describe, expect, test } from "vitest";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { localViewer, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import type { LaneQueue } from "@/lib/lane/port";
import type { Db } from "@/lib/platform/database/db";
import { readRedrive } from "@/lib/redrive/list/redrives.read";
import { planRedrive } from "@/lib/redrive/plan/plan-redrive";
import { redriveRequestSchema } from "@/lib/redrive/request/redrive-request.shapes";
import { FREEZE_INLINE_MAX, requestRedrive } from "@/lib/redrive/request/request-redrive";
import { deadLetter } from "@/lib/testing/letters";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const GONE = "0190a000-0000-7000-8000-00000000dead";

const world = worldOfEachTest();

describe("named events", () => {
  test("that are gone are counted as not-found by a redrive, once each", async () => {
    await world.park(3);
    const ids = [...(await world.idsOf()), GONE, GONE];
    expect(await world.request({ select: { ids } })).toMatchObject({
      total: 3,
      refused: 1,
      refusedByReason: { "not-found": 1 },
    });
  });

  test("that are gone are counted as not-found by ignoring", async () => {
    await world.park(3);
    const ids = [...(await world.idsOf()), GONE];
    const answer = await ignoreEvents(world.deps, { select: { ids }, reason: "not wanted" }, localViewer("ada"));
    expect(answer).toMatchObject({ changed: 3, refused: { "not-found": 1 } });
  });
});

test.each([5, 2_005])("a reason is asked by what is sent, not by what is selected: 2 of %i", async (selected) => {
  await world.park(selected);
  await world.db.run("insert into settings (key, value, updated_by) values ('reasonRequiredAbove', '2', 'ada')");
  const cool = (sent: number) =>
    world.db.run(
      `update dlq_events set cooldown_until = case when id in (select id from dlq_events order by id limit $1)
         then null else now() + interval '1 hour' end`,
      [sent],
    );
  const request = () =>
    requestRedrive(
      world.deps,
      { request: redriveRequestSchema.parse({ select: { filter: {} }, lane: "main" }), idempotency: null },
      localViewer("ada"),
    );
  await cool(3);
  await expect(request()).rejects.toMatchObject({ code: "invalid-request", fields: [{ field: "reason" }] });
  await cool(2);
  expect(await request()).toMatchObject({ total: selected > 2_000 ? null : selected });
});

test("a set that grows while it is requested is counted and frozen in one look, so that nothing is cut off", async () => {
  await world.park(1_999);
  const { db } = world.deps;
  // Events of an earlier moment that are committed late: they are within the cutoff, after the first look at the set.
  const parkLate = () => {
    const arrivals = [0, 1, 2, 3].map((index) => ({
      source: "orders",
      letter: deadLetter({ eventId: `late-${index}`, aggregateId: null, version: null }),
    }));
    return parkEvents(world.deps, arrivals, localViewer("tester"), { atMs: world.deps.clock.wallMs() - 5_000 });
  };
  let looks = 0;
  const watched: Db = {
    ...db,
    transaction: (work, options) =>
      db.transaction(async (tx) => {
        const query: typeof tx.query = async (text, values, settings) => {
          const rows = await tx.query(text, values, settings);
          if (text.includes("from dlq_event_rows e") && text.includes("limit") && looks++ === 0) await parkLate();
          return rows as never;
        };
        return work({ ...tx, query });
      }, options),
  };
  const request = redriveRequestSchema.parse({ select: { filter: {} }, lane: "main", reason: "stock is back" });
  const answer = await requestRedrive(
    { ...world.deps, db: watched },
    { request, idempotency: null },
    localViewer("ada"),
  );
  expect(looks).toBeGreaterThan(0);
  expect(answer.total).toBe(1_999);
});

test("a verify run is enqueued without a canary, since it has none", async () => {
  await world.park(2);
  const enqueued: string[] = [];
  const lane: LaneQueue = {
    ...world.deps.lane,
    enqueue: async (_lane, jobs) => void enqueued.push(...jobs.map((job) => job.kind)),
  };
  const asked = { select: { filter: {} }, mode: "verify", lane: "main", canary: true, reason: "a look" };
  const request = redriveRequestSchema.parse(asked);
  await requestRedrive({ ...world.deps, lane }, { request, idempotency: null }, localViewer("ada"));
  expect(enqueued).toEqual(["slice"]);
});

test.each([0, 1])(
  "a freeze that the server ends, since a mend holds its events (%i first), runs again",
  async (held) => {
    await world.park(2);
    const ids = await world.idsOf();
    let request: Promise<unknown> | undefined;
    const waits = (count: number) =>
      expect
        .poll(async () => (await world.db.query("select 1 from pg_locks where not granted")).length)
        .toBeGreaterThanOrEqual(count);
    await world.db.transaction(async (tx) => {
      // The server ends the transaction that has waited for this long: the other one.
      await tx.run("set local deadlock_timeout = '60s'");
      const lock = (id: string) => tx.run("select 1 from dlq_events where id = $1 for no key update", [id]);
      await lock(ids[held]!);
      request = world.request();
      await waits(1);
      await lock(ids[1 - held]!);
    });
    expect(await request).toMatchObject({ total: 2, refused: 0 });
  },
);

test("a large set that was searched for without the right to reveal keeps its groups until it is planned", async () => {
  const viewer: Viewer = { name: "reader", means: "token", sources: ["orders"], actions: ["view", "redrive"] };
  await world.park(FREEZE_INLINE_MAX + 1);
  const select = { filter: { q: "stock-service" } };
  const request = redriveRequestSchema.parse({ select, mode: "verify" });
  const { id } = await requestRedrive(world.deps, { request, idempotency: null }, viewer);
  const asked = { q: "stock-service", source: ["orders"] };
  const stored = async () =>
    (await world.db.query<{ selection: object }>("select selection - 'asOfMs' as selection from redrives"))[0]!
      .selection;
  expect(await stored()).toEqual({ filter: { fingerprint: [expect.any(String)], source: ["orders"] }, asked });
  expect((await readRedrive(world.db, viewer, id, Date.now())).selection).toEqual({ filter: asked });
  await planRedrive(world.deps, id, new AbortController().signal);
  expect(await stored()).toEqual({ filter: asked });
  expect(await readRedrive(world.db, viewer, id, Date.now())).toMatchObject({ total: FREEZE_INLINE_MAX + 1 });
});
