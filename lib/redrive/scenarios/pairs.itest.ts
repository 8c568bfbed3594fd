import { describe, expect, test } from "vitest";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { shownApproval } from "@/lib/guard/approvals/approvals.read";
import { decideApproval } from "@/lib/guard/approvals/decide-approval";
import { imposeStop, resumeSends } from "@/lib/guard/stops/change-stop";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { readStatus } from "@/lib/observe/health/status.read";
import { skipHead, undoSkip } from "@/lib/order/skip-head";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import type { RedriveChange } from "@/lib/redrive/request/redrive-request.shapes";
import { readRedriveRule } from "@/lib/rules/redrive-rules.read";
import { redriveRuleRequestSchema, redriveRuleTrySchema } from "@/lib/rules/redrive-rules.shapes";
import { runRedriveRules } from "@/lib/rules/run-redrive-rules";
import { changeRedriveRule, createRedriveRule } from "@/lib/rules/store-redrive-rule";
import { tryRedriveRule } from "@/lib/rules/try-redrive-rule";
import { addTarget } from "@/lib/sources/targets/add-target";
import { changeTarget } from "@/lib/sources/targets/change-target";
import { removeTarget } from "@/lib/sources/targets/remove-target";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

/** Features of a redrive that meet: each is proven alone elsewhere. */

const [ada, bob] = [localViewer("ada"), localViewer("bob")];
const HOUR_MS = 3_600_000;
const later = () => new Date(Date.now() + HOUR_MS).toISOString();
const everything = { target: null, reason: "stock answers with wrong data" };
const reason = "tested";

