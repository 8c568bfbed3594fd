import { describe, expect, test } from "vitest";
import { mergeGroup } from "@/lib/events/groups/aliases/merge-groups";
import { moveGroups } from "@/lib/events/groups/aliases/move-groups";
import { listEvents } from "@/lib/events/list/event-list.read";
import { changeSettings } from "@/lib/guard/settings/change-settings";
import { readSettings } from "@/lib/guard/settings/settings.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { confirmEvents } from "@/lib/intake/confirm-events";
import { type ParkOutcome, parkEvents } from "@/lib/intake/park-events";
import { readRedriveSuccess } from "@/lib/observe/stats/stats.read";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { confirmQuietEvents } from "@/lib/redrive/confirm/confirm-quiet-events";
import { eventAfter } from "@/lib/redrive/run/event-after.pure";
import { finishItems } from "@/lib/redrive/run/finish";
import type { SliceItem } from "@/lib/redrive/run/store/slice-items.read";
import type { ItemOutcome } from "@/lib/states/item-outcome.pure";
import { deadLetter, deliveredEarlier } from "@/lib/testing/letters";
import { mendAllLines } from "@/lib/testing/lines";
import { worldOfEachTest } from "@/lib/testing/redrive-world";
import { endOf, storeOpenSend } from "@/lib/testing/sends";
import { takeItems } from "@/lib/testing/slice-items";

const world = worldOfEachTest();

const DELIVERED: ItemOutcome = { kind: "delivered", code: "HTTP 202" };
const REJECTED: ItemOutcome = { kind: "failed", code: "HTTP_422", detail: "unknown article" };

async function claim(redriveId: string): Promise<SliceItem[]> {
  return takeItems(world.db, { redriveId, slices: [0, 0], limit: 100 });
}

async function finish(redriveId: string, items: readonly SliceItem[], outcome: ItemOutcome): Promise<void> {
  const settings = await readSettings(world.db);
  const batch = items.map((item) => {
    const after = eventAfter(outcome, item, settings, Date.now());
    return { item, outcome, after, attempts: item.attempts + 1, findings: [], closes: [] };
  });
  await finishItems(world.deps, redriveId, batch);
}

/** One redrive of these events from request to end, whatever cools them down. */
async function redrive(eventIds: string[], outcome: ItemOutcome): Promise<string> {
  // One that cools down holds the later events of its aggregate, too.
  await world.db.run("update dlq_events set cooldown_until = null");
  await mendAllLines(world.db);
  const { id } = await world.request({ select: { ids: await world.idsOf(eventIds) } });
  await finish(id, await claim(id), outcome);
  return id;
}

async function comesBack(
  eventId: string,
  redriveId: string | null,
  { errorCode = "UPSTREAM_5XX", ...more }: Partial<DeadLetter> = {},
): Promise<ParkOutcome> {
  const mark = redriveId === null ? null : { redriveId, attempt: 1 };
  const stored = await world.event(eventId);
  const letter = deadLetter({
    eventId,
    aggregateType: stored.aggregate_type as string | null,
    aggregateId: stored.aggregate_id as string | null,
    version: null,
    errorCode,
    redrive: mark,
    ...more,
  });
  return (await parkEvents(world.deps, [{ source: "orders", letter }], localViewer("tester")))[0]!;
}

const ORDER = { aggregateType: "order", aggregateId: "order-4" };
const failuresOf = async () =>
  (
    await world.db.query<{ n: number; blacklisted: boolean }>(
      `select a.consecutive_failures as n, c.id is not null as blacklisted
         from aggregates a left join controls c on c.value = a.aggregate_id and c.origin = 'automatic' and c.lifted_at is null
        where a.aggregate_id = $1`,
      [ORDER.aggregateId],
    )
  )[0];
const cooldownMs = async (eventId: string) =>
  (
    await world.db.query<{ ms: number }>(
      "select (extract(epoch from cooldown_until - now()) * 1000)::float8 as ms from dlq_events where event_id = $1",
      [eventId],
    )
  )[0]!.ms;

