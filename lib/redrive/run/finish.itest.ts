import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { confirmEvents } from "@/lib/intake/confirm-events";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { reconcile } from "@/lib/redrive/life/reconcile";
import { startWaiting } from "@/lib/redrive/life/start-redrive";
import type { EventAfter } from "@/lib/redrive/run/event-after.pure";
import type { Finish } from "@/lib/redrive/run/finish";
import { createFinisher, finishItems } from "@/lib/redrive/run/finish";
import type { SliceItem } from "@/lib/redrive/run/store/slice-items.read";
import type { ItemOutcome } from "@/lib/states/item-outcome.pure";
import { openWorld, type World } from "@/lib/testing/redrive-world";
import { loseSlices, takeItems } from "@/lib/testing/slice-items";

let world: World;
/** Set by a test that breaks the store by hand: its rows contradict each other on purpose. */
let tampered = false;

beforeEach(async () => {
  world = await openWorld({ redisUrl: null });
  tampered = false;
});
afterEach(async () => {
  const broken = tampered ? [] : await world.broken();
  await world.close();
  expect(broken).toEqual([]);
});

const DELIVERED: ItemOutcome = { kind: "delivered", code: "HTTP 200" };
const REDRIVEN: EventAfter = {
  status: "REDRIVEN",
  statusIfBounced: "PENDING",
  failures: 0,
  redrives: 1,
  cooldownUntilMs: null,
  confirmedAtMs: null,
};

function take(redriveId: string): Promise<SliceItem[]> {
  return takeItems(world.db, { redriveId, slices: [0, 0], limit: 100 });
}

function finish(item: SliceItem, outcome = DELIVERED, after: EventAfter | null = REDRIVEN): Finish {
  return { item, outcome, after, attempts: 1, findings: [], closes: [] };
}

const entries = async (action: string) =>
  (await world.db.query("select id from audit_entries where action = $1", [action])).length;

