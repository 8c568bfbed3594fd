import { describe, expect, test } from "vitest";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { readSettings } from "@/lib/guard/settings/settings.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { type ParkOutcome, parkEvents } from "@/lib/intake/park-events";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { eventAfter } from "@/lib/redrive/run/event-after.pure";
import { finishItems } from "@/lib/redrive/run/finish";
import type { SliceItem } from "@/lib/redrive/run/store/slice-items.read";
import { editEvent } from "@/lib/repair/revisions/revise-event";
import { deadLetter } from "@/lib/testing/letters";
import { worldOfEachTest } from "@/lib/testing/redrive-world";
import { takeItems } from "@/lib/testing/slice-items";

const world = worldOfEachTest();
const ADA = localViewer("ada");

const letterOf = (n: number, change: Partial<DeadLetter> = {}) =>
  deadLetter({
    eventId: "same",
    aggregateId: null,
    version: null,
    payload: Buffer.from(`{"n":${n}}`),
    contentType: "application/json",
    ...change,
  });
/** What a letter was; of one with other bytes its revision, with a star when it is the current one. */
async function park(...letters: DeadLetter[]): Promise<string[]> {
  const arrivals = letters.map((letter) => ({ source: "orders", letter }));
  const words = (outcome: ParkOutcome) =>
    typeof outcome === "string" ? outcome : `changed ${outcome.revision}${outcome.current ? "*" : ""}`;
  return (await parkEvents(world.deps, arrivals, localViewer("tester"))).map(words);
}

type Kept = { revision: number; cause: string; base: number | null; text: string; current: boolean };
const revisions = () =>
  world.db.query<Kept>(
    `select r.revision, r.cause, r.base, convert_from(r.payload, 'UTF8') as text, r.revision = e.revision as current
       from dlq_events e
       cross join lateral (
         select 1 as revision, 'arrived' as cause, null::int as base, b.payload from dlq_event_bodies b where b.id = e.id
         union all
         select v.revision, v.cause, v.base, v.payload from event_revisions v where v.id = e.id) r
      where e.event_id = 'same' order by r.revision`,
  );
const texts = async () => (await revisions()).map(({ text, current }) => `${text}${current ? "*" : ""}`);
const idOf = async () => (await world.idsOf(["same"]))[0]!;

const claim = (redriveId: string) => takeItems(world.db, { redriveId, slices: [0, 0], limit: 100 });
async function deliver(redriveId: string, items: readonly SliceItem[]): Promise<void> {
  const settings = await readSettings(world.db);
  const outcome = { kind: "delivered", code: "HTTP 202" } as const;
  const batch = items.map((item) => {
    const after = eventAfter(outcome, item, settings, Date.now());
    return { item, outcome, after, attempts: 1, findings: [], closes: [] };
  });
  await finishItems(world.deps, redriveId, batch);
}
async function redrive(): Promise<string> {
  const { id } = await world.request({ select: { ids: [await idOf()] } });
  await deliver(id, await claim(id));
  return id;
}