describe("an event that comes back", () => {
  test("keeps the time of its first failure beside that of the last one", async () => {
    const [first, second, third] = ["2026-11-01T00:00:00.000Z", "2026-11-02T00:00:00.000Z", "2026-11-03T00:00:00.000Z"];
    const parse = (at: string | undefined) => Date.parse(at!);
    const letter = deadLetter({ eventId: "timed", aggregateId: null, failedAtMs: parse(first) });
    await parkEvents(world.deps, [{ source: "orders", letter }], localViewer("tester"));
    const times = async () => {
      const page = { filter: { eventId: ["timed"] }, limit: 1, cursor: null };
      const [event] = (await listEvents(world.db, localViewer(), page, Date.now())).items;
      return [event?.firstFailedAt, event?.failedAt];
    };
    expect(await times()).toEqual([first, first]);
    for (const [failedAtMs, expected] of [
      [parse(second), [first, second]],
      [null, [first, second]],
      [parse(third), [first, third]],
    ] as const) {
      await comesBack("timed", await redrive(["timed"], DELIVERED), { failedAtMs });
      expect(await times()).toEqual(expected);
    }
  });

  test("has failed: it cools down by the store's clock, longer each time, and is ignored at the redrive limit", async () => {
    await changeSettings(
      world.deps,
      { settings: { cooldownMs: 600_000, redriveLimit: 3 }, reason: "a test" },
      localViewer("ada"),
    );
    await world.park(1);
    for (const [round, expectedMs] of [600_000, 1_200_000].entries()) {
      const id = await redrive(["event-0000"], DELIVERED);
      expect(await world.event("event-0000")).toMatchObject({ status: "REDRIVEN", failures: round });
      expect(await comesBack("event-0000", id)).toBe("bounced");
      expect(await world.event("event-0000")).toMatchObject({ status: "PENDING", failures: round + 1 });
      const leftMs = await cooldownMs("event-0000");
      expect(leftMs).toBeLessThanOrEqual(expectedMs);
      expect(leftMs).toBeGreaterThan(expectedMs - 60_000);
      expect(await world.request()).toMatchObject({ refusedByReason: { cooling: 1 } });
    }
    expect(await comesBack("event-0000", await redrive(["event-0000"], DELIVERED))).toBe("bounced");
    expect(await world.event("event-0000")).toMatchObject({ status: "IGNORED", bounces: 3 });
  });

  test("before its delivery is committed has failed as well, once", async () => {
    await world.park(1, () => ORDER);
    const { id } = await world.request();
    const items = await claim(id);
    expect(await comesBack("event-0000", id)).toBe("bounced");
    await finish(id, items, DELIVERED);
    expect(await world.event("event-0000")).toMatchObject({ status: "PENDING", failures: 1, bounces: 1 });
    expect(await cooldownMs("event-0000")).toBeGreaterThan(60_000);
    expect(await failuresOf()).toEqual({ n: 1, blacklisted: false });
  });

  test.each(["although its send counted as failed", "while its send goes on, which then fails"])(
    "%s is one failure, not two",
    async (when) => {
      await world.park(1, () => ORDER);
      const { id } = await world.request();
      const items = await claim(id);
      if (when.startsWith("although")) await finish(id, items, REJECTED);
      expect(await comesBack("event-0000", id)).toBe("bounced");
      if (when.startsWith("while")) await finish(id, items, REJECTED);
      expect(await world.event("event-0000")).toMatchObject({ failures: 1, bounces: 1 });
      expect(await failuresOf()).toEqual({ n: 1, blacklisted: false });
    },
  );

  test("of one redrive, with all its neighbours, is one failure of their aggregate: three redrives blacklist it", async () => {
    await changeSettings(world.deps, { settings: { redriveLimit: 9 }, reason: "a test" }, localViewer("ada"));
    await world.park(6, () => ORDER);
    const ids = Array.from({ length: 6 }, (_, index) => `event-000${index}`);
    for (const round of [1, 2, 3]) {
      const half = await redrive(ids.slice(0, 3), DELIVERED);
      for (const eventId of ids.slice(0, 3)) expect(await comesBack(eventId, half)).toBe("bounced");
      expect(await failuresOf()).toEqual({ n: round, blacklisted: round === 3 });
      if (round === 1) {
        await world.db.run("update aggregates set consecutive_failures = 0, failed_redrives = '{}'");
        const failing = await redrive(ids.slice(3), REJECTED);
        expect(await comesBack(ids[3]!, failing)).toBe("bounced");
        expect(await failuresOf()).toEqual({ n: 1, blacklisted: false });
      }
    }
  });

  test("counts once for each redrive, however late and often the copies come", async () => {
    await changeSettings(world.deps, { settings: { redriveLimit: 9 }, reason: "a test" }, localViewer("ada"));
    await world.park(1);
    const first = await redrive(["event-0000"], DELIVERED);
    expect(await comesBack("event-0000", first)).toBe("bounced");
    const second = await redrive(["event-0000"], DELIVERED);
    expect(await comesBack("event-0000", second)).toBe("bounced");
    expect(await comesBack("event-0000", first)).toBe("duplicate");
    expect(await comesBack("event-0000", second)).toBe("duplicate");
    const third = await redrive(["event-0000"], DELIVERED);
    expect(await comesBack("event-0000", first)).toBe("duplicate");
    expect(await world.event("event-0000")).toMatchObject({ status: "REDRIVEN", bounces: 2 });
    expect(await comesBack("event-0000", third)).toBe("bounced");
  });

  test("and was delivered again is confirmed by the quiet window of its last delivery alone", async () => {
    await world.park(1);
    const id = await redrive(["event-0000"], DELIVERED);
    await deliveredEarlier(world.db, "1 hour");
    expect(await comesBack("event-0000", id)).toBe("bounced");
    const again = await redrive(["event-0000"], DELIVERED);
    expect(await confirmQuietEvents(world.deps)).toBe(0);
    await deliveredEarlier(world.db, "1 hour");
    expect(await confirmQuietEvents(world.deps)).toBe(1);
    expect(await world.redrive(again)).toMatchObject({ delivered: 1, confirmed: 1 });
    expect(await world.db.query("select from quiet_windows")).toEqual([]);
  });
});