describe("the finish of an item", () => {
  test("by a worker that lost it changes nothing; the new holder's counts (I3)", async () => {
    await world.park(2, (index) => ({ aggregateId: `order-${index}`, version: 1n }));
    const { id } = await world.request();
    const stale = await take(id);
    await loseSlices(world.db);
    const fresh = await take(id);
    expect(fresh).toHaveLength(2);

    const lost = await finishItems(
      world.deps,
      id,
      stale.map((item) => finish(item)),
    );
    expect(lost).toEqual(new Set());
    expect(await world.statuses()).toEqual({ QUEUED: 2 });
    expect(await world.redrive(id)).toMatchObject({ delivered: 0, open: 2, state: "RUNNING" });
    expect(await entries("event.redriven")).toBe(0);

    const won = await finishItems(
      world.deps,
      id,
      fresh.map((item) => finish(item)),
    );
    expect(won.size).toBe(2);
    expect(await world.statuses()).toEqual({ REDRIVEN: 2 });
    expect(await world.redrive(id)).toMatchObject({ delivered: 2, open: 0, state: "DONE" });
    expect(await entries("event.redriven")).toBe(1);
  });

  test("by a worker that lost it and took it again counts once, though both ends come together", async () => {
    await world.park(1, () => ({ aggregateId: "order-1", version: 1n }));
    const { id } = await world.request();
    const [stale] = await take(id);
    await loseSlices(world.db);
    const [fresh] = await take(id);
    const after: EventAfter = { ...REDRIVEN, status: "PENDING", failures: 1, cooldownUntilMs: Date.now() + 60_000 };
    const failed: ItemOutcome = { kind: "failed", code: "HTTP_422", detail: "no", untilMs: null };
    const finisher = createFinisher(world.deps, id);
    // The first commit is under way while the two ends are put into the next batch.
    const ends = [finisher.push(finish({ ...fresh!, id: randomUUID() })), finisher.push(finish(stale!, failed, after))];
    expect(await Promise.all([...ends, finisher.push(finish(fresh!))])).toEqual([false, false, true]);
    expect(await world.redrive(id)).toMatchObject({ delivered: 1, failed: 0, state: "DONE" });
    expect(await entries("event.failed")).toBe(0);
  });

  test("counts once, however often it is committed", async () => {
    await world.park(1);
    const { id } = await world.request();
    const [item] = await take(id);
    const both = await Promise.all([finish(item!), finish(item!)].map((one) => finishItems(world.deps, id, [one])));
    expect(both.map((won) => won.size).sort()).toEqual([0, 1]);
    expect(await world.redrive(id)).toMatchObject({ delivered: 1, open: 0 });
  });

  test("as delivered adds nothing to an index of the events or of the manifest, and neither did the freeze to one of the events", async () => {
    // All versions of their rows fit on one page: with more events PostgreSQL needs the room of old versions, which a snapshot elsewhere keeps.
    await world.park(6, (index) => ({ aggregateId: `order-${index}`, version: 1n }));
    const { id } = await world.request();
    const items = await takeItems(world.db, { redriveId: id, limit: 6 });
    await finishItems(
      world.deps,
      id,
      items.map((item) => finish(item)),
    );
    expect(await world.statuses()).toEqual({ REDRIVEN: 6 });
    await expect
      .poll(async () => {
        // Each connection of the pool reports what it has counted.
        await Promise.all(
          Array.from({ length: 6 }, () => world.db.query("select pg_stat_force_next_flush(), pg_sleep(0.05)")),
        );
        return world.db.query(
          `select sum(n_tup_upd)::int as updates, sum(n_tup_hot_upd)::int as hot from pg_stat_user_tables
            where relname like 'dlq\\_events\\_2%' or relname = 'redrive_items'`,
        );
      })
      .toEqual([{ updates: 18, hot: 18 }]);
  });

  test("moves the event from QUEUED alone (I2)", async () => {
    await world.park(1);
    const { id } = await world.request();
    const [item] = await take(id);
    // Nothing in the product leaves an open item with such an event; a finish must not repair it silently.
    tampered = true;
    await world.db.run("update dlq_events set status = 'IGNORED'");
    await finishItems(world.deps, id, [finish(item!)]);
    expect(await world.statuses()).toEqual({ IGNORED: 1 });
    expect(await entries("event.redriven")).toBe(0);
  });

  test("leaves the event to the person who asked for the redrive, and keeps what a target said, also words that are no Postgres text", async () => {
    await world.park(2);
    const { id } = await world.request();
    const [first, second] = await take(id);
    const failed: ItemOutcome = { kind: "failed", code: "HTTP 400", detail: "no\u0000 such \ud800 order" };
    await finishItems(world.deps, id, [
      finish(first!),
      finish(second!, failed, { ...REDRIVEN, status: "PENDING", failures: 1 }),
    ]);
    expect(await world.db.query("select distinct last_operator from dlq_events")).toEqual([{ last_operator: "ada" }]);
    const [row] = await world.db.query("select result, detail from redrive_items where state = 'failed'");
    expect(row).toEqual({ result: "HTTP 400", detail: "no\u2400 such \ufffd order" });
  });

  test("that the store refuses is set aside by name, and its neighbours commit once; a count of attempts stops at the end of its column", async () => {
    await world.park(9, (index) => ({ aggregateId: `order-${index}`, version: 1n }));
    const { id } = await world.request();
    await world.db.run("update dlq_events set attempts = 2147483647 where event_id = 'event-0001'");
    const taken = await take(id);
    await world.db.run(
      `alter table dlq_events add constraint refuses check (event_id <> 'event-0005' or status <> 'REDRIVEN')`,
    );
    const won = await finishItems(
      world.deps,
      id,
      taken.map((item) => finish(item)),
    );
    expect(won.size).toBe(9);
    expect(await world.redrive(id)).toMatchObject({
      state: "DONE",
      delivered: 8,
      failed: 1,
      failedByReason: { "finish-rejected": 1 },
    });
    const [item] = await world.db.query(
      "select e.event_id, i.detail from redrive_items i join dlq_events e on e.id = i.id where i.state = 'failed'",
    );
    expect(item).toEqual({
      event_id: "event-0005",
      detail: expect.stringMatching(/^the send ended as delivered, but the store refused to record it: .*"refuses"/),
    });
    expect(await world.event("event-0005")).toMatchObject({ status: "PENDING", failures: 1, redrives: 1 });
    expect(await world.event("event-0001")).toMatchObject({ status: "REDRIVEN", attempts: 2_147_483_647 });
    expect(await entries("event.redriven")).toBeGreaterThan(0);
  });

  test("counts all sends of a redrive when its item ends, also those of an earlier owner, and so do a cancel and an ignore", async () => {
    await world.park(3, () => ({ attempts: 4 }));
    const events = await world.idsOf();
    const ends = [
      async (id: string) => finishItems(world.deps, id, [{ ...finish((await take(id))[0]!), attempts: 3 }]),
      (id: string) => changeRedrive(world.deps, { id, change: { action: "cancel" } }, localViewer("ada")),
      () => ignoreEvents(world.deps, { select: { ids: [events[2]!] }, reason: "test data" }, localViewer("ada")),
    ];
    for (const [place, end] of ends.entries()) {
      const { id } = await world.request({ select: { ids: [events[place]!] } });
      const [first] = await take(id);
      // It is handed back: item and event stay as they were, for the next owner.
      const back = { ...finish(first!, { kind: "back" }, null), attempts: 2 };
      expect((await finishItems(world.deps, id, [back])).size).toBe(1);
      expect(await world.redrive(id)).toMatchObject({ delivered: 0, open: 1 });
      expect(await world.event(first!.eventId)).toMatchObject({ status: "QUEUED", attempts: 4 });
      await end(id);
      expect(await world.event(first!.eventId)).toMatchObject({ attempts: 4 + (place === 0 ? 3 : 2) });
    }
  });

  test("of an item that was ignored meanwhile changes nothing; what waited behind it in another redrive is woken, and so is what waited behind a cancelled one", async () => {
    await world.park(3, (index) => ({ aggregateId: "order-1", version: BigInt(index + 1) }));
    const redrives: string[] = [];
    for (const event of await world.idsOf()) {
      redrives.push((await world.request({ select: { ids: [event] }, earlier: "pass" })).id);
    }
    const [first, second, third] = redrives as [string, string, string];
    const [item] = await take(first);
    for (const id of [second, third]) {
      const [behind] = await take(id);
      await finishItems(world.deps, id, [finish(behind!, { kind: "behind" }, null)]);
      expect(await take(id)).toEqual([]);
    }

    await ignoreEvents(world.deps, { select: { ids: [item!.id] }, reason: "test data" }, localViewer("ada"));
    expect(await finishItems(world.deps, first, [finish(item!)])).toEqual(new Set());
    expect(await world.event(item!.eventId)).toMatchObject({ status: "IGNORED" });
    expect(await take(second)).toHaveLength(1);
    expect(await take(third)).toEqual([]);

    await changeRedrive(world.deps, { id: second, change: { action: "cancel" } }, localViewer("ada"));
    expect(await take(third)).toHaveLength(1);
  });

  test("is all or nothing: without its audit entry nothing of it is kept (I12)", async () => {
    // The last item would also end the redrive, which has an entry of its own.
    await world.park(2);
    const { id } = await world.request();
    const [item] = await take(id);
    await world.db.run("alter table audit_entries rename to gone");
    await expect(finishItems(world.deps, id, [finish(item!)])).rejects.toThrow();
    await world.db.run("alter table gone rename to audit_entries");
    expect(await world.statuses()).toEqual({ QUEUED: 2 });
    expect(await world.redrive(id)).toMatchObject({ delivered: 0, open: 2 });
    await finishItems(world.deps, id, [finish(item!)]);
    expect(await world.statuses()).toEqual({ QUEUED: 1, REDRIVEN: 1 });
  });
});

