import { beforeEach, expect, test } from "vitest";
import { readHistory } from "@/lib/events/detail/event-history.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { changeTarget } from "@/lib/sources/targets/change-target";
import type { TargetChange } from "@/lib/sources/targets/targets.shapes";
import { mendAllLines } from "@/lib/testing/lines";
import { UNGUARDED, worldOfEachTest } from "@/lib/testing/redrive-world";
import { type Sink, startSink } from "@/lib/testing/sink";

/** What becomes of sends while their target takes none: nothing is sent twice, and no aggregate out of its order. */

let slow: Sink;
const world = worldOfEachTest({ afterwards: () => slow.stop() });

beforeEach(async () => {
  slow = await startSink();
  await world.db.run(
    "update sources set config = config || jsonb_build_object('slowLaneUrl', $1::text), updated_at = now()",
    [slow.url],
  );
});

const change = (part: Omit<TargetChange, "reason">) =>
  changeTarget(world.deps, { name: "orders", change: { ...part, reason: "tested" } }, localViewer("ada"));

const noBudget = () =>
  world.policy({
    ...UNGUARDED,
    budget: { kind: "quota", capacity: 0, cost: { transient: 1, throttled: 1 }, reward: 0 },
  });

const subjectOf = async (id: string) => {
  const [row] = await world.db.query<Parameters<typeof readHistory>[1]>(
    `select e.id, e.event_id as "eventId", e.source_id as "sourceId", s.name as source, e.aggregate_type as "aggregateType",
            e.aggregate_id as "aggregateId", e.error_code as "errorCode", e.first_seen as "firstSeenMs"
       from dlq_events e join sources s on s.id = e.source_id where e.id = $1`,
    [id],
  );
  return row!;
};
const history = async (eventId: string) => {
  const [id] = await world.idsOf([eventId]);
  return (await readHistory(world.db, await subjectOf(id!))).history.map((entry) => entry.text).join("\n");
};
const ids = (sink: Sink) => sink.arrived.map(({ eventId }) => eventId).sort();

test("an open breaker sends to the slow lane, once each, and the history says why", async () => {
  await change({ fallback: { kind: "slow-lane" } });
  await change({ breaker: "open" });
  await world.park(6);
  await world.worker();
  expect(await world.ended((await world.request()).id)).toMatchObject({ delivered: 6, refused: 0, failed: 0 });
  expect(world.sink.arrived).toEqual([]);
  expect(ids(slow)).toEqual([0, 1, 2, 3, 4, 5].map((n) => `event-000${n}`));
  expect(await history("event-0003")).toMatch(/to orders\.slow sent/);
  expect(await history("event-0003")).toMatch(
    /sent to orders\.slow instead of orders: someone holds the breaker of orders open/,
  );
});

test("an aggregate keeps to the target of its last event until that is confirmed", async () => {
  await change({ fallback: { kind: "slow-lane" } });
  await world.park(3, (index) => ({ aggregateType: "order", aggregateId: "o-1", version: BigInt(index + 1) }));
  await world.worker();
  const first = await world.idsOf(["event-0000"]);
  await world.ended((await world.request({ select: { ids: first } })).id);
  expect(ids(world.sink)).toEqual(["event-0000"]);
  await change({ breaker: "open" });
  // Held for longer than a worker may go without reading its targets again.
  const { id } = await world.request({
    select: { ids: await world.idsOf(["event-0001", "event-0002"]) },
    holdMs: 600,
  });
  await expect
    .poll(() => world.db.query("select 1 from slice_owners where redrive_id = $1 and epoch >= 2", [id]))
    .not.toEqual([]);
  expect(slow.arrived).toEqual([]);
  await world.db.run("update dlq_events set confirmed_at = now() where id = $1", [first[0]]);
  await mendAllLines(world.db);
  expect(await world.ended(id)).toMatchObject({ delivered: 2 });
  expect(slow.arrived.map(({ eventId }) => eventId)).toEqual(["event-0001", "event-0002"]);
  expect(ids(world.sink)).toEqual(["event-0000"]);
});

test("without a retry budget what did not arrive goes to the named target, and is not sent to its own again", async () => {
  await noBudget();
  await world.source("billing", { url: slow.url });
  await change({ fallback: { kind: "target", target: "billing" } });
  await world.park(3);
  world.sink.answer = () => 503;
  await world.worker();
  expect(await world.ended((await world.request()).id)).toMatchObject({ delivered: 3, failed: 0 });
  expect(ids(world.sink)).toEqual(["event-0000", "event-0001", "event-0002"]);
  expect(ids(slow)).toEqual(ids(world.sink));
  const story = await history("event-0001");
  expect(story).toMatch(/Attempt 1 to orders failed.*the retry budget of the target is spent/);
  expect(story).toMatch(/Attempt 2 to billing sent/);
});

test("a fallback that cannot be is refused with the way out, and each change of one is audited", async () => {
  await expect(change({ fallback: { kind: "target", target: "nowhere" } })).rejects.toThrow(
    /there is no target nowhere/,
  );
  await expect(change({ fallback: { kind: "target", target: "orders" } })).rejects.toThrow(
    /cannot be its own fallback/,
  );
  await change({ fallback: { kind: "defer", deferMs: 5_000 } });
  const [entry] = await world.db.query<{ before: object; after: object }>(
    "select before, after from audit_entries where action = 'target.changed'",
  );
  expect(entry).toMatchObject({ before: { fallback: null }, after: { fallback: { kind: "defer", deferMs: 5_000 } } });
});
