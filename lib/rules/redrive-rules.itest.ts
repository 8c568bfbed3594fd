import { describe, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { confirmEvents } from "@/lib/intake/confirm-events";
import { parkEvents } from "@/lib/intake/park-events";
import { imposeControl } from "@/lib/order/controls/impose-control";
import type { Db } from "@/lib/platform/database/db";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { changeRedriveRule, createRedriveRule, REDRIVE_RULES } from "@/lib/rules/redrive-rules";
import { redriveRuleRequestSchema, redriveRuleTrySchema } from "@/lib/rules/redrive-rules.shapes";
import { runRedriveRules } from "@/lib/rules/run-redrive-rules";
import { tryRedriveRule } from "@/lib/rules/try-redrive-rule";
import { deadLetter } from "@/lib/testing/letters";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const ada = localViewer("ada");
const MINUTE = 60_000;

const world = worldOfEachTest();

const BODY = {
  filter: { source: ["orders"], errorCode: ["TIMEOUT"] },
  delayMs: 30 * MINUTE,
  canary: false,
  everyMs: 1_000,
};
let names = 0;

/** A rule that is on. */
async function rule(change: Record<string, unknown> = {}): Promise<string> {
  const {
    name: _name,
    reason: _reason,
    ...body
  } = redriveRuleRequestSchema.parse({
    name: "x",
    reason: "y",
    ...BODY,
    ...change,
  });
  const { id } = await createRedriveRule(world.deps, { ...body, name: `rule ${++names}`, reason: "tested" }, ada);
  const trial = await tryRedriveRule(world.deps, redriveRuleTrySchema.parse({ rule: body }), ada);
  await changeRedriveRule(world.deps, { id, change: { enabled: true, trial: trial.id, reason: "tested" } }, ada);
  return id;
}

/** Parks events of so many minutes ago. */
async function parkOld(minutes: number, eventIds: readonly string[], change: Parameters<typeof deadLetter>[0] = {}) {
  const arrivals = eventIds.map((eventId) => ({
    source: "orders",
    letter: deadLetter({ eventId, aggregateId: null, version: null, errorCode: "TIMEOUT", ...change }),
  }));
  await parkEvents(world.deps, arrivals, localViewer("tester"), {
    atMs: world.deps.clock.wallMs() - minutes * MINUTE,
  });
}

const round = (db: Db = world.db) => runRedriveRules({ ...world.deps, db });
const read = (id: string) => REDRIVE_RULES.read(world.db, ada, id);
const queued = async () =>
  (
    await world.db.query<{ eventId: string }>(
      `select event_id as "eventId" from dlq_events where status = 'QUEUED' order by event_id`,
    )
  ).map(({ eventId }) => eventId);
const redrives = () =>
  world.db.query<{ id: string; createdBy: string; total: number; lane: string }>(
    `select id, created_by as "createdBy", total, lane from redrives order by id`,
  );
const audits = (id: string) =>
  world.db.query<{ action: string; actor: string; reason: string }>(
    "select action, actor, reason from audit_entries where subject_kind = 'redrive-rule' and subject_id = $1 order by id",
    [id],
  );
/** Ends every redrive, so that a rule may run again at once. */
async function cancelAll(): Promise<void> {
  for (const { id } of await redrives()) {
    await changeRedrive(world.deps, { id, change: { action: "cancel" } }, ada).catch(() => undefined);
  }
  await world.db.run("update redrive_rule_runs set at = at - interval '2 hours'");
}

describe("a rule switches itself off", () => {
  test("when too many of its events fail or bounce, and says so", async () => {
    await parkOld(40, ["a"]);
    const id = await rule();
    await round();
    await cancelAll();
    await world.db.run("update redrive_rule_runs set at = now()");
    await world.db.run("update redrives set delivered = 8, failed = 1, bounced = 1");
    await round();
    expect((await read(id)).enabled).toBe(true);
    await world.db.run("update redrives set delivered = 8, failed = 2, bounced = 1");
    await round();
    const reason = "2 failed and 1 bounced of 10 sent (30%, limit 20%)";
    expect(await read(id)).toMatchObject({ enabled: false, stopped: { reason } });
    await world.db.run("update redrives set delivered = 0, failed = 0, bounced = 0");
    expect((await audits(id)).at(-1)).toMatchObject({
      action: "redrive-rule.stopped",
      reason,
      actor: expect.stringMatching(/^rule:/),
    });
  });

  test("when its redrive is paused by the brake, with the brake", async () => {
    await parkOld(
      40,
      Array.from({ length: 60 }, (_, index) => `event-${index}`),
    );
    world.sink.answer = () => 422;
    const id = await rule({ ratePerSecond: 25 });
    await world.worker();
    await expect.poll(async () => (await read(id)).enabled).toBe(false);
    expect((await read(id)).stopped?.reason).toMatch(/^its redrive was paused: brake: \d+ failed/);
    expect((await audits(id)).filter(({ action }) => action === "redrive-rule.stopped")).toHaveLength(1);
  });
});

describe("a round", () => {
  test("asks for one ordinary redrive of what is due, as the rule, on its lane", async () => {
    await parkOld(40, ["old-1", "old-2"]);
    await parkOld(10, ["young"]);
    await parkOld(40, ["other"], { errorCode: "VALIDATION_ERROR" });
    const id = await rule();
    expect(await round()).toBe(1);
    expect(await queued()).toEqual(["old-1", "old-2"]);
    const { name } = await read(id);
    expect(await redrives()).toMatchObject([{ createdBy: `rule:${name}`, total: 2, lane: "slow" }]);
    expect(await read(id)).toMatchObject({ lastHour: 2, lastRun: { events: 2, live: true } });
    // The redrive is under way: nothing more is asked for.
    await parkOld(40, ["old-3"]);
    expect(await round()).toBe(0);
  });

  test("takes the events of a tag, a type, words with a number or an aggregate, and no others", async () => {
    await parkOld(40, ["a", "b"]);
    const error = { type: "com.acme.StockException", message: "503 for order-78", stack: null };
    await parkOld(40, ["tag"], { tags: { orderId: "78" } });
    await parkOld(40, ["type"], { eventType: "OrderPaid" });
    await parkOld(40, ["words"], { error });
    await parkOld(40, ["aggregate"], { aggregateId: "order-78" });
    await rule({ filter: { tags: { orderId: ["78"] } } });
    await rule({ filter: { eventType: ["OrderPaid"] } });
    await rule({ filter: { q: "order-78" } });
    await rule({ filter: { aggregateId: ["order-78"] } });
    expect(await round()).toBe(4);
    expect(await queued()).toEqual(["aggregate", "tag", "type", "words"]);
    expect((await redrives()).map(({ total }) => total)).toEqual([1, 1, 1, 1]);
  });

  test("of two workers at once makes one redrive", async () => {
    await parkOld(40, ["a", "b", "c"]);
    await rule();
    // The second one finds the events and makes the run while the first one is about to.
    expect(await round(beforeStatement("insert into redrives", () => round()))).toBe(0);
    expect(await redrives()).toMatchObject([{ total: 3 }]);
  });

  test("of a worker that dies between finding and requesting loses nothing and doubles nothing", async () => {
    await parkOld(40, ["a"]);
    const id = await rule();
    await expect(round(failingAt("insert into redrive_rule_runs"))).resolves.toBe(0);
    expect(await redrives()).toEqual([]);
    expect(await read(id)).toMatchObject({ lastHour: 0, fault: expect.stringMatching(/log/) });
    expect(await round()).toBe(1);
    expect(await redrives()).toMatchObject([{ total: 1 }]);
    expect(await read(id)).toMatchObject({ fault: null });
  });

  test("makes nothing when the rule is switched off or moved between finding and requesting", async () => {
    await parkOld(40, ["a"]);
    for (const change of [{ enabled: false }, { position: 1 }]) {
      const id = await rule();
      const db = beforeStatement("insert into redrives", () =>
        changeRedriveRule(world.deps, { id, change: { ...change, reason: "tested" } }, ada),
      );
      expect(await round(db)).toBe(0);
    }
    expect(await redrives()).toEqual([]);
    expect(await queued()).toEqual([]);
  });

  test("keeps the limits of a run, an hour and a day", async () => {
    await parkOld(40, ["a", "b", "c", "d", "e", "f"]);
    const id = await rule({ limits: { eventsPerRun: 2, eventsPerHour: 3, eventsPerDay: 5 } });
    const runs: number[] = [];
    for (let turn = 0; turn < 4; turn++) {
      await round();
      runs.push((await read(id)).lastDay);
      for (const { id: redriveId } of await redrives()) {
        await changeRedrive(world.deps, { id: redriveId, change: { action: "cancel" } }, ada).catch(() => undefined);
      }
      await world.db.run("update redrive_rule_runs set at = at - interval '40 minutes'");
    }
    // Two; one more within the hour; then the first two are more than an hour ago: two; then the day is full.
    expect(runs).toEqual([2, 3, 5, 5]);
  });

  test("leaves an event after its redrives by rules, whichever rule made them", async () => {
    await parkOld(40, ["a"]);
    await rule({ redrivesPerEvent: 2 });
    for (let turn = 0; turn < 4; turn++) {
      await round();
      await cancelAll();
    }
    expect(await redrives()).toHaveLength(2);
  });

  test("leaves an event to the first rule whose filter matches, due or not", async () => {
    await parkOld(40, ["a"]);
    const first = await rule({ delayMs: 60 * MINUTE });
    await rule();
    expect(await round()).toBe(0);
    await changeRedriveRule(world.deps, { id: first, change: { enabled: false, reason: "tested" } }, ada);
    expect(await round()).toBe(1);
  });

  test("obeys controls, marks and the order of an aggregate", async () => {
    await parkOld(40, ["blacklisted"]);
    await parkOld(40, ["head"], { aggregateId: "77", version: 1n, errorCode: "VALIDATION_ERROR" });
    await parkOld(40, ["tail"], { aggregateId: "77", version: 2n });
    await parkOld(40, ["first"], { aggregateId: "78", version: 1n });
    await parkOld(40, ["second"], { aggregateId: "78", version: 2n });
    await parkOld(40, ["marked"]);
    await world.db.run("update dlq_events set admission = 'confirm' where event_id = 'marked'");
    await imposeControl(
      world.deps,
      { kind: "blacklist", scope: { eventId: "blacklisted", source: "orders" }, reason: "tested" },
      ada,
    );
    await rule();
    await round();
    expect(await queued()).toEqual(["first", "second"]);
    expect((await redrives())[0]).toMatchObject({ total: 2 });
  });

  test("waits until the same group succeeded, after the event failed", async () => {
    await parkOld(60, ["before"]);
    await parkOld(50, ["a", "b"]);
    await rule({ onlyIf: { groupSucceeded: true } });
    expect(await round()).toBe(0);
    await confirmEvents(world.deps, { select: { ids: await world.idsOf(["before"]) }, reason: "seen" }, ada);
    await world.db.run("update dlq_events set confirmed_at = now() - interval '55 minutes' where event_id = 'before'");
    expect(await round()).toBe(0);
    await world.db.run("update dlq_events set confirmed_at = now() - interval '5 minutes' where event_id = 'before'");
    expect(await round()).toBe(1);
    expect(await queued()).toEqual(["a", "b"]);
  });

  test("waits while the breaker of the source's target is open", async () => {
    await parkOld(40, ["a"]);
    await rule();
    await world.db.run("update targets set breaker_force = 'open' where lane = 'slow'");
    expect(await round()).toBe(0);
    await world.db.run("update targets set breaker_force = null");
    expect(await round()).toBe(1);
  });
});

/** The store, with an error in place of a statement: what a killed worker leaves behind. */
function failingAt(text: string): Db {
  return beforeStatement(text, () => Promise.reject(new Error("killed")));
}

function beforeStatement(part: string, act: () => Promise<unknown>): Db {
  let done = false;
  return {
    ...world.db,
    transaction: (work, options) =>
      world.db.transaction((tx) => {
        const before =
          <Args extends [string, ...unknown[]], T>(run: (...args: Args) => Promise<T>) =>
          async (...args: Args) => {
            if (!done && args[0].includes(part)) {
              done = true;
              await act();
            }
            return run(...args);
          };
        return work({ ...tx, query: before(tx.query) as typeof tx.query, run: before(tx.run) });
      }, options),
  };
}