describe("a confirmation that crosses the end of its own send counts at once", () => {
  /** `db`, whose transactions run `step` once, after the statement of this name. */
  function stepped(name: string, step: () => Promise<void>): World["db"] {
    let done = false;
    const onward = async <T>(answer: T, options?: { name?: string }): Promise<T> => {
      if (options?.name === name && !done) {
        done = true;
        await step();
      }
      return answer;
    };
    return {
      ...world.db,
      transaction: (work, settings) =>
        world.db.transaction(
          (tx) =>
            work({
              ...tx,
              query: async <T>(text: string, values?: readonly unknown[], options?: { name?: string }) =>
                onward(await tx.query<T>(text, values, options), options),
              run: async (text: string, values?: readonly unknown[], options?: { name?: string }) =>
                onward(await tx.run(text, values, options), options),
            }),
          settings,
        ),
    };
  }
  /** Resolves when `work` is done, or waits for a lock. */
  async function doneOrWaiting(work: Promise<unknown>): Promise<void> {
    let done = false;
    work.then(() => {
      done = true;
    });
    const locked = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    await expect.poll(async () => done || (await world.db.query(locked)).length > 0, { interval: 10 }).toBe(true);
  }
  const confirm = (deps: World["deps"]) =>
    confirmEvents(deps, { source: "orders", eventIds: ["event-0000"], consumer: "billing" }, localViewer("ada"));
  const confirmed = async () => (await world.event("event-0000")).confirmed_at !== null;

  test("when it has read the event before the end of the send is committed", async () => {
    await world.park(1);
    const { id } = await world.request();
    const [item] = await take(id);
    let end: Promise<unknown> = Promise.resolve();
    const db = stepped("record-processed", async () => {
      end = createFinisher(world.deps, id).push(finish(item!));
      await doneOrWaiting(end);
    });
    const answer = await confirm({ ...world.deps, db });
    expect(answer).toMatchObject({ changed: 0, recorded: 1, refused: {} });
    await end;
    expect(await confirmed()).toBe(true);
  });

  test("when the end of the send is not committed yet", async () => {
    await world.park(1);
    const { id } = await world.request();
    const [item] = await take(id);
    let word: ReturnType<typeof confirm> | null = null;
    const db = stepped("move-finished-events", async () => {
      word = confirm(world.deps);
      await doneOrWaiting(word);
    });
    await createFinisher({ ...world.deps, db }, id).push(finish(item!));
    expect(await word).toMatchObject({ changed: 1, refused: {} });
    expect(await confirmed()).toBe(true);
  });

  test("when the send ends as failed, or as refused", async () => {
    await world.park(2);
    const { id } = await world.request();
    const items = await take(id);
    const word = { source: "orders", eventIds: items.map(({ eventId }) => eventId), consumer: "billing" };
    expect(await confirmEvents(world.deps, word, localViewer("ada"))).toMatchObject({ changed: 0, recorded: 2 });
    const after: EventAfter = { ...REDRIVEN, status: "PENDING", cooldownUntilMs: Date.now() + 60_000, failures: 1 };
    const finisher = createFinisher(world.deps, id);
    await Promise.all([
      finisher.push(finish(items[0]!, { kind: "failed", code: "TIMEOUT", detail: "no answer", untilMs: null }, after)),
      finisher.push(
        finish(
          items[1]!,
          { kind: "refused", refusal: "cooling", detail: "it cools down" },
          {
            ...after,
            failures: 0,
          },
        ),
      ),
    ]);
    expect(await world.statuses()).toEqual({ REDRIVEN: 2 });
    expect((await world.event(items[0]!.eventId)).cooldown_until).toBeNull();
    const said = await world.db.query("select before, after from audit_entries where action = 'event.confirmed'");
    const entry = { before: { status: "PENDING", confirmed: false }, after: { status: "REDRIVEN", confirmed: true } };
    expect(said.length).toBeGreaterThan(0);
    for (const each of said) expect(each).toEqual(entry);
  });

  test("when the redrive is cancelled; but no word from before the redrive, when nothing was delivered", async () => {
    await world.park(1);
    const cancel = async (id: string) => {
      await changeRedrive(world.deps, { id, change: { action: "cancel" } }, localViewer("ada"));
      expect(await world.redrive(id)).toMatchObject({ cancelled: 1 });
    };
    const { id } = await world.request();
    expect(await confirm(world.deps)).toMatchObject({ changed: 0, recorded: 1 });
    await cancel(id);
    expect(await confirmed()).toBe(true);
    // It came back since, and its consumer has said nothing new.
    await world.db.run("update dlq_events set status = 'PENDING', confirmed_at = null, confirmed_redrive = null");
    tampered = true;
    await cancel((await world.request({ mode: "verify" })).id);
    expect(await confirmed()).toBe(false);
  });
});

