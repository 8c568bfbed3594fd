import { expect, test } from "vitest";
import { readEventDetail } from "@/lib/events/detail/event-detail.read";
import { localViewer, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { readRevisions } from "@/lib/repair/revisions/event-revisions.read";
import { editEvent } from "@/lib/repair/revisions/revise-event";
import { deadLetter } from "@/lib/testing/letters";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const BROKEN = '{"order_no":12345678901234567890}';
const MENDED = '{"orderNo":12345678901234567890}';

const world = worldOfEachTest();

const park = (name?: string) => world.park(1, () => ({ payload: Buffer.from(BROKEN) }), name);
const first = async () => (await world.idsOf())[0]!;
const edit = async (text: string, base = 1, id?: string) =>
  editEvent(
    world.deps,
    { id: id ?? (await first()), base, text, reason: "the field was renamed", headersMax: 100 },
    localViewer("ada"),
  );
/** A failure starts a cooldown, which would refuse the next redrive. */
const warm = () => world.db.run("update dlq_events set cooldown_until = null");
const redriven = async (select = { ids: [] as string[] }) => {
  await warm();
  const ids = select.ids.length > 0 ? select.ids : await world.idsOf();
  return world.ended((await world.request({ select: { ids } })).id);
};
const sent = () => world.sink.arrived.map(({ key, body }) => [key, body]);
const comeBack = (redriveId: string, payload: string) =>
  parkEvents(
    world.deps,
    [
      {
        source: "orders",
        letter: deadLetter({
          eventId: "event-0000",
          aggregateId: null,
          version: null,
          payload: Buffer.from(payload),
          redrive: { redriveId, attempt: 1 },
        }),
      },
    ],
    localViewer("tester"),
  );

test("a sink that honours keys and remembers its refusals takes the mended event, and answers no repeat twice", async () => {
  await park();
  const remembered = new Map<string, number>();
  world.sink.answer = () => {
    const { key, body } = world.sink.arrived.at(-1)!;
    const status = remembered.get(key) ?? (body === MENDED ? 200 : 422);
    remembered.set(key, status);
    return status;
  };
  await world.worker();
  expect(await redriven()).toMatchObject({ failed: 1 });
  expect(await redriven()).toMatchObject({ failed: 1 });
  await edit(MENDED);
  // What was mended does not cool down.
  expect(await world.ended((await world.request()).id)).toMatchObject({ delivered: 1 });
  expect(sent()).toEqual([
    ["orders:event-0000", BROKEN],
    ["orders:event-0000", BROKEN],
    ["orders:event-0000:r2", MENDED],
  ]);
  const { items } = await readRevisions(world.db, localViewer(), await first());
  expect(items).toMatchObject([
    { revision: 2, current: true, sends: 1, sentBy: [{ state: "delivered" }] },
    { revision: 1, current: false, sends: 2, sentBy: [{ state: "failed" }, { state: "failed" }] },
  ]);
  const { history } = await readEventDetail(world.db, localViewer(), await first(), Date.now());
  const texts = history.map(({ text }) => text).join("\n");
  expect(texts).toContain("Edited: revision 2, made from 1");
  expect(texts).toContain("Attempt 1 of revision 2 to orders sent");
});

test("a redrive sends what it froze: an edit meanwhile is refused, and the event stays as it was", async () => {
  await park();
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  world.sink.answer = async () => {
    await held;
    return 200;
  };
  await world.worker();
  const { id } = await world.request();
  await expect.poll(() => world.sink.arrived.length).toBe(1);
  await expect(edit(MENDED)).rejects.toMatchObject({ code: "event-queued", message: expect.stringContaining(id) });
  release();
  expect(await world.ended(id)).toMatchObject({ delivered: 1 });
  await expect(edit(MENDED)).rejects.toMatchObject({ code: "illegal-transition" });
  expect(sent()).toEqual([["orders:event-0000", BROKEN]]);
});

test("a bounce with other bytes is kept beside what somebody has mended meanwhile, and the mended bytes are sent", async () => {
  await park();
  world.sink.answer = () => 422;
  await world.worker();
  const { id } = await redriven();
  await edit(MENDED);
  // The consumer had taken it all the same, and gives it back late.
  expect(await comeBack(id, '{"enriched":true}')).toEqual(["bounced"]);
  expect(await world.event("event-0000")).toMatchObject({ revision: 2, bounces: 1 });
  world.sink.answer = () => 200;
  expect(await redriven()).toMatchObject({ delivered: 1 });
  expect(sent().at(-1)).toEqual(["orders:event-0000:r2", MENDED]);
  const { items } = await readRevisions(world.db, localViewer(), await first());
  expect(items.map(({ revision, cause, base, current }) => ({ revision, cause, base, current }))).toEqual([
    { revision: 3, cause: "bounce", base: 1, current: false },
    { revision: 2, cause: "edit", base: 1, current: true },
    { revision: 1, cause: "arrived", base: null, current: false },
  ]);
});

test("each bounce keeps the error that it brought, and so does the first arrival", async () => {
  await park();
  await world.worker();
  const { id } = await redriven();
  const error = { type: "Late", message: "token=s3cret was refused", stack: "at Late" };
  const letter = deadLetter({
    eventId: "event-0000",
    aggregateId: null,
    version: null,
    error,
    redrive: { redriveId: id, attempt: 1 },
  });
  await parkEvents(world.deps, [{ source: "orders", letter }], localViewer("tester"));
  const errorsFor = async (viewer: Viewer) => {
    const { history, errorDetail } = await readEventDetail(world.db, viewer, await first(), Date.now());
    const errors = history.flatMap(({ kind, detail }) =>
      detail.error ? [{ kind, sent: detail.sent, ...detail.error }] : [],
    );
    return { errors, errorDetail };
  };
  const { errors, errorDetail } = await errorsFor(localViewer());
  expect(errors).toMatchObject([
    { kind: "parked", sent: null, type: "com.acme.StockException", message: "503 from stock-service for order-77" },
    { kind: "bounced", sent: 1, ...error, message: "token=•••••• was refused" },
  ]);
  expect(errorDetail).toEqual({ ...error, message: "token=•••••• was refused" });
  const masked = await errorsFor({ ...localViewer("bob"), actions: ["view"] });
  expect(JSON.stringify(masked)).not.toContain("s3cret");
});

test("a bounce that overtakes the end of its own delivery brings its revision, and the item keeps what it froze", async () => {
  await park();
  world.sink.answer = async () => {
    const redriveId = String(world.sink.arrived.at(-1)!.headers["x-redrive-id"]);
    if (world.sink.arrived.length === 1) await comeBack(redriveId, '{"enriched":true}');
    return 200;
  };
  await world.worker();
  await redriven();
  expect(await world.event("event-0000")).toMatchObject({ revision: 2, status: "PENDING" });
  expect(await redriven()).toMatchObject({ delivered: 1 });
  expect(sent().at(-1)).toEqual(["orders:event-0000:r2", '{"enriched":true}']);
  expect(await world.db.query("select revision from redrive_items order by redrive_id")).toEqual([
    { revision: 1 },
    { revision: 2 },
  ]);
});

test("a bounce with other bytes is sent next, and one with the bytes that were sent changes nothing, also of an event that was parked a year ago", async () => {
  const YEAR_MS = 365 * 86_400_000;
  const clock = { ...world.deps.clock, wallMs: () => world.deps.clock.wallMs() - YEAR_MS };
  const letter = deadLetter({ eventId: "event-0000", aggregateId: null, version: null, payload: Buffer.from(BROKEN) });
  await parkEvents({ ...world.deps, clock }, [{ source: "orders", letter }], localViewer("tester"));
  expect(await edit(MENDED)).toMatchObject({ revision: 2 });
  await world.worker();
  const { id } = await redriven();
  expect(await comeBack(id, '{"enriched":true}')).toEqual(["bounced"]);
  const again = await redriven();
  expect(again).toMatchObject({ delivered: 1 });
  // What came back is compared with what was sent, not with what arrived first.
  expect(await comeBack(again.id, '{"enriched":true}')).toEqual(["bounced"]);
  expect(await world.event("event-0000")).toMatchObject({ revision: 3, bounces: 2, status: "PENDING" });
  expect(sent()).toEqual([
    ["orders:event-0000:r2", MENDED],
    ["orders:event-0000:r3", '{"enriched":true}'],
  ]);
});
