import { expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { writeHeartbeat } from "@/lib/observe/health/heartbeat.write";
import { uuidv7 } from "@/lib/platform/ids";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { noteSources } from "@/lib/redrive/plan/freeze-events.write";
import { worldOfEachTest } from "@/lib/testing/redrive-world";
import { storeOpenSend } from "@/lib/testing/sends";
import { takeItems } from "@/lib/testing/slice-items";

/** No worker is running here: each cause is put in place by hand, and what the redrive says of it is read. */
const world = worldOfEachTest({ ratePerSecond: 20, invariants: false });

type Targets = Parameters<typeof writeHeartbeat>[1]["info"]["targets"];
const worker = uuidv7(Date.now());
const beat = (targets: unknown = {}) =>
  writeHeartbeat(world.db, {
    id: worker,
    startedAtMs: Date.now(),
    info: { running: 1, targets: targets as Targets, bucket: "shared" },
  });

/** Three events of one redrive that runs for a minute and has sent nothing. */
async function stuck(): Promise<string> {
  await world.park(3, (index) => ({ aggregateId: `order-${index}`, version: 1n }));
  const { id } = await world.request();
  await world.db.run("update redrives set state = 'RUNNING', started_at = now() - interval '1 minute' where id = $1", [
    id,
  ]);
  return id;
}
const stalled = async (id: string) => (await world.redrive(id)).stalled;

test("no worker, then a worker that reports nothing in the way, then the person who paused it and why", async () => {
  const id = await stuck();
  expect(await stalled(id)).toMatchObject({ code: "no-worker" });
  await beat();
  expect(await stalled(id)).toMatchObject({ code: "unknown" });
  for (const item of await takeItems(world.db, { redriveId: id })) await storeOpenSend(world.db, item);
  expect(await stalled(id)).toMatchObject({ code: "in-hand", text: expect.stringContaining("3 events are") });
  const pause = { action: "pause", reason: "stock is down again" } as const;
  await changeRedrive(world.deps, { id, change: pause }, localViewer("maria"));
  const text = expect.stringContaining("Paused by maria: stock is down again");
  expect(await stalled(id)).toMatchObject({ code: "paused", text });
});

test("what was refused when it was frozen is no movement", async () => {
  await world.park(4, (index) => ({ eventId: `late-${index}`, aggregateId: null }));
  await world.db.run("update dlq_events set status = 'IGNORED' where event_id = 'late-0'");
  const { id, refused } = await world.request();
  expect(refused).toBe(1);
  await world.db.run("update redrives set started_at = now() - interval '1 minute' where id = $1", [id]);
  await beat();
  expect(await stalled(id)).toMatchObject({ code: "unknown" });
});

test("a breaker that is open, by its target or held by a person", async () => {
  const id = await stuck();
  const breaker = { state: "open", forced: false, waitMs: 30_000 };
  await beat({ orders: { breaker } });
  const shown = await stalled(id);
  expect(shown).toMatchObject({ code: "breaker-open", target: "orders" });
  expect(Date.parse(shown!.until!)).toBeGreaterThan(Date.now());
  await beat({ orders: { breaker: { state: "closed", forced: false, waitMs: null } } });
  await world.db.run("update targets set breaker_force = 'open' where name = 'orders'");
  expect(await stalled(id)).toMatchObject({
    code: "breaker-open",
    until: null,
    text: expect.stringContaining("Someone"),
  });
});

test("items that wait for a time, a canary that is used up, another redrive that comes first", async () => {
  const id = await stuck();
  await beat();
  await world.db.run("update open_items set not_before = now() + interval '90 s' where redrive_id = $1", [id]);
  expect(await stalled(id)).toMatchObject({ code: "deferred", until: expect.any(String) });
  await world.db.run("update redrives set released = 1, delivered = 1, total = 4 where id = $1", [id]);
  expect(await stalled(id)).toMatchObject({ code: "canary-waits" });
  await world.db.run("update redrives set released = null, delivered = 0, total = 3 where id = $1", [id]);
  await world.db.run("update open_items set not_before = null where redrive_id = $1", [id]);

  await world.park(1, () => ({ eventId: "other", aggregateType: "customer", aggregateId: "order-2", version: 0n }));
  await world.request({ select: { filter: { eventId: ["other"] } } });
  expect(await stalled(id)).toMatchObject({ code: "unknown", redriveId: null });
  await world.park(1, () => ({ eventId: "earlier", aggregateId: "order-2", version: 0n }));
  const first = await world.request({ select: { filter: { eventId: ["earlier"] } } });
  expect(await stalled(id)).toMatchObject({ code: "blocked", redriveId: first.id });
});

test("a redrive of which every looked-at item waits for a time waits as a whole", async () => {
  await world.park(1_100, () => ({ aggregateId: null }));
  const { id } = await world.request();
  await world.db.run("update redrives set state = 'RUNNING', started_at = now() - interval '1 minute' where id = $1", [
    id,
  ]);
  await world.db.run("update open_items set not_before = now() + interval '90 s' where redrive_id = $1", [id]);
  await beat();
  expect(await stalled(id)).toMatchObject({ code: "deferred", text: expect.stringContaining("1,100 of 1,100 open") });
});

test("one source that is stopped stops no redrive that sends those of another, however the slices lie", async () => {
  await world.source("billing");
  await world.park(300);
  await world.park(3, (index) => ({ eventId: `bill-${index}` }), "billing");
  const { id } = await world.request();
  await world.db.run("update redrives set state = 'RUNNING', started_at = now() - interval '1 minute' where id = $1", [
    id,
  ]);
  await world.db.run(
    `update open_items set slice = 99 where redrive_id = $1 and source_id = (select id from sources where name = 'billing')`,
    [id],
  );
  await beat();
  await world.db.run(
    `insert into stops (scope, target_id, reason, created_by, created_at)
     select id::text, id, 'stock is down', 'ada', now() from targets where name = 'orders'`,
  );
  const sent = (at: string) =>
    world.db.run(`insert into redrive_ticks (redrive_id, at, delivered, failed, refused) values ($1, ${at}, 1, 0, 0)`, [
      id,
    ]);
  await sent("now()");
  expect(await stalled(id)).toBeNull();
  expect(await world.redrive(id)).toMatchObject({ places: 40, laneRates: { main: 40 } });
  await world.db.run("delete from redrive_ticks");
  await world.db.run("delete from open_items where redrive_id = $1 and slice = 99", [id]);
  expect(await stalled(id)).toMatchObject({ code: "stopped", target: "orders" });
});

test("a plan that a worker of before began has the sources of all its items noted", async () => {
  await world.source("billing");
  await world.park(2);
  await world.park(2, (index) => ({ eventId: `bill-${index}` }), "billing");
  const { id } = await world.request({ select: { filter: { source: ["billing"] } } });
  await world.db.run("update redrives set queued_sources = null where id = $1", [id]);
  const [orders] = await world.db.query<{ id: string }>("select id from sources where name = 'orders'");
  await world.db.transaction((tx) => noteSources(tx, id, [orders!.id]));
  const noted = await world.db.query<{ name: string }>(
    "select s.name from redrives r join sources s on s.id = any(r.queued_sources) where r.id = $1 order by 1",
    [id],
  );
  expect(noted.map(({ name }) => name)).toEqual(["billing", "orders"]);
});
