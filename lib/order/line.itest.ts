import { afterAll, beforeAll, expect, test } from "vitest";
import { ignoreEvents, releaseEvents } from "@/lib/events/bulk/ignore-events";
import { readSettings } from "@/lib/guard/settings/settings.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { confirmEvents } from "@/lib/intake/confirm-events";
import { parkEvents } from "@/lib/intake/park-events";
import { deleteStored } from "@/lib/keep/forget/forgotten-events.write";
import { readAggregateOrder } from "@/lib/order/aggregate-order.read";
import { LAST_PLACE, linesOf, PART } from "@/lib/order/line.sql";
import { LINES_START, mendLines } from "@/lib/order/lines.write";
import { skipHead, undoSkip } from "@/lib/order/skip-head";
import { cancelItems } from "@/lib/redrive/life/cancel-items";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { eventAfter } from "@/lib/redrive/run/event-after.pure";
import { finishItems } from "@/lib/redrive/run/finish";
import type { SliceItem } from "@/lib/redrive/run/store/slice-items.read";
import { editEvent } from "@/lib/repair/revisions/revise-event";
import { editRequestSchema } from "@/lib/repair/revisions/revisions.shapes";
import type { ItemOutcome } from "@/lib/states/item-outcome.pure";
import { deadLetter } from "@/lib/testing/letters";
import { lineFaults, mendAllLines } from "@/lib/testing/lines";
import { openWorld, type World } from "@/lib/testing/redrive-world";
import { countingRows } from "@/lib/testing/rows-looked-at";
import { takeItems } from "@/lib/testing/slice-items";

const ada = localViewer("ada");
const ORDER = { aggregateType: "order", aggregateId: "order-7" };
let world: World;

beforeAll(async () => {
  world = await openWorld({ redisUrl: null });
});
afterAll(() => world.close());

/** The line as text, such as `1 parked`, in its order; and that no row of any line differs from its event. */
async function line(): Promise<string[]> {
  expect(await lineFaults(world.db)).toEqual([]);
  const differing = await world.db.query(
    `select from aggregate_lines l join (${linesOf("true")}) e using (id) where l.cooldown_until is distinct from e.cooldown_until`,
  );
  expect(differing).toEqual([]);
  const rows = await world.db.query<{ place: string; part: number; cools: boolean }>(
    `select place::text, part, cooldown_until > now() is true as cools from aggregate_lines
      where aggregate_id = $1 order by place, id`,
    [ORDER.aggregateId],
  );
  const partOf = (part: number) => Object.entries(PART).find(([, number]) => number === part)![0];
  return rows.map(
    ({ place, part, cools }) => `${place === `${LAST_PLACE}` ? "-" : place} ${partOf(part)}${cools ? ", cools" : ""}`,
  );
}

const idOf = async (eventId: string) => (await world.idsOf([eventId]))[0]!;
const select = async (...eventIds: string[]) => ({ select: { ids: await world.idsOf(eventIds) } });

async function end(redriveId: string, outcome: ItemOutcome, items?: readonly SliceItem[]): Promise<void> {
  const page = items ?? (await takeItems(world.db, { redriveId, slices: [0, 0], limit: 100 }));
  const settings = await readSettings(world.db);
  const batch = page.map((item) => {
    const after = eventAfter(outcome, item, settings, Date.now());
    return { item, outcome, after, attempts: item.attempts + 1, findings: [], closes: [] };
  });
  await finishItems(world.deps, redriveId, batch);
}

async function comesBack(eventId: string, redriveId: string): Promise<void> {
  const letter = deadLetter({ ...ORDER, eventId, version: 1n, redrive: { redriveId, attempt: 1 } });
  await parkEvents(world.deps, [{ source: "orders", letter }], localViewer("tester"));
}

async function edit(base: number): Promise<void> {
  const request = editRequestSchema.parse({ base, text: `{"amount":${base}}`, reason: "the amount was wrong" });
  await editEvent(world.deps, { ...request, id: await idOf("v1"), headersMax: 100 }, ada);
}

