import { describe, expect, test } from "vitest";
import { ignoreEvents, releaseEvents } from "@/lib/events/bulk/ignore-events";
import { readEventDetail } from "@/lib/events/detail/event-detail.read";
import { changeSettings } from "@/lib/guard/settings/change-settings";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { listControls } from "@/lib/order/controls/control-list.read";
import { imposeControl } from "@/lib/order/controls/impose-control";
import { liftControl } from "@/lib/order/controls/lift-control";
import { confirmEvents } from "@/lib/redrive/confirm/confirm-events";
import { checksOf, type StoredCheck } from "@/lib/redrive/gate/stored-checks.pure";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { readRedriveCauses } from "@/lib/redrive/list/redrive-items.read";
import { deadLetter } from "@/lib/testing/letters";
import { describeOnBothQueues, type World, worldOfEachTest } from "@/lib/testing/redrive-world";

describeOnBothQueues("a redrive on $backend", ({ backend, redis, redisUrl }) => {
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

  test("pause stops sends, resume goes on, and nothing goes twice", async () => {
    await world.park(200);
    await world.db.run("update targets set rate_per_second = 100");
    await world.worker();
    const { id } = await world.request();
    await expect.poll(() => world.sink.arrived.length).toBeGreaterThan(10);
    await changeRedrive(world.deps, { id, change: { action: "pause" } }, localViewer("ada"));
    await expect.poll(async () => inHand(world)).toBe(0);
    const paused = world.sink.arrived.length;
    expect(paused).toBeLessThan(200);
    expect((await world.redrive(id)).state).toBe("PAUSED");
    await world.db.run("update targets set rate_per_second = null, updated_at = now()");
    await changeRedrive(world.deps, { id, change: { ratePerSecond: 100_000 } }, localViewer("ada"));
    await changeRedrive(world.deps, { id, change: { action: "resume" } }, localViewer("ada"));
    expect(await world.ended(id)).toMatchObject({ delivered: 200 });
    expect(world.sink.arrived).toHaveLength(200);
  });

  test("a canary goes 1, 10, 100, then all", async () => {
    await world.park(150);
    await world.worker();
    const canary = { steps: [1, 10, 100], stopAtFailureRatio: 0.2, window: 50, quietMs: 500 };
    const { id } = await world.request({ canary });
    const done = await world.ended(id);
    expect(done).toMatchObject({ delivered: 150, canary: { released: null } });
    expect(world.sink.arrived).toHaveLength(150);
    for (const released of canary.steps) {
      const [last, next] = world.sink.arrived.slice(released - 1);
      expect(next!.atMs - last!.atMs, `after ${released}`).toBeGreaterThanOrEqual(canary.quietMs);
    }
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
    const ambiguous = await world.db.query("select id from redrive_attempts where state = 'ambiguous'");
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

  test.runIf(backend === "redis")(
    "a flushed Redis loses nothing: the queue is rebuilt (I8)",
    async () => {
      await world.park(300);
      await world.db.run("update targets set rate_per_second = 200");
      await world.worker();
      const { id } = await world.request();
      await expect.poll(() => world.sink.arrived.length).toBeGreaterThan(20);
      await redis()!.restart();
      const done = await world.ended(id);
      expect(done).toMatchObject({ delivered: 300 });
      expect(world.sink.effects()).toHaveLength(300);
    },
    120_000,
  );
});

describe("a redrive", () => {
  const world = worldOfEachTest();

  test("keeps the order of each aggregate, across slices and claims", async () => {
    // Parked in an order that is not the versions': the version decides.
    await world.park(210, (index) => ({
      aggregateId: `order-${index % 3}`,
      version: BigInt(1_000 - Math.floor(index / 3)),
    }));
    await world.worker();
    await world.worker();
    await world.ended((await world.request()).id);

    expect(world.sink.arrived).toHaveLength(210);
    for (const aggregate of [0, 1, 2]) {
      const order = world.sink.arrived
        .map((entry) => Number(entry.eventId.slice(6)))
        .filter((index) => index % 3 === aggregate);
      expect(order).toEqual([...order].sort((left, right) => right - left));
    }
  });

  test("a failed head holds its tail, in this redrive and while it cools down in the next", async () => {
    await world.park(3, (index) => ({ aggregateId: "order-1", version: BigInt(index + 1) }));
    world.sink.answer = ({ eventId }) => (eventId === "event-0000" ? 422 : 200);
    await world.worker();
    const first = await world.ended((await world.request()).id);
    expect(first).toMatchObject({ delivered: 0, failed: 1, refusedByReason: { "held-by-head": 2 } });

    const ids = await world.idsOf(["event-0001", "event-0002"]);
    const second = await world.ended((await world.request({ select: { ids } })).id);
    expect(second.refusedByReason).toEqual({ "held-by-head": 2 });
    expect(world.sink.arrived.map((entry) => entry.eventId)).toEqual(["event-0000"]);
  });

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
    expect(history.map(({ text }) => text).join()).toContain("not tried again: the error does not pass by itself");
    expect(world.sink.of("event-0000").map((entry) => entry.headers["x-redrive-attempt"])).toEqual(["1", "2"]);
    expect(world.sink.of("event-0001")).toHaveLength(1);
    const attempts = await world.db.query(
      `select a.attempt, a.state, a.code from redrive_attempts a join dlq_events e on e.id = a.id
          where e.event_id = 'event-0000' order by attempt`,
    );
    expect(attempts).toEqual([
      { attempt: 1, state: "failed", code: expect.stringContaining("503") },
      { attempt: 2, state: "delivered", code: "OK" },
    ]);
  });

  test("the dry run refuses with named findings, and verify sends nothing", async () => {
    await world.source("strict", { schema: { type: "object", required: ["amount"] } });
    await world.park(2, (index) => ({ payload: Buffer.from(index === 0 ? '{"amount": 1}' : "{}") }), "strict");
    await world.worker();
    const verified = await world.ended((await world.request({ mode: "verify" })).id);
    expect(verified).toMatchObject({
      passed: 1,
      delivered: 0,
      refused: 1,
      refusedByReason: { "schema-mismatch": 1 },
    });
    expect(world.sink.arrived).toEqual([]);
    expect(await world.statuses()).toEqual({ PENDING: 2 });
    const [refused] = await world.db.query<{ verdict: StoredCheck[] }>(
      "select verdict from redrive_items where state = 'refused'",
    );
    expect(checksOf(refused!.verdict).find(({ ok }) => ok === false)).toMatchObject({
      check: "payload-schema",
      detail: expect.stringContaining("amount"),
    });

    const delivered = await world.ended((await world.request()).id);
    expect(delivered).toMatchObject({ delivered: 1, refused: 1 });
    expect(world.sink.arrived.map((entry) => entry.eventId)).toEqual(["event-0000"]);
  });

  test("refuses an older version than one that was processed, and closes what its consumer has", async () => {
    await world.park(2, (index) => ({ aggregateId: `order-${index}`, version: 3n }));
    const [{ id: sourceId }] = (await world.db.query<{ id: string }>(
      "select id from sources where name = 'orders'",
    )) as [{ id: string }];
    await world.db.run(
      `insert into processed_events (consumer, source_id, event_id, aggregate_type, aggregate_id, version)
         values ('billing', $1, 'another', 'order', 'order-0', 4),
                ('billing', $1, 'event-0001', 'order', 'order-1', 3)`,
      [sourceId],
    );
    await world.worker();
    const done = await world.ended((await world.request()).id);
    expect(done).toMatchObject({ delivered: 1, refusedByReason: { "version-superseded": 1 } });
    expect(world.sink.arrived).toEqual([]);
    expect(await world.event("event-0001")).toMatchObject({ status: "REDRIVEN", confirmed_at: expect.any(Number) });
  });

  test("counts apart what was sent, what was known already, what is confirmed, back, and not known yet", async () => {
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

  test("a bounce parks the same event again, once, and not as a new one", async () => {
    await world.park(1);
    await world.worker();
    const { id } = await world.request();
    await world.ended(id);
    const back = deadLetter({ eventId: "event-0000", redrive: { redriveId: id, attempt: 1 } });
    await parkEvents(world.deps, [{ source: "orders", letter: back }], localViewer("tester"));
    await parkEvents(world.deps, [{ source: "orders", letter: back }], localViewer("tester"));
    expect(await world.event("event-0000")).toMatchObject({ status: "PENDING", bounces: 1 });
    expect(await world.redrive(id)).toMatchObject({ delivered: 1, bounced: 1 });
  });

  test("an event that keeps coming back is ignored at the redrive limit", async () => {
    await changeSettings(world.deps, { settings: { cooldownMs: 0 }, reason: "a short story" }, localViewer("ada"));
    await world.park(1);
    await world.worker();
    for (const bounces of [1, 2, 3]) {
      const { id } = await world.request();
      await world.ended(id);
      const back = deadLetter({ eventId: "event-0000", redrive: { redriveId: id, attempt: 1 } });
      await parkEvents(world.deps, [{ source: "orders", letter: back }], localViewer("tester"));
      expect(await world.event("event-0000")).toMatchObject({ status: bounces < 3 ? "PENDING" : "IGNORED", bounces });
    }
    expect(await world.request()).toMatchObject({ total: 1, refusedByReason: { ignored: 1 } });
  });

  test("a bounce that overtakes the finish of its own delivery parks the event", async () => {
    await world.park(1);
    await world.worker();
    world.sink.answer = async ({ eventId }) => {
      const mark = { redriveId: String(world.sink.of(eventId)[0]!.headers["x-redrive-id"]), attempt: 1 };
      await parkEvents(
        world.deps,
        [{ source: "orders", letter: deadLetter({ eventId, redrive: mark }) }],
        localViewer("tester"),
      );
      return 200;
    };
    const done = await world.ended((await world.request()).id);
    expect(done).toMatchObject({ delivered: 1, bounced: 1 });
    expect(await world.event("event-0000")).toMatchObject({ status: "PENDING", bounces: 1 });
  });

  test("cancel, ignore and blacklist beat what is queued (I11)", async () => {
    await world.park(60, (index) => ({ errorCode: index < 20 ? "TIMEOUT" : "UPSTREAM_5XX" }));
    await world.db.run("update targets set rate_per_second = 10");
    await world.worker();
    const { id } = await world.request();
    await expect.poll(() => world.sink.arrived.length).toBeGreaterThan(2);
    await imposeControl(
      world.deps,
      { kind: "blacklist", scope: { errorCode: "TIMEOUT" }, reason: "broken producer", expiresAt: null },
      localViewer("ada"),
    );
    const rest = await world.db.query<{ event_id: string }>(
      "select event_id from dlq_events where status = 'QUEUED' and error_code = 'UPSTREAM_5XX' order by id desc limit 10",
    );
    const ignored = rest.map((row) => row.event_id).filter((eventId) => world.sink.of(eventId).length === 0);
    const answer = await ignoreEvents(
      world.deps,
      { select: { ids: await world.idsOf(ignored) }, reason: "not wanted" },
      localViewer("ada"),
    );
    expect(answer.changed + (answer.refused["in-flight"] ?? 0) + (answer.refused["not-pending"] ?? 0)).toBe(
      ignored.length,
    );
    await changeRedrive(world.deps, { id, change: { ratePerSecond: 10 } }, localViewer("ada"));
    await expect.poll(() => world.sink.arrived.length).toBeGreaterThan(6);
    await changeRedrive(world.deps, { id, change: { action: "cancel" } }, localViewer("ada"));
    const done = await world.ended(id);

    expect(done.state).toBe("CANCELLED");
    expect(done.cancelled).toBeGreaterThan(0);
    expect(done.delivered).toBe(world.sink.arrived.length);
    const gone = await world.db.query<{ event_id: string }>("select event_id from dlq_events where status = 'IGNORED'");
    expect(gone).toHaveLength(answer.changed);
    for (const { event_id } of gone) expect(world.sink.of(event_id)).toEqual([]);
  });

  test("the brake stops a canary that fails", async () => {
    await world.park(150);
    world.sink.answer = () => 422;
    await world.worker();
    const { id } = await world.request({ canary: true });
    await expect.poll(async () => (await world.redrive(id)).state).toBe("PAUSED");
    expect(await world.redrive(id)).toMatchObject({ failed: 10, pauseReason: expect.stringContaining("100 %") });
    expect(world.sink.arrived).toHaveLength(10);
    await changeRedrive(world.deps, { id, change: { action: "cancel" } }, localViewer("ada"));
    expect(await world.ended(id)).toMatchObject({ failed: 10, cancelled: 140 });
  });

  test("limits loops: cooldown, redrive limit, automatic blacklist, and the way back", async () => {
    await world.park(1, () => ({ aggregateId: "order-9", version: 1n }));
    world.sink.answer = () => 422;
    await world.worker();
    await world.ended((await world.request()).id);
    expect(await world.event("event-0000")).toMatchObject({
      status: "PENDING",
      failures: 1,
      last_error_code: "HTTP_422",
    });
    expect(await world.request()).toMatchObject({ total: 1, refusedByReason: { cooling: 1 } });

    await imposeControl(
      world.deps,
      { kind: "whitelist", scope: { aggregateId: "order-9" }, reason: "being repaired", expiresAt: null },
      localViewer("ada"),
    );
    await world.ended((await world.request()).id);
    await world.ended((await world.request()).id);
    expect(await world.event("event-0000")).toMatchObject({ status: "IGNORED", redrives: 3 });
    const { items } = await listControls(world.db, localViewer(), { cursor: null, limit: 10, state: "live" });
    const control = items.find(({ origin }) => origin === "automatic");
    expect(control).toMatchObject({
      kind: "blacklist",
      scope: { source: "orders", aggregateType: "order", aggregateId: "order-9" },
      reason: expect.stringContaining("3"),
      catches: 0,
    });

    await world.db.run("update controls set lifted_at = now() where kind = 'whitelist'");
    await releaseEvents(world.deps, { select: { filter: {} }, reason: "repaired" }, localViewer("ada"));
    expect(await world.request()).toMatchObject({ refusedByReason: { blacklisted: 1 } });
    await liftControl(world.deps, { id: control!.id, reason: "repaired" }, localViewer("ada"));
    world.sink.answer = () => 200;
    expect(await world.ended((await world.request()).id)).toMatchObject({ delivered: 1 });
  });

  test("a Retry-After within the deadline is waited for, never sent earlier", async () => {
    await world.park(1);
    world.sink.answer = ({ nth }) => (nth === 1 ? { status: 429, headers: { "retry-after": "1" } } : 200);
    await world.worker();
    await world.ended((await world.request()).id);
    const [first, second] = world.sink.arrived;
    expect(second!.atMs - first!.atMs).toBeGreaterThanOrEqual(990);
  });
});

/** Sends that are recorded as open right now. */
async function inHand(world: World): Promise<number> {
  const [row] = await world.db.query<{ n: number }>(
    "select count(*) as n from redrive_items where state = 'open' and claimed_until >= now()",
  );
  return row!.n;
}