describe("an event that comes back after it was confirmed", () => {
  const successOf = async () => {
    const nowMs = Date.now();
    const query = { filter: {}, windowed: true, fromMs: nowMs - 3_600_000, toMs: nowMs + 60_000, bucketMs: 60_000 };
    return readRedriveSuccess(world.db, localViewer("ada"), query, nowMs);
  };

  test.each(["quiet", "by word"])("counts as bounced alone, confirmed %s", async (how) => {
    await world.park(2);
    const id = await redrive(["event-0000", "event-0001"], DELIVERED);
    if (how === "quiet") {
      await deliveredEarlier(world.db, "1 hour");
      await confirmQuietEvents(world.deps);
    } else {
      const eventIds = ["event-0000", "event-0001"];
      await confirmEvents(world.deps, { source: "orders", eventIds }, localViewer("consumer"));
    }
    expect(await world.redrive(id)).toMatchObject({ delivered: 2, confirmed: 2, bounced: 0 });
    expect(await comesBack("event-0001", id)).toBe("bounced");
    expect(await world.redrive(id)).toMatchObject({ delivered: 2, confirmed: 1, bounced: 1 });
    expect(await successOf()).toMatchObject({ confirmed: 1, bounced: 1, rate: 0.5 });
  });

  /** A store in which something happens once between the look-up of the event and the bounce. */
  function happening(work: () => Promise<unknown>) {
    const looks = { n: 0 };
    const transaction: typeof world.db.transaction = (inside, options) =>
      world.db.transaction(async (tx) => {
        const query: typeof tx.query = async (text, values, settings) => {
          const rows = await tx.query(text, values, settings);
          if (settings?.name === "find-known" && looks.n++ === 0) await work();
          return rows as never;
        };
        return inside({ ...tx, query });
      }, options);
    return { looks, deps: { ...world.deps, db: { ...world.db, transaction } } };
  }

  test("leaves the group that its event has been moved to after it was looked up", async () => {
    await world.park(1);
    const other = { type: "Other", message: "another cause", stack: null };
    await world.park(1, () => ({ eventId: "other", error: other }));
    const id = await redrive(["event-0000"], DELIVERED);
    const [group, into] = await Promise.all(
      ["event-0000", "other"].map(async (eventId) => (await world.event(eventId)).fingerprint as string),
    );
    const request = { into: into!, reason: "one cause" };
    const { looks, deps } = happening(() =>
      mergeGroup(world.deps, { fingerprint: group!, request }, localViewer("ada")),
    );
    const letter = deadLetter({ eventId: "event-0000", redrive: { redriveId: id, attempt: 1 } });
    expect(await parkEvents(deps, [{ source: "orders", letter }], localViewer("tester"))).toEqual(["bounced"]);
    expect(looks.n).toBe(2);
    // Within a minute the worker checks again for events parked by an earlier transaction.
    await world.db.run("update group_aliases set due_at = now()");
    await moveGroups(world.db);
    expect(await world.event("event-0000")).toMatchObject({ fingerprint: into, bounces: 1 });
  });

  test("sees a confirmation that is committed after it was looked up", async () => {
    await world.park(1);
    const id = await redrive(["event-0000"], DELIVERED);
    const { looks, deps } = happening(() =>
      confirmEvents(world.deps, { source: "orders", eventIds: ["event-0000"] }, localViewer("consumer")),
    );
    const letter = deadLetter({ eventId: "event-0000", redrive: { redriveId: id, attempt: 1 } });
    expect(await parkEvents(deps, [{ source: "orders", letter }], localViewer("tester"))).toEqual(["bounced"]);
    expect(looks.n).toBe(2);
    expect(await world.redrive(id)).toMatchObject({ confirmed: 0, bounced: 1 });
  });
});

