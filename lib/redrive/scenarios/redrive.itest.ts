import { describe, expect, test } from "vitest";
import { readEventDetail } from "@/lib/events/detail/event-detail.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { confirmEvents } from "@/lib/intake/confirm-events";
import { parkEvents } from "@/lib/intake/park-events";
import { readRedriveCauses } from "@/lib/redrive/list/redrive-items.read";
import { deadLetter } from "@/lib/testing/letters";
import { describeOnBothQueues, worldOfEachTest } from "@/lib/testing/redrive-world";

describeOnBothQueues("a redrive on $backend", ({ redisUrl }) => {
  const world = worldOfEachTest({ redisUrl });

  test("delivers each event once, byte for byte, and accounts for all of them", async () => {
    await world.park(120, (index) => ({ aggregateId: `order-${index % 30}`, version: BigInt(index) }));
    await world.worker();
    const { id, total } = await world.request();
    const done = await world.ended(id);

    expect(total).toBe(120);
    expect(done).toMatchObject({ state: "DONE", total: 120, delivered: 120, failed: 0, refused: 0, open: 0 });
    expect(world.sink.arrived).toHaveLength(120);
    expect(new Set(world.sink.arrived.map((entry) => entry.eventId)).size).toBe(120);
    const [first] = world.sink.of("event-0007");
    expect(first!.body).toBe('{"orderId": 77, "big": 9007199254740993}');
    expect(first!.key).toBe("orders:event-0007");
    expect(first!.headers).toMatchObject({
      "x-redrive-id": id,
      "x-redrive-attempt": "1",
      "x-redrive-from": "orders",
    });
    expect(await world.statuses()).toEqual({ REDRIVEN: 120 });
  });

  test("a worker killed in mid-batch loses nothing and doubles nothing at a sink that honours the key (I5, I6)", async () => {
    await world.park(150, (index) => ({ aggregateId: `order-${index % 40}`, version: BigInt(index) }));
    let holds = 0;
    world.sink.answer = () => (++holds > 60 ? "hang" : 200);
    const doomed = await world.doomedWorker();
    const { id } = await world.request();
    await expect.poll(() => holds).toBeGreaterThan(60);
    doomed.kill("SIGKILL");
    world.sink.answer = () => 200;
    await world.worker();
    const done = await world.ended(id);

    expect(done).toMatchObject({ delivered: 150, failed: 0, open: 0 });
    expect(world.sink.effects()).toHaveLength(150);
    const ambiguous = await world.db.query("select id from sends where state = 'ambiguous'");
    // A sink that ignores the key gets a repeat only of a send whose answer was lost.
    expect(world.sink.arrived.length - 150).toBeLessThanOrEqual(ambiguous.length);
    expect(ambiguous.length).toBeGreaterThanOrEqual(1);
    for (const aggregate of Array.from({ length: 40 }, (_, index) => index)) {
      const order = world.sink.arrived
        .filter((entry) => entry.status === 200)
        .map((entry) => Number(entry.eventId.slice(6)))
        .filter((index) => index % 40 === aggregate);
      expect([...new Set(order)]).toEqual([...new Set(order)].sort((left, right) => left - right));
    }
  });
});

describe("a redrive", () => {
  const world = worldOfEachTest();

  test("retries what is transient and leaves alone what is permanent", async () => {
    await world.park(3);
    world.sink.answer = ({ eventId, nth }) => {
      if (eventId === "event-0000") return nth === 1 ? 503 : 200;
      return eventId === "event-0001" ? 400 : 200;
    };
    await world.worker();
    const done = await world.ended((await world.request()).id);

    expect(done).toMatchObject({ delivered: 2, failed: 1 });
    // Why it was not tried again stands where somebody looks: with the item, its cause and the event's history.
    const { causes } = await readRedriveCauses(world.db, localViewer(), done.id);
    expect(causes).toMatchObject([{ outcome: "failed", samples: [{ eventId: "event-0001", stopped: "permanent" }] }]);
    const [id] = await world.idsOf(["event-0001"]);
    const { history } = await readEventDetail(world.db, localViewer(), id!, Date.now());
    expect(history.map(({ text }) => text).join()).toContain("not retried: the error is permanent");
    expect(world.sink.of("event-0000").map((entry) => entry.headers["x-redrive-attempt"])).toEqual(["1", "2"]);
    expect(world.sink.of("event-0001")).toHaveLength(1);
    const attempts = await world.db.query(
      `select a.attempt, a.state, a.code from sends a join dlq_events e on e.id = a.id
          where e.event_id = 'event-0000' order by attempt`,
    );
    expect(attempts).toEqual([
      { attempt: 1, state: "failed", code: expect.stringContaining("503") },
      { attempt: 2, state: "delivered", code: "OK" },
    ]);
  });

  test("counts apart what was sent, what was known already, what is confirmed, back, and not confirmed yet", async () => {
    await world.park(6);
    await world.db.run(
      "insert into processed_events (consumer, source_id, event_id) select 'billing', id, 'event-0000' from sources",
    );
    world.sink.answer = ({ eventId }) =>
      eventId === "event-0001" ? { status: 200, headers: { "idempotent-replayed": "true" } } : 200;
    await world.worker();
    const { id } = await world.request();
    const done = await world.ended(id);
    const sums = { total: 6, delivered: 6, sent: 4, deduplicated: 2 };
    expect(done).toMatchObject({ ...sums, confirmed: 1, bounced: 0, unknown: 5 });
    // Sends are counted in ticks of five seconds: the window of the last one ends with its tick, at the latest.
    const unknownUntilMs = Date.parse(done.unknownUntil!);
    expect(unknownUntilMs).toBeGreaterThanOrEqual(Date.parse(done.startedAt!) + 600_000);
    expect(unknownUntilMs).toBeLessThanOrEqual(Date.parse(done.finishedAt!) + 600_000 + 5_000);
    const letter = deadLetter({ eventId: "event-0002", redrive: { redriveId: id, attempt: 1 } });
    await parkEvents(world.deps, [{ source: "orders", letter }], localViewer("tester"));
    await confirmEvents(world.deps, { source: "orders", eventIds: ["event-0003"] }, localViewer("consumer"));
    expect(await world.redrive(id)).toMatchObject({ ...sums, confirmed: 2, bounced: 1, unknown: 3 });
    // What the inbox had confirmed may come back too: it is then no longer confirmed.
    const again = deadLetter({ eventId: "event-0000", redrive: { redriveId: id, attempt: 1 } });
    await parkEvents(world.deps, [{ source: "orders", letter: again }], localViewer("tester"));
    expect(await world.redrive(id)).toMatchObject({ ...sums, confirmed: 1, bounced: 2, unknown: 3 });
  });

  test("two redrives of the same events at once: each event goes once (I7)", async () => {
    await world.park(50);
    await world.worker();
    const answers = await Promise.all([world.request(), world.request(), world.request()]);
    const ended = await Promise.all(answers.map((answer) => world.ended(answer.id)));

    expect(world.sink.arrived).toHaveLength(50);
    expect(ended.reduce((sum, redrive) => sum + redrive.delivered, 0)).toBe(50);
    for (const redrive of ended) expect(redrive.delivered + redrive.refused).toBe(redrive.total);
  });
});
