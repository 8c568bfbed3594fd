import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { compareRedrives } from "@/lib/redrive/list/compare-redrives.read";
import { reviseEvents } from "@/lib/repair/revisions/revise-events.write";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const world = worldOfEachTest({ invariants: false });

const viewer = localViewer("ada");
const compare = (id: string, other: string | null = null) => compareRedrives(world.db, viewer, { id, other });
async function verify(eventIds?: string[]) {
  const { id } = await world.request({ mode: "verify", select: { ids: await world.idsOf(eventIds) } });
  await world.ended(id);
  return id;
}

test("a dry run after a mend and a control says what passes now, what does not any more, and which revision it judged", async () => {
  const sourceId = (await world.db.query<{ id: string }>("select id from sources"))[0]!.id;
  await world.db.run(
    `insert into payload_schemas (id, source_id, version, body, current, origin, created_by)
     values ($1, $2, 1, '{"required": ["amount"]}', true, 'uploaded', 'tester')`,
    [randomUUID(), sourceId],
  );
  const old = (index: number) => Buffer.from(index < 6 ? '{"ammount": 1}' : '{"amount": 1}');
  await world.park(10, (index) => ({ payload: old(index) }));
  await world.worker();
  const first = await verify();
  expect(await compare(first)).toMatchObject({ with: null, onlyNow: 10, stillPassing: 0 });

  const ids = await world.idsOf(["event-0000", "event-0001"]);
  await world.db.transaction((tx) =>
    reviseEvents(tx, {
      ...{ cause: "edit", actor: "ada", reason: null, operationId: null, atMs: Date.now() },
      revisions: ids.map((id) => ({
        ...{
          id,
          base: 1,
          payload: Buffer.from('{"amount": 1}'),
          contentType: "application/json",
          headers: [],
          patch: null,
        },
      })),
    }),
  );
  const revised = ids;
  await world.db.run("update dlq_events set cooldown_until = now() + interval '1 hour' where event_id = any($1)", [
    ["event-0002", "event-0009"],
  ]);
  const second = await verify();
  const said = await compare(second);
  expect(said).toMatchObject({
    with: { id: first, mode: "verify", createdBy: "ada" },
    newlyPassing: { count: 2, revised: 2, byReason: { "schema-mismatch": 2 } },
    newlyRefused: { count: 1, revised: 0, byReason: { cooling: 1 } },
    otherReason: { count: 1, byReason: { "schema-mismatch -> cooling": 1 } },
    stillPassing: 3,
    stillRefused: { "schema-mismatch": 3 },
    onlyNow: 0,
    onlyBefore: 0,
  });
  expect(said.newlyPassing.samples.map(({ id }) => id).sort()).toEqual([...revised].sort());
  expect(said.newlyPassing.samples[0]).toMatchObject({
    before: { passes: false, reason: "schema-mismatch", revision: 1 },
    now: { passes: true, reason: null, revision: 2 },
  });

  const part = await verify(["event-0000", "event-0007"]);
  expect(await compare(part)).toMatchObject({ with: { id: second }, stillPassing: 2, onlyBefore: 8 });
  expect(await compare(part, first)).toMatchObject({
    with: { id: first },
    newlyPassing: { count: 1 },
    stillPassing: 1,
  });
  const { id: sent } = await world.request({ select: { ids: await world.idsOf(["event-0000"]) } });
  await world.ended(sent);
  expect(await compare(sent)).toMatchObject({ redrive: { mode: "deliver" }, with: { id: part }, stillPassing: 1 });
});

test("a redrive that its viewer does not see is compared with nothing", async () => {
  await world.park(1);
  await world.worker();
  const id = await verify();
  const blind = { ...viewer, sources: ["billing"] };
  await expect(compareRedrives(world.db, blind, { id, other: null })).rejects.toMatchObject({
    code: "unknown-redrive",
  });
  await expect(compare(id, randomUUID())).rejects.toMatchObject({ code: "unknown-redrive" });
});