describe("an aggregate", () => {
  test("whose events only ever came back is blacklisted, and what is queued of it is not sent", async () => {
    await world.park(5, (index) => ({ ...ORDER, version: BigInt(index + 1) }));
    const delivered = new Map<string, string>();
    for (const id of ["event-0000", "event-0001", "event-0002"]) delivered.set(id, await redrive([id], DELIVERED));
    const queued = await world.request({ select: { ids: await world.idsOf(["event-0003", "event-0004"]) } });
    for (const eventId of ["event-0000", "event-0001"]) await comesBack(eventId, delivered.get(eventId)!);
    expect(await failuresOf()).toEqual({ n: 2, blacklisted: false });
    await comesBack("event-0002", delivered.get("event-0002")!);
    expect(await failuresOf()).toEqual({ n: 3, blacklisted: true });
    await world.worker();
    expect(await world.ended(queued.id)).toMatchObject({ delivered: 0, refused: 2 });
    expect(world.sink.arrived).toEqual([]);
  });

  test("is blacklisted by failures and bounces in any order: a publish between them is no success", async () => {
    await changeSettings(world.deps, { settings: { redriveLimit: 9 }, reason: "a test" }, localViewer("ada"));
    await world.park(1, () => ORDER);
    await redrive(["event-0000"], REJECTED);
    await redrive(["event-0000"], REJECTED);
    const id = await redrive(["event-0000"], DELIVERED);
    expect(await failuresOf()).toEqual({ n: 2, blacklisted: false });
    await comesBack("event-0000", id);
    expect(await failuresOf()).toEqual({ n: 3, blacklisted: true });
    const [entry] = await world.db.query<{ reason: string; redrive_id: string }>(
      "select reason, redrive_id from audit_entries where action = 'control.imposed'",
    );
    expect(entry).toMatchObject({ reason: expect.stringContaining("3 redrives"), redrive_id: id });
  });

  test("begins a new run when a delivery stayed quiet, but not for what failed after it, and at the word of its consumer", async () => {
    await world.park(4, () => ORDER);
    const quiet = () => deliveredEarlier(world.db, "1 hour");
    await redrive(["event-0000"], REJECTED);
    await redrive(["event-0001"], DELIVERED);
    // The failure is older than the delivery that now counts as confirmed.
    await world.db.run("update aggregates set failed_at = now() - interval '2 hours'");
    await quiet();
    await confirmQuietEvents(world.deps);
    expect(await failuresOf()).toMatchObject({ n: 0 });

    await redrive(["event-0002"], DELIVERED);
    await redrive(["event-0000"], REJECTED);
    await quiet();
    await confirmQuietEvents(world.deps);
    expect(await failuresOf()).toMatchObject({ n: 1 });

    await redrive(["event-0003"], DELIVERED);
    expect(await failuresOf()).toMatchObject({ n: 1 });
    await confirmEvents(world.deps, { source: "orders", eventIds: ["event-0003"] }, localViewer("consumer"));
    expect(await failuresOf()).toMatchObject({ n: 0 });
  });
});