test("the rows of a line are what its events have become, after each change of them", async () => {
  await world.park(3, (index) => ({
    ...ORDER,
    eventId: `v${index + 1}`,
    version: index === 2 ? null : BigInt(index + 1),
  }));
  await world.park(1, () => ({ eventId: "alone", aggregateId: null }));
  expect(await line()).toEqual(["1 parked", "2 parked", "- parked"]);

  const cancelled = await world.request();
  expect(await line()).toEqual(["1 open", "2 open", "- open"]);
  await changeRedrive(world.deps, { id: cancelled.id, change: { action: "cancel" } }, ada);
  await cancelItems(world.deps, cancelled.id, 10);
  expect(await line()).toEqual(["1 parked", "2 parked", "- parked"]);

  await skipHead(world.deps, { id: await idOf("v1"), reason: "known" }, ada);
  expect(await line()).toEqual(["1 skipped", "2 parked", "- parked"]);
  await undoSkip(world.deps, { id: await idOf("v1"), reason: "not known" }, ada);
  expect(await line()).toEqual(["1 parked", "2 parked", "- parked"]);
  await skipHead(world.deps, { id: await idOf("v1"), reason: "known" }, ada);
  await edit(1);
  expect(await line()).toEqual(["1 parked", "2 parked", "- parked"]);

  const taken = await world.request(await select("v2"));
  await ignoreEvents(world.deps, { ...(await select("v2")), reason: "obsolete" }, ada);
  expect(await line()).toEqual(["1 parked", "2 parked", "- parked"]);
  expect((await world.redrive(taken.id)).state).toBe("DONE");
  await releaseEvents(world.deps, { ...(await select("v2")), reason: "needed", options: {} }, ada);
  expect(await line()).toEqual(["1 parked", "2 parked", "- parked"]);

  const failed = await world.request(await select("v1"));
  await end(failed.id, { kind: "failed", code: "HTTP_500", detail: "down" });
  expect(await line()).toEqual(["1 parked, cools", "2 parked", "- parked"]);
  await edit(2);
  expect(await line()).toEqual(["1 parked", "2 parked", "- parked"]);

  const sent = await world.request(await select("v1"));
  await end(sent.id, { kind: "delivered", code: "HTTP_200" });
  expect(await line()).toEqual(["2 parked", "- parked"]);
  await comesBack("v1", sent.id);
  expect(await line()).toEqual(["1 parked, cools", "2 parked", "- parked"]);

  // The bounce before the end is committed: the row stays, whatever the end says.
  await releaseCooldown();
  const early = await world.request(await select("v1"));
  const page = await takeItems(world.db, { redriveId: early.id, slices: [0, 0], limit: 1 });
  await comesBack("v1", early.id);
  expect(await line()).toEqual(["1 open", "2 parked", "- parked"]);
  await end(early.id, { kind: "delivered", code: "HTTP_200" }, page);
  expect((await line()).length).toBe(3);

  await confirmEvents(world.deps, { source: "orders", eventIds: ["v1"] }, localViewer("stock"));
  expect(await line()).toEqual(["2 parked", "- parked"]);
  const v2 = await idOf("v2");
  await world.db.transaction((tx) => deleteStored(tx, [v2], Date.now()));
  expect(await line()).toEqual(["- parked"]);
});

async function releaseCooldown(): Promise<void> {
  await world.db.run("update dlq_events set cooldown_until = null, redrives = 0");
  await mendAllLines(world.db);
}

test("a round mends rows that differ from their events, and no others", async () => {
  await world.park(4, (index) => ({ ...ORDER, aggregateId: "m", eventId: `m${index}`, version: BigInt(index) }));
  expect(await mendAllLines(world.db)).toBe(0);
  const ofPlace = "where aggregate_id = 'm' and place";
  await world.db.run(`delete from aggregate_lines ${ofPlace} = 0`);
  await world.db.run(`update aggregate_lines set part = 2 ${ofPlace} = 1`);
  await world.db.run(`update aggregate_lines set place = 7 ${ofPlace} = 2`);
  await world.db.run(
    `insert into aggregate_lines (shard, aggregate_id, source_id, aggregate_type, part, place, id)
     select shard, aggregate_id, source_id, aggregate_type, part, 9, gen_random_uuid() from aggregate_lines ${ofPlace} = 3`,
  );
  expect(await lineFaults(world.db)).not.toEqual([]);
  const { next, mended } = await mendLines(world.db, LINES_START);
  expect(mended).toBe(4);
  expect(next).toEqual(LINES_START);
  expect(await lineFaults(world.db)).toEqual([]);
});

test("a question reads a few rows of a line of 100,000, wherever its event stands and whatever does not count before it", async () => {
  await world.park(1, () => ({ ...ORDER, aggregateId: "long", eventId: "long", version: 100_001n }));
  const id = await idOf("long");
  const fill = (aggregateId: string, part: number, redriveId: string | null) =>
    world.db.run(
      `insert into aggregate_lines (shard, aggregate_id, source_id, aggregate_type, part, place, id, redrive_id)
       select l.shard, $1, l.source_id, l.aggregate_type, $2, n, gen_random_uuid(), $3
         from aggregate_lines l, generate_series(1, 100000) n where l.id = $4`,
      [aggregateId, part, redriveId, id],
    );
  await fill("long", PART.parked, null);
  await fill("long", PART.skipped, null);
  await fill("long", PART.open, "01900000-0000-7000-8000-000000000001");
  await world.db.run("analyze aggregate_lines");
  const [event] = await world.db.query<{ sourceId: string }>(
    `select source_id as "sourceId" from dlq_events where id = $1`,
    [id],
  );
  const name = { ...ORDER, aggregateId: "long", sourceId: event!.sourceId };
  const own = { id: "01900000-0000-7000-8000-000000000001", earlier: "hold" } as const;
  /** Rows looked at by the question about an event of this version. */
  const looked = async (version: bigint | null, redrive: typeof own | null) => {
    const counted = countingRows(world.db, "aggregate_lines");
    await readAggregateOrder(counted.db, [{ ...name, version, id }], redrive);
    return counted.rows();
  };
  // HELD of a page, at both ends of the line.
  expect(await looked(1n, null)).toBeLessThan(10);
  expect(await looked(100_001n, null)).toBeLessThan(10);
  expect(await looked(null, null)).toBeLessThan(10);
  // The send, while all of its redrive is open, and when all parked versions before it were processed.
  expect(await looked(1n, own)).toBeLessThan(10);
  await world.db.run(
    `insert into processed_events (consumer, source_id, event_id, aggregate_type, aggregate_id, version)
     values ('stock', $1, 'x', 'order', 'long', 100000)`,
    [name.sourceId],
  );
  expect(await looked(1n, own)).toBeLessThan(10);
  expect(await looked(100_001n, null)).toBeLessThan(10);
});
