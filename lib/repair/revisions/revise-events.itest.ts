import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type NewRevision, reviseEvents, setRevisions } from "@/lib/repair/revisions/revise-events.write";
import { type EventBody, readBodies } from "@/lib/selection/bodies.read";
import { openWorld, type World } from "@/lib/testing/redrive-world";

let world: World;
beforeAll(async () => {
  world = await openWorld({ redisUrl: null });
});
afterAll(() => world.close());

let ids: string[];
beforeEach(async () => {
  await world.db.run(
    "truncate dlq_events, dlq_event_facts, dlq_event_bodies, event_revisions, event_keys, redrive_items",
  );
  await world.park(3, () => ({ payload: Buffer.from("as it arrived") }));
  ids = await world.idsOf();
});

const revise = (revisions: (Pick<NewRevision, "id" | "base"> & { text: string })[]) =>
  world.db.transaction((tx) =>
    reviseEvents(tx, {
      ...{ cause: "edit", actor: "ada", reason: "a field was renamed", operationId: null, atMs: 1_795_000_000_000 },
      revisions: revisions.map(({ text, ...revision }) => ({
        ...revision,
        payload: Buffer.from(text),
        contentType: "text/x-mended",
        headers: [["mended", "yes"]],
        patch: { by: "hand" },
      })),
    }),
  );
const restore = (id: string, from: number, to: number) =>
  world.db.transaction((tx) => setRevisions(tx, [{ id, from, to }], "bea"));
const current = () => world.db.query("select revision, last_operator from dlq_events order by id");

test("a revision becomes the current one of its event, numbers are not used twice, and each one's bytes stay", async () => {
  const [first, second] = ids as [string, string];
  expect(
    await revise([
      { id: first, base: 1, text: "two" },
      { id: second, base: 1, text: "zwei" },
    ]),
  ).toEqual([
    { id: first, revision: 2, refusal: null },
    { id: second, revision: 2, refusal: null },
  ]);
  expect(await restore(first, 2, 1)).toEqual([{ id: first, revision: 1, refusal: null }]);
  expect(await revise([{ id: first, base: 1, text: "three" }])).toEqual([{ id: first, revision: 3, refusal: null }]);
  expect(await current()).toEqual([
    { revision: 3, last_operator: "ada" },
    { revision: 2, last_operator: "ada" },
    { revision: 1, last_operator: null },
  ]);
  const textOf = async (revision: number) => {
    const body = (await readBodies(world.db, [{ id: first, revision }])).get(first);
    return body && "payload" in body && Buffer.from(body.payload).toString();
  };
  expect([await textOf(1), await textOf(2), await textOf(3), await textOf(4)]).toEqual([
    "as it arrived",
    "two",
    "three",
    undefined,
  ]);
  const sizes = await world.db.query("select payload_bytes from dlq_event_facts order by id");
  expect(sizes.map(({ payload_bytes }) => payload_bytes)).toEqual([5, 4, 13]);
});

test("of an event whose numbers end, the highest number that is free is taken, and its neighbours lose nothing", async () => {
  const [first, second] = ids as [string, string];
  const last = 2_147_483_647;
  await world.db.run(
    `insert into event_revisions (id, revision, cause, base, actor, at, payload, content_type)
     select $1, n, 'edit', 1, 'ada', now(), n::text::bytea, 'text/plain' from unnest($2::int[]) as n`,
    [first, [2, last - 2, last]],
  );
  await world.db.run("update dlq_events set revision = $2 where id = $1", [first, last]);
  expect(
    await revise([
      { id: first, base: last, text: "next" },
      { id: second, base: 1, text: "zwei" },
    ]),
  ).toEqual([
    { id: first, revision: last - 1, refusal: null },
    { id: second, revision: 2, refusal: null },
  ]);
  expect(await revise([{ id: first, base: last - 1, text: "one more" }])).toEqual([
    { id: first, revision: last - 3, refusal: null },
  ]);
  expect(await restore(first, last - 3, last)).toEqual([{ id: first, revision: last, refusal: null }]);
  const stored = await readBodies(world.db, [{ id: first, revision: last - 3 }]);
  expect(Buffer.from((stored.get(first) as EventBody).payload).toString()).toBe("one more");
});

test("of a message that is changed at its place it is known whether it may hold another revision by now", async () => {
  await world.db.run(`update dlq_event_bodies set origin = '{"payloadMark":"as-parked"}'`);
  await revise([{ id: ids[0]!, base: 1, text: "two" }]);
  await restore(ids[0]!, 2, 1);
  const bodies = await readBodies(
    world.db,
    ids.map((id) => ({ id, revision: 1 })),
  );
  expect(ids.map((id) => (bodies.get(id) as EventBody).revised)).toEqual([true, false, false]);
});

test("who has not seen the current revision is refused, and so is a revision of an event that is queued or redriven", async () => {
  const [first, second, third] = ids as [string, string, string];
  await revise([{ id: first, base: 1, text: "two" }]);
  await world.db.run("update dlq_events set status = 'QUEUED' where id = $1", [second]);
  await world.db.run("update dlq_events set status = 'REDRIVEN' where id = $1", [third]);
  const unknown = "019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b00";
  const outcomes = await revise([first, second, third, unknown].map((id) => ({ id, base: 1, text: "late" })));
  expect(outcomes).toEqual([
    { id: first, refusal: "stale-revision", current: 2 },
    { id: second, refusal: "event-queued", current: 1 },
    { id: third, refusal: "already-redriven", current: 1 },
    { id: unknown, refusal: "not-found", current: null },
  ]);
  expect(await restore(first, 1, 2)).toEqual([{ id: first, refusal: "stale-revision", current: 2 }]);
  expect(await restore(first, 2, 3)).toEqual([{ id: first, refusal: "unknown-revision", current: 2 }]);
  expect(await world.db.query("select count(*) as n from event_revisions")).toEqual([{ n: 1 }]);
});

test("a revision ends the cooldown and the mark of bytes that failed, and no limit", async () => {
  await world.db.run(
    "update dlq_events set cooldown_until = now() + interval '1 hour', failures = 2, redrives = 2, admission = 'early'",
  );
  await world.db.run("update dlq_events set admission = 'confirm' where id = $1", [ids[1]]);
  await revise(ids.slice(0, 2).map((id) => ({ id, base: 1, text: "two" })));
  expect(
    await world.db.query(
      "select cooldown_until is not null as cools, admission, failures, redrives from dlq_events order by id",
    ),
  ).toEqual([
    { cools: false, admission: null, failures: 2, redrives: 2 },
    { cools: false, admission: "confirm", failures: 2, redrives: 2 },
    { cools: true, admission: "early", failures: 2, redrives: 2 },
  ]);
});

test("of many who edit the same revision at once, one wins and the others are told", async () => {
  const outcomes = await Promise.all(
    Array.from({ length: 5 }, (_, who) => revise([{ id: ids[0]!, base: 1, text: `by ${who}` }])),
  );
  const won = outcomes.flat().filter(({ refusal }) => refusal === null);
  expect(won).toHaveLength(1);
  expect(await world.db.query("select revision from event_revisions")).toEqual([{ revision: 2 }]);
});