describe("a letter without id or mark, whose record may be of a send without a receipt", () => {
  const RECORD = "orders [0] offset 7";
  /** `onLook` runs when the batch has looked n times whether the send goes on. */
  async function arrives(payload: Buffer, onLook: (looks: number) => Promise<void>) {
    let looks = 0;
    const clock = { ...world.deps.clock, sleep: () => onLook(++looks) };
    const letter = deadLetter({
      eventId: "orders.dlt-0-12",
      failedRecord: RECORD,
      payload,
      origin: { key: "order-4" },
    });
    const arrivals = [{ source: "orders", letter }];
    const [outcome] = await parkEvents({ ...world.deps, clock }, arrivals, localViewer("tester"));
    return { outcome, looks };
  }
  /** One event whose send is under way. `end` commits its receipt. */
  async function sending() {
    await world.park(1, () => ({ origin: { key: "order-4" } }));
    const { id: redriveId } = await world.request();
    const [item] = await claim(redriveId);
    await storeOpenSend(world.db, item!);
    const end = async () => {
      const outcome: ItemOutcome = { kind: "delivered", code: RECORD, record: RECORD };
      const after = eventAfter(outcome, item!, await readSettings(world.db), Date.now());
      const closes = [endOf(item!, { state: "delivered", code: RECORD })];
      await finishItems(world.deps, redriveId, [{ item: item!, outcome, after, attempts: 1, findings: [], closes }]);
    };
    return { end };
  }
  const SENT = deadLetter().payload as Buffer;

  test("waits for that receipt, however late a busy store commits it, and is a bounce", async () => {
    const { end } = await sending();
    const { outcome } = await arrives(SENT, async (looks) => {
      if (looks === 60) await end();
    });
    expect(outcome).toBe("bounced");
    expect(await world.statuses()).toEqual({ PENDING: 1 });
    expect(await world.event("event-0000")).toMatchObject({ bounces: 1 });
  });

  test("does not wait for a send of other bytes", async () => {
    const { end } = await sending();
    expect(await arrives(Buffer.from('{"orderId": 78}'), async () => undefined)).toEqual({
      outcome: "parked",
      looks: 0,
    });
    await end();
  });

  test("waits ten seconds for a send that does not end, and is an event of its own", async () => {
    const { end } = await sending();
    expect(await arrives(SENT, async () => undefined)).toEqual({ outcome: "parked", looks: 100 });
    await end();
    expect(await world.statuses()).toEqual({ PENDING: 1, REDRIVEN: 1 });
  });
});
