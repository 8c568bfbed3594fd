import { describe, expect, test } from "vitest";
import { readEventDetail } from "@/lib/events/detail/event-detail.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { exportRedriveItems, listRedriveItems, readRedriveCauses } from "@/lib/redrive/list/redrive-items.read";
import { previewRedrive } from "@/lib/redrive/preview/preview-redrive";
import { previewRequestSchema } from "@/lib/redrive/preview/redrive-preview.shapes";
import type { RedriveRequest } from "@/lib/redrive/request/redrive-request.shapes";
import { editEvent } from "@/lib/repair/revisions/revise-event";
import { deadLetter } from "@/lib/testing/letters";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const world = worldOfEachTest();

const viewer = localViewer("ada");
const bounce = (redriveId: string, eventId: string, errorCode: string) =>
  parkEvents(
    world.deps,
    [
      {
        source: "orders",
        letter: deadLetter({
          eventId,
          errorCode,
          payload: Buffer.from('{"mended":1}'),
          redrive: { redriveId, attempt: 1 },
        }),
      },
    ],
    viewer,
  );
const preview = (select: RedriveRequest["select"]) =>
  previewRedrive(world.deps, previewRequestSchema.parse({ select }), viewer);

/** All items of a redrive that failed, bounced or were refused, counted by cause, with the ids of the newest. */
async function recounted(redriveId: string) {
  const rows = await world.db.query<{ id: string; outcome: string; result: string }>(
    `select i.id, case when i.state = 'delivered' then 'bounced' else i.state end as outcome, coalesce(b.error_code, i.result) as result
       from redrive_items i left join event_bounces b on b.id = i.id and b.redrive_id = i.redrive_id and i.state = 'delivered'
      where i.redrive_id = $1 and (i.state in ('failed', 'refused') or b.id is not null) order by i.id desc`,
    [redriveId],
  );
  const causes = Map.groupBy(rows, ({ outcome, result }) => `${outcome} ${result}`);
  return Object.fromEntries([...causes].map(([cause, of]) => [cause, [of.length, of.slice(0, 3).map(({ id }) => id)]]));
}

async function causesOf(redriveId: string) {
  const { causes } = await readRedriveCauses(world.db, viewer, redriveId);
  expect(causes.map(({ count }) => count)).toEqual(causes.map(({ count }) => count).toSorted((a, b) => b - a));
  return Object.fromEntries(
    causes.map(({ outcome, result, count, samples }) => [`${outcome} ${result}`, [count, samples.map(({ id }) => id)]]),
  );
}