describe("a letter of a known event with other bytes", () => {
  // MicrosoftDocs/azure-docs#15127: a second message under a known id was dropped without a trace.
  test("is a revision and is what goes, in one batch and in two", async () => {
    expect(await park(letterOf(1), letterOf(2))).toEqual(["parked", "changed 2*"]);
    expect(await park(letterOf(3))).toEqual(["changed 3*"]);
    expect(await revisions()).toEqual([
      { revision: 1, cause: "arrived", base: null, text: '{"n":1}', current: false },
      { revision: 2, cause: "arrived", base: 1, text: '{"n":2}', current: false },
      { revision: 3, cause: "arrived", base: 2, text: '{"n":3}', current: true },
    ]);
    await world.worker();
    const { id } = await world.request();
    await world.ended(id);
    expect(world.sink.arrived.map(({ key, body }) => [key, body])).toEqual([["orders:same:r3", '{"n":3}']]);
  });

  test("is a duplicate when it comes again, and so is a late repeat of an earlier one", async () => {
    await park(letterOf(1), letterOf(2));
    expect(await park(letterOf(2), letterOf(1), letterOf(2), letterOf(1))).toEqual(Array(4).fill("duplicate"));
    expect(await texts()).toEqual(['{"n":1}', '{"n":2}*']);
    const flow = await world.db.query("select kind, sum(n)::int as n from dlq_flow group by kind order by kind");
    expect(flow).toEqual([
      { kind: "duplicate", n: 5 },
      { kind: "parked", n: 1 },
    ]);
  });

  test("is compared by the hashes beside the revisions: no bytes are read, but of a revision of an earlier release", async () => {
    await park(letterOf(1), letterOf(2), letterOf(3));
    await world.db.run("update event_revisions set hash = null where revision = 2");
    await world.db.run("update event_revisions set hash = sha256($1) where revision = 3", [Buffer.from('{"n":7}')]);
    expect(await park(letterOf(2), letterOf(7))).toEqual(["duplicate", "duplicate"]);
    expect(await park(letterOf(3))).toEqual(["changed 4*"]);
    const bounce = { redrive: { redriveId: await redrive(), attempt: 1 } };
    expect(await park(letterOf(7, bounce))).toEqual(["bounced"]);
    expect(await texts()).toHaveLength(4);
  });

  test("differs by its content type, too, and goes with headers of its own", async () => {
    await park(letterOf(1, { headers: [["tenant", "a"]] }));
    expect(await park(letterOf(1, { contentType: "text/plain", headers: [["tenant", "b"]] }))).toEqual(["changed 2*"]);
    const rows = await world.db.query("select content_type, headers from event_revisions");
    expect(rows).toEqual([{ content_type: "text/plain", headers: [["tenant", "b"]] }]);
  });

  test("stays beside what a person has edited, which goes", async () => {
    await park(letterOf(1));
    const id = await idOf();
    const edit = { base: 1, text: '{"n":"mended"}', reason: "wrong number", headersMax: 200 };
    await editEvent(world.deps, { id, ...edit }, ADA);
    expect(await park(letterOf(2))).toEqual(["changed 3"]);
    expect(await texts()).toEqual(['{"n":1}', '{"n":"mended"}*', '{"n":2}']);
    expect(await revisions()).toMatchObject([{}, {}, { base: 2, cause: "arrived" }]);
    expect(await park(letterOf(4))).toEqual(["changed 4"]);
  });

  test("of an IGNORED event is kept, and the event stays IGNORED", async () => {
    await park(letterOf(1));
    await ignoreEvents(world.deps, { select: { ids: [await idOf()] }, reason: "never" }, ADA);
    expect(await park(letterOf(2))).toEqual(["changed 2*"]);
    expect(await world.event("same")).toMatchObject({ status: "IGNORED", revision: 2 });
  });

  test("of a queued event does not change what the redrive sends; its end parks the event again", async () => {
    await park(letterOf(1));
    const { id } = await world.request();
    const items = await claim(id);
    expect(await park(letterOf(2))).toEqual(["changed 2*"]);
    expect(items).toMatchObject([{ revision: 1 }]);
    await deliver(id, items);
    expect(await world.event("same")).toMatchObject({ status: "PENDING", revision: 2, bounces: 0, redrives: 1 });
    expect(await world.redrive(id)).toMatchObject({ state: "DONE", delivered: 1, bounced: 0 });
    await redrive();
    expect(await world.event("same")).toMatchObject({ status: "REDRIVEN", revision: 2 });
  });

  test("of a queued event whose edit goes leaves it REDRIVEN", async () => {
    await park(letterOf(1));
    await editEvent(
      world.deps,
      { id: await idOf(), base: 1, text: '{"n":"mended"}', reason: "wrong", headersMax: 200 },
      ADA,
    );
    const { id } = await world.request();
    const items = await claim(id);
    expect(await park(letterOf(2))).toEqual(["changed 3"]);
    await deliver(id, items);
    expect(await world.event("same")).toMatchObject({ status: "REDRIVEN", revision: 2 });
  });

  test("of one that was redriven parks it again, and counts as no failure when it is from before the send", async () => {
    const at = (offset: string) => ({ deadLetter: { topic: "orders.DLT", partition: 0, offset } });
    await park(letterOf(1, { origin: at("1") }), letterOf(2, { origin: at("2") }));
    const id = await redrive();
    // The log is read again from its beginning: these letters are known by their places.
    expect(await park(letterOf(1, { origin: at("1") }), letterOf(2, { origin: at("2") }))).toEqual([
      "duplicate",
      "duplicate",
    ]);
    // Made anew, the log has other bytes at a known place.
    expect(await park(letterOf(3, { origin: at("1") }))).toEqual(["bounced"]);
    expect(await world.event("same")).toMatchObject({ status: "PENDING", bounces: 1, failures: 0, revision: 3 });
    expect(await world.redrive(id)).toMatchObject({ delivered: 1, bounced: 0 });
    expect(await texts()).toEqual(['{"n":1}', '{"n":2}', '{"n":3}*']);
  });

  test("of two processes with the same bytes one makes a revision, and with different bytes both do", async () => {
    await park(letterOf(1));
    const equal = await Promise.all([park(letterOf(2)), park(letterOf(2)), park(letterOf(2))]);
    expect(equal.flat().sort()).toEqual(["changed 2*", "duplicate", "duplicate"]);
    const others = await Promise.all([3, 4, 5].map((n) => park(letterOf(n))));
    expect(others.flat().sort()).toEqual(["changed 3*", "changed 4*", "changed 5*"]);
    expect(await revisions()).toHaveLength(5);
    expect(await world.event("same")).toMatchObject({ revision: 5 });
  });

  test("brings none of a bounce's bytes twice: bytes of an earlier revision change nothing", async () => {
    await park(letterOf(1), letterOf(2));
    const redriveId = await redrive();
    expect(await park(letterOf(1, { redrive: { redriveId, attempt: 1 } }))).toEqual(["bounced"]);
    expect(await texts()).toEqual(['{"n":1}', '{"n":2}*']);
  });
});