describe("a redrive whose work the store refuses holds no other one up", () => {
  /** Three redrives of one event each; the store refuses `check` of the first. */
  async function three(check: string, change = {}): Promise<string[]> {
    await world.park(3);
    const redrives: string[] = [];
    for (const event of await world.idsOf()) {
      redrives.push((await world.request({ select: { ids: [event] }, ...change })).id);
    }
    await world.db.run(
      `alter table redrives add constraint refused check (id <> '${redrives[0]}' or ${check}) not valid`,
    );
    return redrives;
  }
  const states = async (ids: string[]) => Promise.all(ids.map(async (id) => (await world.redrive(id)).state));

  test("not its start", async () => {
    const ids = await three("state <> 'RUNNING'", { startAt: new Date(Date.now() + 3_600_000).toISOString() });
    await world.db.run("update redrives set start_at = now()");
    await startWaiting(world.deps);
    expect(await states(ids)).toEqual(["PLANNED", "RUNNING", "RUNNING"]);
  });

  test("not the return of its cancelled items", async () => {
    const ids = await three("cancelled = 0");
    await world.db.run("update redrives set state = 'CANCELLED', cancelled_by = 'ada'");
    await reconcile(world.deps);
    const open = await Promise.all(ids.map(async (id) => (await world.redrive(id)).open));
    expect(open).toEqual([1, 0, 0]);
    tampered = true;
  });
});
