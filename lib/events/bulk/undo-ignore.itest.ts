import { expect, test } from "vitest";
import { ignoreEvents, releaseEvents } from "@/lib/events/bulk/ignore-events";
import { BULK_NOW_MAX } from "@/lib/events/events.shapes";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const world = worldOfEachTest();

const limits = () =>
  world.db.query("select status, failures, redrives, cooldown_until from dlq_events order by id desc limit 2");

test("an ignore is taken back by the ids that changed, with failures and cooldown as they were", async () => {
  await world.park(3);
  const [first, second, third] = (await world.idsOf()) as [string, string, string];
  await world.db.query(
    `update dlq_events set failures = 2, redrives = 3, cooldown_until = '2031-05-04T03:02:01Z' where id = any($1::uuid[])`,
    [[second, third]],
  );
  const before = await limits();
  await ignoreEvents(world.deps, { select: { ids: [first] }, reason: "known before" }, localViewer("ada"));

  const answer = await ignoreEvents(world.deps, { select: { filter: {} }, reason: "a slip" }, localViewer("ada"));
  expect(answer).toMatchObject({
    changed: 2,
    refused: { "already-ignored": 1 },
    ids: expect.arrayContaining([second, third]),
  });
  const undone = { select: { ids: answer.ids! }, reason: "undone", keepLimits: true };
  expect(await releaseEvents(world.deps, undone, localViewer("ada"))).toMatchObject({ changed: 2, refused: {} });
  expect(await limits()).toEqual(before);
  expect(await world.statuses()).toEqual({ IGNORED: 1, PENDING: 2 });
});

test("a release without keepLimits lets them start anew", async () => {
  await world.park(2);
  await world.db.query("update dlq_events set failures = 2, redrives = 3, status = status");
  await ignoreEvents(world.deps, { select: { filter: {} }, reason: "not wanted" }, localViewer("ada"));
  await releaseEvents(world.deps, { select: { filter: {} }, reason: "repaired" }, localViewer("ada"));
  expect(await limits()).toEqual([
    { status: "PENDING", failures: 0, redrives: 0, cooldown_until: null },
    { status: "PENDING", failures: 0, redrives: 0, cooldown_until: null },
  ]);
});

test("more than can be named again are answered with their operation, never with a part of the ids", async () => {
  await world.park(BULK_NOW_MAX + 1);
  const answer = await ignoreEvents(world.deps, { select: { filter: {} }, reason: "not wanted" }, localViewer("ada"));
  expect(answer).toMatchObject({ id: expect.any(String), state: "RUNNING", changed: 0, ids: null });
  expect(await world.statuses()).toEqual({ PENDING: BULK_NOW_MAX + 1 });
});