describe("the events of a redrive by outcome", () => {
  test("are listed, grouped by cause, exported and selected by the same words", async () => {
    await world.park(6);
    await world.db.run(
      "insert into processed_events (consumer, source_id, event_id) select 'billing', id, 'event-0000' from sources",
    );
    world.sink.answer = ({ eventId }) => {
      if (eventId === "event-0001") return { status: 200, headers: { "idempotency-replayed": "true" } };
      return eventId === "event-0002" ? 422 : 200;
    };
    await world.worker();
    const { id } = await world.request();
    await world.ended(id);
    await bounce(id, "event-0003", "UPSTREAM_4XX");
    const all = { redriveId: id, state: null, outcome: null, result: null };
    const { items } = await listRedriveItems(world.db, viewer, { ...all, cursor: null, limit: 50 });
    expect(Object.fromEntries(items.map((item) => [item.eventId, item.outcome]))).toEqual({
      "event-0000": "confirmed",
      "event-0001": "deduplicated",
      "event-0002": "failed",
      "event-0003": "bounced",
      "event-0004": "sent",
      "event-0005": "sent",
    });
    const attempts = async (eventId: string) => {
      const [event] = await world.idsOf([eventId]);
      const { history } = await readEventDetail(world.db, viewer, event!, world.deps.clock.wallMs());
      return history
        .filter(({ kind }) => kind === "attempt")
        .map(({ text }) => text.replace(/ in \d+ ms/, "").replace(/;.*/, ""));
    };
    expect(await attempts("event-0000")).toEqual([]);
    expect(await attempts("event-0001")).toEqual(["Attempt 1 to orders deduplicated: OK"]);
    expect(await attempts("event-0003")).toEqual(["Attempt 1 to orders sent: OK"]);
    const { causes } = await readRedriveCauses(world.db, viewer, id);
    expect(causes.map(({ outcome, result, count, samples }) => [outcome, result, count, samples.length])).toEqual(
      expect.arrayContaining([
        ["failed", "HTTP_422", 1, 1],
        ["bounced", "UPSTREAM_4XX", 1, 1],
      ]),
    );
    expect(causes).toHaveLength(2);
    const exported = [];
    for await (const page of exportRedriveItems(world.db, viewer, { ...all, outcome: "bounced,deduplicated" })) {
      exported.push(...page.map(({ eventId }) => eventId));
    }
    expect(exported).toEqual(["event-0003", "event-0001"]);

    await world.db.run("update dlq_events set cooldown_until = null");
    const failing = { redrive: id, outcome: ["failed" as const, "bounced" as const] };
    expect(await preview(failing)).toMatchObject({ total: 2, eligible: 2, changedSince: 1 });
    expect(await preview({ ...failing, result: "UPSTREAM_4XX" })).toMatchObject({ total: 1 });
    world.sink.answer = () => 200;
    const again = await world.request({ select: failing });
    expect(await world.ended(again.id)).toMatchObject({ total: 2, delivered: 2 });
    await expect(world.request({ select: { redrive: id, outcome: ["cancelled"] } })).rejects.toMatchObject({
      code: "empty-selection",
    });
  });

  test("are counted by cause as in a recount, also when they bounced from a later redrive with another error", async () => {
    await world.park(24);
    const ids = await world.idsOf(["event-0000", "event-0001"]);
    await world.db.run("update dlq_events set cooldown_until = now() + interval '1 hour' where id = any($1::uuid[])", [
      ids,
    ]);
    world.sink.answer = ({ eventId }) => (eventId < "event-0006" ? 422 : eventId < "event-0008" ? 400 : 200);
    await world.worker();
    const { id } = await world.request();
    await world.ended(id);
    for (let n = 8; n < 14; n++)
      await bounce(id, `event-00${String(n).padStart(2, "0")}`, n < 13 ? "TIMEOUT" : "STALE");
    const causes = await recounted(id);
    expect(Object.entries(causes).map(([cause, [count]]) => [cause, count])).toEqual(
      expect.arrayContaining([
        ["failed HTTP_422", 4],
        ["failed HTTP_400", 2],
        ["refused cooling", 2],
        ["bounced TIMEOUT", 5],
        ["bounced STALE", 1],
      ]),
    );
    expect(await causesOf(id)).toEqual(causes);

    await world.db.run("update dlq_events set cooldown_until = null");
    world.sink.answer = () => 200;
    const stale = { redrive: id, outcome: ["bounced" as const], result: "STALE" };
    const again = await world.request({ select: stale });
    await world.ended(again.id);
    await bounce(again.id, "event-0013", "TIMEOUT");
    expect(await causesOf(id)).toEqual(causes);
    expect(await causesOf(again.id)).toEqual(await recounted(again.id));
    expect(await preview(stale)).toMatchObject({ total: 1 });
  });

  test("of a large dry run are frozen in chunks: what passed goes, and nothing else", async () => {
    await world.park(2_200, (index) => ({ errorCode: index < 2_150 ? "TIMEOUT" : "UPSTREAM_5XX" }));
    await world.worker();
    const { id } = await world.request({ mode: "verify", select: { filter: { errorCode: ["TIMEOUT"] } } });
    expect(await world.ended(id)).toMatchObject({ passed: 2_150 });
    const { id: sent } = await world.request({ select: { redrive: id, outcome: ["passed"] }, canary: "auto" });
    const redrive = await world.redrive(sent);
    expect(redrive.canary).toMatchObject({ released: 1 });
    await expect.poll(async () => (await world.redrive(sent)).state).toBe("RUNNING");
    expect(await world.redrive(sent)).toMatchObject({ total: 2_150, refused: 0 });
    expect(await world.statuses()).toMatchObject({ PENDING: 50 });
  });

  test("that passed a dry run go with the bytes that it checked, or not at all", async () => {
    await world.park(3);
    await world.worker();
    const { id } = await world.request({ mode: "verify" });
    expect(await world.ended(id)).toMatchObject({ passed: 3 });
    const edit = async (eventId: string) => {
      const [event] = await world.idsOf([eventId]);
      await editEvent(world.deps, { id: event!, base: 1, text: "{}", reason: "mended", headersMax: 9 }, viewer);
    };
    await edit("event-0001");
    const passed = { redrive: id, outcome: ["passed" as const] };
    const refused = { "changed-since": 1 };
    expect(await preview(passed)).toMatchObject({ total: 3, eligible: 2, refused, changedSince: 1 });
    const sent = await world.request({ select: passed });
    expect(sent).toMatchObject({ total: 2, refused: 1, refusedByReason: refused });
    expect(await world.ended(sent.id)).toMatchObject({ total: 2, delivered: 2 });
    expect(await world.statuses()).toEqual({ PENDING: 1, REDRIVEN: 2 });

    const { id: again } = await world.request({ mode: "verify", select: { filter: { status: ["PENDING"] } } });
    expect(await world.ended(again)).toMatchObject({ passed: 1 });
    const [event] = await world.idsOf(["event-0001"]);
    await editEvent(world.deps, { id: event!, base: 2, text: "[]", reason: "undone", headersMax: 9 }, viewer);
    await expect(world.request({ select: { ...passed, redrive: again } })).rejects.toMatchObject({
      code: "empty-selection",
      message: expect.stringContaining("has not changed since"),
    });
  });

  test("of a redrive that does not exist are refused", async () => {
    const redrive = "01980000-0000-7000-8000-000000000000";
    await expect(world.request({ select: { redrive, outcome: ["failed"] } })).rejects.toMatchObject({
      code: "unknown-redrive",
    });
  });
});