describe("a redrive", () => {
  const world = worldOfEachTest();

  const change = (id: string, what: RedriveChange, by = ada) => changeRedrive(world.deps, { id, change: what }, by);
  const stop = (target: string | null = null) => imposeStop(world.deps, { ...everything, target }, ada);
  const resume = (target: string | null = null) => resumeSends(world.deps, { ...everything, target }, ada);
  const sent = () => world.sink.arrived.length;
  const keys = () => new Set(world.sink.arrived.map(({ key }) => key)).size;
  const once = (count: number) => expect([sent(), keys()]).toEqual([count, count]);
  const stalled = async (id: string) => (await world.redrive(id)).stalled?.code ?? null;
  const marked = (source = "orders") =>
    world.db.run("update sources set needs_approval = true where name = $1", [source]);
  const decide = async (id: string, decision: "approve" | "reject") =>
    decideApproval(
      world.deps,
      { id, decision: { decision, reason, digest: (await shownApproval(world.db, bob, id)).digest } },
      bob,
    );
  const canary = (steps: number[], quietMs = 600_000) => ({ steps, stopAtFailureRatio: 0.3, window: 40, quietMs });
  const waiting = (id: string) =>
    expect.poll(async () => (await world.redrive(id)).canary?.waitingUntil).toEqual(expect.any(String));
  const parkVersions = (...versions: number[]) =>
    world.park(versions.length, (index) => ({
      ...{ eventId: `v${versions[index]}`, aggregateId: "order-7", aggregateType: "order" },
      version: BigInt(versions[index]!),
    }));
  const ids = (...names: string[]) => world.idsOf(names);
  const actions = async (id: string) =>
    (
      await world.db.query<{ entry: string }>(
        `select actor || ' ' || action as entry from audit_entries where redrive_id = $1 and subject_kind = 'redrive' order by id`,
        [id],
      )
    ).map(({ entry }) => entry);

  test("whose canary waits goes on with its step on another lane, and back, while everything is stopped", async () => {
    await world.park(20);
    await Promise.all([world.worker(), world.worker()]);
    const { id } = await world.request({ canary: canary([2, 5]) });
    await waiting(id);
    expect(sent()).toBe(2);
    await stop();
    for (const lane of ["slow", "main", "slow"] as const) await change(id, { lane });
    await world.db.run("update redrives set waiting_until = now() where id = $1", [id]);
    await expect.poll(async () => (await world.redrive(id)).canary?.released).toBe(5);
    expect(await stalled(id)).toBe("stopped");
    expect(sent()).toBe(2);
    await resume();
    await waiting(id);
    await expect.poll(sent).toBe(5);
    expect(await stalled(id)).toBeNull();
    await change(id, { action: "pause" });
    await change(id, { lane: "main" });
    await change(id, { action: "resume", ratePerSecond: 50 });
    await world.db.run("update redrives set waiting_until = now() where id = $1", [id]);
    expect(await world.ended(id)).toMatchObject({ delivered: 20, failed: 0, lane: "main" });
    once(20);
  });

  test("that is held while everything is stopped starts after both, and its undo is refused once it may send", async () => {
    await world.park(4);
    await world.worker();
    await stop();
    const { id } = await world.request({ holdMs: 1_000 });
    const over = () => world.db.query("select 1 from redrives where hold_until < now()");
    await expect.poll(over).toHaveLength(1);
    expect(await stalled(id)).toBe("stopped");
    await expect(change(id, { action: "undo" })).rejects.toMatchObject({ code: "illegal-transition" });
    await resume();
    expect(await world.ended(id)).toMatchObject({ delivered: 4 });
    once(4);
  });

  test("whose time comes while its target is stopped waits for that by name, and its cancel gives all back", async () => {
    await world.park(3);
    await world.worker();
    const { id } = await world.request({ startAt: later() });
    await stop("orders");
    await world.db.run("update redrives set start_at = now() where id = $1", [id]);
    await expect.poll(async () => (await world.redrive(id)).state).toBe("RUNNING");
    expect((await world.redrive(id)).stalled).toMatchObject({ code: "stopped", target: "orders" });
    await change(id, { action: "cancel", reason });
    expect(await world.ended(id)).toMatchObject({ cancelled: 3, delivered: 0 });
    await resume("orders");
    expect(await world.statuses()).toEqual({ PENDING: 3 });
    once(0);
  });

  test("that waits for an approval and a time starts by its resume when both came while it was paused", async () => {
    await marked();
    await world.park(3);
    await world.worker();
    const startAt = new Date(Date.now() + 2_000).toISOString();
    const { id, waitsFor } = await world.request({ startAt, holdMs: 1_000 });
    expect(waitsFor).toEqual(["approval", "time"]);
    await change(id, { action: "pause" });
    expect((await world.redrive(id)).stalled?.text).toMatch(
      /After a resume it still waits for the approval of a second/,
    );
    await expect(change(id, { action: "start" })).rejects.toMatchObject({
      code: "illegal-transition",
      fields: [{ field: "action", detail: "it is PAUSED: resume it first, or cancel it" }],
    });
    await decide(id, "approve");
    await expect.poll(async () => (await world.redrive(id)).waitsFor, { timeout: 20_000 }).toEqual([]);
    expect(await world.redrive(id)).toMatchObject({ state: "PAUSED", stalled: { code: "paused" } });
    await change(id, { action: "resume" });
    expect(await world.ended(id)).toMatchObject({ delivered: 3 });
    expect(await actions(id)).toEqual([
      "ada redrive.requested",
      "ada redrive.approval-asked",
      "ada redrive.paused",
      "bob redrive.approved",
      "ada redrive.resumed",
      "worker redrive.finished",
    ]);
    once(3);
  });

  test("that waits for an approval is over when all of its events are ignored, and no count keeps it", async () => {
    await marked();
    await world.park(3);
    const { id } = await world.request({ startAt: later() });
    await ignoreEvents(world.deps, { select: { filter: {} }, reason }, ada);
    expect(await world.redrive(id)).toMatchObject({ state: "DONE", refused: 3, approval: { state: "withdrawn" } });
    expect(await readStatus(world.db, bob)).toMatchObject({ approvalsWaiting: 0, approvalsForViewer: 0 });
    await expect(decide(id, "approve")).rejects.toMatchObject({ code: "illegal-transition" });
    expect(await world.statuses()).toEqual({ IGNORED: 3 });
  });

  test("of a tail waits for the one of its head that nobody has approved, by name, and goes on when that is rejected", async () => {
    await parkVersions(1, 2, 3);
    await world.worker();
    await world.db.run("update targets set needs_approval = true where name = 'orders.slow'");
    const head = await world.request({ select: { ids: await ids("v1") }, lane: "slow" });
    expect(head.waitsFor).toEqual(["approval"]);
    const [released, behind] = [
      await world.request({ select: { ids: await ids("v2") }, earlier: "pass" }),
      await world.request({ select: { ids: await ids("v3") }, earlier: "hold" }),
    ];
    await expect.poll(() => stalled(released.id)).toBe("blocked");
    expect((await world.redrive(released.id)).stalled).toMatchObject({ redriveId: head.id });
    expect(sent()).toBe(0);
    await decide(head.id, "reject");
    expect(await world.ended(released.id)).toMatchObject({ delivered: 1 });
    expect(await world.ended(behind.id)).toMatchObject({ refusedByReason: { "held-by-head": 1 } });
    expect(world.sink.arrived.map(({ eventId }) => eventId)).toEqual(["v2"]);
  });

  test("of a tail past a skipped head sends nothing past it when the skip is undone before its approval", async () => {
    await parkVersions(1, 2);
    await world.worker();
    const [head] = await ids("v1");
    await skipHead(world.deps, { id: head!, reason }, ada);
    await marked();
    const { id } = await world.request({ select: { ids: await ids("v2") } });
    await undoSkip(world.deps, { id: head!, reason }, ada);
    await decide(id, "approve");
    expect(await world.ended(id)).toMatchObject({ delivered: 0, refusedByReason: { "held-by-head": 1 } });
    once(0);
  });

  test("to a target that is renamed and stopped while it waits names it as it is now, and it is removed after the cancel", async () => {
    await world.park(2);
    await world.worker();
    const request = { name: "audit", destination: { redriveUrl: world.sink.url }, reason };
    await addTarget(world.deps, { source: "orders", request }, ada);
    const { id } = await world.request({ target: "audit", startAt: later() });
    await changeTarget(world.deps, { name: "audit", change: { name: "ledger", reason } }, ada);
    await stop("ledger");
    const removed = () => removeTarget(world.deps, { name: "ledger", reason }, ada);
    await expect(removed()).rejects.toMatchObject({ code: "target-in-use", message: expect.stringContaining(id) });
    await change(id, { action: "start" });
    await expect.poll(async () => (await world.redrive(id)).stalled).toMatchObject({ target: "ledger" });
    await change(id, { action: "cancel" });
    await world.ended(id);
    await removed();
    const other = await world.request();
    expect(await world.ended(other.id)).toMatchObject({ delivered: 2 });
    once(2);
  });

  test("that waits for a breaker starts when its lane is switched to a target that takes sends", async () => {
    await world.park(2);
    await world.db.run("update targets set breaker_force = 'open', updated_at = now() where name = 'orders'");
    await world.worker();
    const { id } = await world.request({ startWhen: { breakerCloses: true } });
    expect(await stalled(id)).toBe("waits-for-breaker");
    await change(id, { lane: "slow" });
    expect(await world.ended(id)).toMatchObject({ delivered: 2, lane: "slow" });
    once(2);
  });

  test("that the brake paused goes on on another lane with a canary when its worker is killed and the stop ends", async () => {
    await world.park(40);
    world.sink.answer = () => 422;
    const doomed = await world.doomedWorker();
    await world.db.run("update targets set rate_per_second = 20, updated_at = now()");
    const { id } = await world.request();
    await expect.poll(async () => (await world.redrive(id)).state, { timeout: 30_000 }).toBe("PAUSED");
    await stop();
    doomed.kill("SIGKILL");
    world.sink.answer = () => 200;
    const before = await world.redrive(id);
    await change(id, { lane: "slow" });
    await change(id, { action: "resume", canary: canary([2]), ratePerSecond: 20 });
    expect(await stalled(id)).toBe("stopped");
    await world.worker();
    await resume();
    await waiting(id);
    expect((await world.redrive(id)).delivered - before.delivered).toBe(2);
    await world.db.run("update redrives set waiting_until = now() where id = $1", [id]);
    const end = await world.ended(id);
    expect(end.delivered + end.failed).toBe(40);
    expect(keys()).toBe(40);
  });

  test("whose limit is lowered and whose cooldown begins while it waits is refused event by event when it starts", async () => {
    await world.park(3);
    await world.worker();
    const { id } = await world.request({ startAt: later() });
    await world.db.run(
      "insert into settings (key, value, updated_by) values ('redriveLimit', '1', 'ada') on conflict (key) do update set value = excluded.value",
    );
    await world.db.run("update dlq_events set redrives = 1 where event_id = 'event-0000'");
    await world.db.run("update dlq_events set cooldown_until = now() + interval '1 h' where event_id = 'event-0001'");
    await change(id, { action: "start" });
    expect(await world.ended(id)).toMatchObject({ delivered: 1, refused: 2 });
    expect((await world.redrive(id)).refusedByReason).toEqual({ "redrive-limit": 1, cooling: 1 });
  });

  test("whose approval a switch of its lane voids in mid canary sends no more, though its worker is killed, and ends once", async () => {
    await world.park(12);
    await world.db.run("update targets set needs_approval = true where name = 'orders.slow'");
    const doomed = await world.doomedWorker();
    const { id } = await world.request({ canary: canary([3]) });
    await waiting(id);
    await change(id, { lane: "slow" }, bob);
    doomed.kill("SIGKILL");
    await world.worker();
    expect(await world.redrive(id)).toMatchObject({ state: "PLANNED", waitsFor: ["approval"] });
    await world.db.run("update redrives set waiting_until = now() where id = $1", [id]);
    const eve = localViewer("eve");
    const { digest } = await shownApproval(world.db, eve, id);
    expect(sent()).toBe(3);
    await decideApproval(world.deps, { id, decision: { decision: "approve", digest } }, eve);
    expect(await world.ended(id)).toMatchObject({ delivered: 12 });
    once(12);
  });

  test("of a rule waits while sends are stopped, and the rule makes no other; a manual one of its events goes first", async () => {
    await world.park(4);
    const {
      name,
      reason: why,
      ...terms
    } = redriveRuleRequestSchema.parse({
      ...{ name: "nightly", reason, filter: { source: ["orders"] }, delayMs: 1_000, everyMs: 1_000, canary: false },
    });
    const rule = await createRedriveRule(world.deps, { name, reason: why, ...terms }, ada);
    const { id: trial } = await tryRedriveRule(world.deps, redriveRuleTrySchema.parse({ rule: terms }), ada);
    const manual = await world.request({ select: { ids: await ids("event-0000") }, startAt: later() });
    await stop();
    await changeRedriveRule(world.deps, { id: rule, change: { reason, enabled: true, trial } }, ada);
    await expect.poll(() => runRedriveRules(world.deps)).toBe(1);
    await world.db.run("update redrive_rule_runs set at = at - interval '1 h'");
    expect(await runRedriveRules(world.deps)).toBe(0);
    const { lastRun } = await readRedriveRule(world.db, ada, rule);
    expect(lastRun).toMatchObject({ events: 3, live: true });
    expect(await stalled(lastRun!.redriveId)).toBe("stopped");
    await world.worker();
    await resume();
    expect(await world.ended(lastRun!.redriveId)).toMatchObject({ delivered: 3 });
    await change(manual.id, { action: "start" });
    expect(await world.ended(manual.id)).toMatchObject({ delivered: 1 });
    once(4);
  });

  test("a verify run goes through while everything is stopped, and sends nothing", async () => {
    await world.park(3);
    await world.worker();
    await stop();
    const { id } = await world.request({ mode: "verify" });
    expect(await world.ended(id)).toMatchObject({ passed: 3, delivered: 0 });
    once(0);
  });

  test.each([{ ratePerSecond: 50 }, { concurrency: 500 }, { lane: "slow" as const }])(
    "that waits for an approval and is paused while everything is stopped keeps all of it after %o",
    async (what) => {
      await marked();
      await world.park(5);
      await world.worker();
      await world.db.run("update targets set rate_per_second = 20, updated_at = now()");
      const { id } = await world.request({ ratePerSecond: 10 });
      await change(id, { action: "pause" });
      await stop();
      const changed = await change(id, what).then(
        () => "changed",
        ({ code }) => code,
      );
      expect(changed).toBe("lane" in what ? "changed" : "above-ceiling");
      await change(id, { action: "resume" });
      expect(await world.redrive(id)).toMatchObject({ state: "PLANNED", waitsFor: ["approval"] });
      await decide(id, "approve");
      expect(await stalled(id)).toBe("stopped");
      await resume();
      expect(await world.ended(id)).toMatchObject({ delivered: 5 });
      once(5);
    },
  );
});
