import { describe, expect, test } from "vitest";
import { readBulkOperation } from "@/lib/events/bulk/bulk-operations.read";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { shownApproval } from "@/lib/guard/approvals/approvals.read";
import { localViewer, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { imposeControl } from "@/lib/order/controls/impose-control";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { decideApproval } from "@/lib/redrive/life/decide-approval";
import { previewRedrive } from "@/lib/redrive/preview/preview-redrive";
import { type PreviewRequest, previewRequestSchema } from "@/lib/redrive/preview/redrive-preview.shapes";
import type { RedriveRequest } from "@/lib/redrive/request/redrive-request.shapes";
import { requestMend } from "@/lib/repair/mends/request-mend";
import { changeRedriveRule, createRedriveRule, deleteRedriveRule } from "@/lib/rules/redrive-rules";
import {
  type RedriveRuleChange,
  redriveRuleRequestSchema,
  redriveRuleTrySchema,
} from "@/lib/rules/redrive-rules.shapes";
import { runRedriveRules } from "@/lib/rules/run-redrive-rules";
import { tryRedriveRule } from "@/lib/rules/try-redrive-rule";
import { redisInstalled, testRedis } from "@/lib/testing/redis";
import { openWorld, worldOfEachTest } from "@/lib/testing/redrive-world";
import { takeItems } from "@/lib/testing/slice-items";
import { workBulkOperation } from "@/workers/work-bulk-operation";

const world = worldOfEachTest();

const [ada, bob, eve] = [localViewer("ada"), localViewer("bob"), localViewer("eve")];
const setting = (name: string, value: number) =>
  world.db.run(
    "insert into settings (key, value, updated_by, updated_at) values ($1, to_jsonb($2::int), 'test', now()) on conflict (key) do update set value = excluded.value",
    [name, value],
  );
const digestOf = async (id: string) => (await shownApproval(world.db, bob, id)).digest;
const decide = async (id: string, decision: "approve" | "reject", viewer = bob, digest?: string) =>
  decideApproval(
    world.deps,
    { id, decision: { decision, digest: digest ?? (await digestOf(id)), reason: "checked" } },
    viewer,
  );
const approve = (id: string, viewer = bob, digest?: string) => decide(id, "approve", viewer, digest);
/** What the preview says before the request. */
const causesBefore = async (asked: Partial<PreviewRequest>) =>
  (await previewRedrive(world.deps, previewRequestSchema.parse({ select: { filter: {} }, ...asked }), ada))
    .approvalCauses;
const claim = (redriveId: string) => takeItems(world.db, { redriveId, slices: [0, 99], limit: 100 });
const actions = async (id: string) =>
  (
    await world.db.query<{ action: string }>(
      "select action from audit_entries where redrive_id = $1 and subject_kind = 'redrive' order by id",
      [id],
    )
  ).map(({ action }) => action);

/** A redrive of `count` events that is above the size from which on it needs an approval. */
async function asked(count = 4, change: Partial<RedriveRequest> = {}): Promise<string> {
  await setting("approvalAbove", 2);
  await world.park(count);
  const { id, state, waitsFor } = await world.request({ ratePerSecond: 20, ...change });
  expect({ state, waitsFor }).toEqual({ state: "PLANNED", waitsFor: ["approval"] });
  return id;
}

describe("a redrive that needs an approval", () => {
  test("sends nothing before another person approves its digest, whatever the queue says, and all of it then", async () => {
    await world.worker();
    const id = await asked();
    await world.lane.enqueue("main", [{ kind: "slice", redriveId: id, slice: 0 }]);
    expect(await world.redrive(id)).toMatchObject({
      state: "PLANNED",
      approval: { state: "asked", askedBy: "ada", causes: [{ kind: "size", events: 4, above: 2 }] },
      stalled: { code: "approval" },
    });
    expect(await world.statuses()).toEqual({ QUEUED: 4 });
    await approve(id);
    expect(await world.ended(id)).toMatchObject({ delivered: 4, approval: { state: "given", decidedBy: "bob" } });
    expect(await actions(id)).toEqual([
      "redrive.requested",
      "redrive.approval-asked",
      "redrive.approved",
      "redrive.started",
      "redrive.finished",
    ]);
  });

  test("is not claimed while it waits, even when something sets it RUNNING", async () => {
    const id = await asked();
    await world.db.run("update redrives set state = 'RUNNING' where id = $1", [id]);
    expect(await claim(id)).toEqual([]);
    await world.db.run("update redrives set state = 'PLANNED' where id = $1", [id]);
    expect(await claim(id)).toEqual([]);
    await approve(id);
    expect(await claim(id)).toHaveLength(4);
  });

  test("waits for none when it is small, or only verified", async () => {
    await setting("approvalAbove", 2);
    await world.park(2);
    expect(await causesBefore({})).toEqual([]);
    expect(await world.request()).toMatchObject({ state: "RUNNING", waitsFor: [] });
    await world.park(5, (index) => ({ eventId: `more-${index}` }));
    expect(await causesBefore({})).toEqual([{ kind: "size", events: 5, above: 2 }]);
    expect(await causesBefore({ mode: "verify" })).toEqual([]);
    expect(await world.request({ mode: "verify" })).toMatchObject({ state: "RUNNING", waitsFor: [] });
  });

  test("waits for one, however small, when its source or target is marked", async () => {
    await world.source("stock");
    await world.db.run("update sources set needs_approval = true where name = 'stock'");
    await world.db.run("update targets set needs_approval = true where name = 'orders.slow'");
    await world.park(1);
    await world.park(1, () => ({ eventId: "stock-1" }), "stock");
    const [order] = await world.idsOf(["event-0000"]);
    const [stock] = await world.idsOf(["stock-1"]);
    const toSlow = { select: { ids: [order!] }, lane: "slow" as const };
    const toMain = { select: { ids: [stock!] }, lane: "main" as const };
    const foretold = await Promise.all([toSlow, toMain].map(causesBefore));
    const slow = await world.request(toSlow);
    expect((await world.redrive(slow.id)).approval?.causes).toEqual([{ kind: "target", name: "orders.slow" }]);
    const marked = await world.request(toMain);
    expect((await world.redrive(marked.id)).approval?.causes).toEqual([{ kind: "source", name: "stock" }]);
    expect(foretold).toEqual([[{ kind: "target", name: "orders.slow" }], [{ kind: "source", name: "stock" }]]);
  });

  test("waits for one when the marked target only stands in", async () => {
    await world.db.run("update targets set needs_approval = true where name = 'orders.slow'");
    await world.park(2);
    for (const [at, fallback] of [{ kind: "slow-lane" }, { kind: "target", target: "orders.slow" }].entries()) {
      await world.db.run("update targets set fallback = $1::jsonb where name = 'orders'", [JSON.stringify(fallback)]);
      expect(await causesBefore({ lane: "main" })).toEqual([{ kind: "target", name: "orders.slow" }]);
      const { id } = await world.request({ select: { ids: await world.idsOf([`event-000${at}`]) } });
      expect((await world.redrive(id)).approval?.causes).toEqual([{ kind: "target", name: "orders.slow" }]);
    }
  });

  test("is not approved by who asked for it, in whatever spelling", async () => {
    const id = await asked();
    for (const name of ["ada", "Ada", " ａｄａ ", "A.d.a", "a\u200bd\u00ada"]) {
      await expect(approve(id, localViewer(name))).rejects.toMatchObject({ code: "forbidden" });
      await expect(decide(id, "reject", localViewer(name))).rejects.toMatchObject({ code: "forbidden" });
    }
    expect((await world.redrive(id)).state).toBe("PLANNED");
  });

  test("is not approved without a name, nor by who may not", async () => {
    const id = await asked();
    await expect(approve(id, localViewer())).rejects.toMatchObject({ code: "forbidden" });
    const may = (actions: readonly ("view" | "redrive" | "approve")[], sources: "all" | string[] = "all") => ({
      ...bob,
      actions,
      sources,
    });
    await expect(approve(id, may(["view", "redrive"]))).rejects.toMatchObject({ code: "forbidden" });
    await expect(approve(id, may(["view", "approve"], ["stock"]), "0".repeat(64))).rejects.toMatchObject({
      code: "unknown-approval",
    });
    await approve(id, may(["view", "approve"], ["orders"]), await digestOf(id));
  });

  test("is approved once: of two people at once, the other learns who was first", async () => {
    const id = await asked();
    const ended = await Promise.allSettled([approve(id, bob), approve(id, eve)]);
    const lost = ended.filter((end) => end.status === "rejected").map((end) => end.reason);
    expect(lost).toEqual([expect.objectContaining({ code: "illegal-transition" })]);
    expect(lost[0].message).toMatch(/was approved by (bob|eve)/);
    expect((await actions(id)).filter((action) => action === "redrive.approved")).toHaveLength(1);
  });

  test("is either cancelled or approved, when both come at once", async () => {
    const id = await asked();
    const digest = await digestOf(id);
    const [cancelled, approved] = await Promise.allSettled([
      changeRedrive(world.deps, { id, change: { action: "cancel" } }, ada),
      approve(id, bob, digest),
    ]);
    expect(cancelled.status).toBe("fulfilled");
    const { state, approval } = await world.redrive(id);
    expect(state).toBe("CANCELLED");
    expect(approval?.state).toBe(approved.status === "fulfilled" ? "given" : "withdrawn");
    expect(await world.statuses()).toEqual({ PENDING: 4 });
  });

  test("is not approved while it is being frozen", async () => {
    const id = await asked();
    await world.db.run("update redrives set state = 'PLANNING' where id = $1", [id]);
    await world.db.run("delete from approvals");
    await expect(approve(id, bob, "0".repeat(64))).rejects.toThrow(/still being frozen/);
    await world.db.run("update redrives set state = 'PLANNED' where id = $1", [id]);
  });

  test("is cancelled by a rejection, and its events are parked again", async () => {
    const id = await asked();
    await decide(id, "reject");
    expect(await world.redrive(id)).toMatchObject({
      state: "CANCELLED",
      approval: { state: "rejected", decidedBy: "bob", reason: "checked" },
    });
    expect(await world.statuses()).toEqual({ PENDING: 4 });
  });

  test("expires when nobody answers, and its events are parked again", async () => {
    const id = await asked();
    await world.db.run("update approvals set expires_at = now() - interval '1 s'");
    await expect(approve(id)).rejects.toMatchObject({ code: "illegal-transition" });
    await world.worker();
    await expect.poll(async () => (await world.redrive(id)).state).toBe("CANCELLED");
    await expect.poll(() => world.statuses()).toEqual({ PENDING: 4 });
    expect((await world.redrive(id)).approval).toMatchObject({
      state: "expired",
      reason: "nobody approved it in time",
    });
  });
});

describe("a change of a redrive", () => {
  test("before the approval refuses the digest that was looked at", async () => {
    const id = await asked();
    const seen = await digestOf(id);
    await changeRedrive(world.deps, { id, change: { ratePerSecond: 3 } }, ada);
    await expect(approve(id, bob, seen)).rejects.toMatchObject({ code: "approval-outdated" });
    await approve(id);
    expect(await world.redrive(id)).toMatchObject({ state: "RUNNING", ratePerSecond: 3 });
  });

  test("of the revision that an item sends refuses the digest that was looked at", async () => {
    const id = await asked();
    await world.db.run(
      "update redrive_items set revision = 2 where id = (select id from redrive_items order by id limit 1)",
    );
    await expect(approve(id)).rejects.toMatchObject({ code: "approval-outdated" });
    await world.db.run("update redrive_items set revision = 1");
    await approve(id);
  });

  test("after it voids the approval and asks again: a higher rate, the targets' own, another lane", async () => {
    const id = await asked();
    await approve(id);
    const changes = [{ ratePerSecond: 21 }, { ratePerSecond: null }, { lane: "slow" }] as const;
    for (const change of changes) {
      await changeRedrive(world.deps, { id, change }, eve);
      expect(await claim(id)).toEqual([]);
      expect(await world.redrive(id)).toMatchObject({ state: "PLANNED", approval: { state: "asked", askedBy: "eve" } });
      // Neither who asked first nor who changed it gives the next one.
      await expect(approve(id, eve)).rejects.toMatchObject({ code: "forbidden" });
      await expect(approve(id, ada)).rejects.toMatchObject({ code: "forbidden" });
      await approve(id, bob);
      expect((await world.redrive(id)).state).toBe("RUNNING");
    }
    expect((await actions(id)).filter((action) => action === "redrive.approval-voided")).toHaveLength(changes.length);
  });

  test("before the approval is by one who asks for it, beside those who asked before, when it makes it more", async () => {
    const id = await asked();
    await changeRedrive(world.deps, { id, change: { ratePerSecond: 10 } }, eve);
    await approve(id, eve);
    await changeRedrive(world.deps, { id, change: { lane: "slow" } }, eve);
    await changeRedrive(world.deps, { id, change: { ratePerSecond: 10 } }, bob);
    await changeRedrive(world.deps, { id, change: { ratePerSecond: 11 } }, bob);
    const carol = localViewer("carol");
    for (const asker of [ada, eve, bob]) {
      await expect(approve(id, asker)).rejects.toMatchObject({ code: "forbidden" });
    }
    await approve(id, carol);
  });

  test("to a marked target asks for an approval that it needed none of: before its start, while it runs or is paused", async () => {
    await world.db.run("update targets set needs_approval = true where name = 'orders'");
    for (const when of ["before its start", "while it runs", "while it is paused"]) {
      const eventIds = [`${when}-0`, `${when}-1`];
      await world.park(2, (index) => ({ eventId: eventIds[index]! }));
      const startAt = new Date(Date.now() + 3_600_000).toISOString();
      const select = { ids: await world.idsOf(eventIds) };
      const { id } = await world.request({ select, lane: "slow", ...(when === "before its start" ? { startAt } : {}) });
      if (when === "while it is paused") await changeRedrive(world.deps, { id, change: { action: "pause" } }, ada);
      await changeRedrive(world.deps, { id, change: { lane: "main" } }, eve);
      expect(await claim(id)).toEqual([]);
      expect((await world.redrive(id)).approval).toMatchObject({
        state: "asked",
        askedBy: "eve",
        causes: [{ kind: "target", name: "orders" }],
      });
      if (when === "before its start") await changeRedrive(world.deps, { id, change: { action: "start" } }, ada);
      if (when === "while it is paused") await changeRedrive(world.deps, { id, change: { action: "resume" } }, ada);
      expect(await world.redrive(id)).toMatchObject({ state: "PLANNED", waitsFor: ["approval"] });
      await expect(approve(id, ada)).rejects.toMatchObject({ code: "forbidden" });
      await expect(approve(id, eve)).rejects.toMatchObject({ code: "forbidden" });
      await approve(id, bob);
      expect(await claim(id)).toHaveLength(2);
    }
  });

  test("that starts it sooner than was approved voids the approval, and starts nothing", async () => {
    const startAt = new Date(Date.now() + 3_600_000).toISOString();
    await setting("approvalAbove", 2);
    await world.park(4);
    const { id } = await world.request({ startAt });
    expect((await world.redrive(id)).approval?.terms).toMatchObject({ startAt });
    await approve(id);
    await changeRedrive(world.deps, { id, change: { action: "start" } }, ada);
    expect(await world.redrive(id)).toMatchObject({
      state: "PLANNED",
      startedAt: null,
      waitsFor: ["approval"],
      approval: { state: "asked" },
    });
    await approve(id);
    expect((await world.redrive(id)).state).toBe("RUNNING");
  });

  test("after it keeps the approval: a lower rate, a pause, a resume, ignored and blacklisted events", async () => {
    const id = await asked();
    await approve(id);
    await changeRedrive(world.deps, { id, change: { ratePerSecond: 10 } }, ada);
    await changeRedrive(world.deps, { id, change: { action: "pause" } }, ada);
    const [first] = await world.idsOf(["event-0001"]);
    await ignoreEvents(world.deps, { select: { ids: [first!] }, reason: "not wanted" }, ada);
    const blacklist = { kind: "blacklist", scope: { eventId: "event-0002" }, reason: "bad", expiresAt: null } as const;
    await imposeControl(world.deps, blacklist, ada);
    await changeRedrive(world.deps, { id, change: { action: "resume" } }, ada);
    expect(await world.redrive(id)).toMatchObject({ state: "RUNNING", approval: { state: "given" } });
    await world.worker();
    expect(await world.ended(id)).toMatchObject({ delivered: 2, refused: 2 });
  });

  test("that resumes it after somebody else still sets the pace, and is reviewed", async () => {
    const id = await asked();
    await approve(id);
    await changeRedrive(world.deps, { id, change: { action: "pause" } }, ada);
    await changeRedrive(world.deps, { id, change: { action: "resume" } }, eve);
    await changeRedrive(world.deps, { id, change: { action: "resume", ratePerSecond: 2, canary: true } }, ada);
    expect(await world.redrive(id)).toMatchObject({ state: "RUNNING", ratePerSecond: 2, canary: { released: 1 } });
    await changeRedrive(world.deps, { id, change: { action: "resume", ratePerSecond: 30 } }, ada);
    expect(await world.redrive(id)).toMatchObject({ state: "PLANNED", waitsFor: ["approval"] });
  });

  test("that pauses a redrive which never ran leaves it undoable", async () => {
    const id = await asked();
    await changeRedrive(world.deps, { id, change: { action: "pause" } }, ada);
    await changeRedrive(world.deps, { id, change: { action: "undo" } }, ada);
    expect((await world.redrive(id)).state).toBe("CANCELLED");
    expect(await world.statuses()).toEqual({ PENDING: 4 });
  });

  test("that pauses a redrive which waits does not start it by its resume", async () => {
    const id = await asked();
    await changeRedrive(world.deps, { id, change: { action: "pause" } }, ada);
    await changeRedrive(world.deps, { id, change: { action: "resume" } }, ada);
    expect(await world.redrive(id)).toMatchObject({ state: "PLANNED", waitsFor: ["approval"] });
    expect(await claim(id)).toEqual([]);
  });
});

test("a redrive that a rule asked for is approved by none of those who wrote the rule or switched it on", async () => {
  await setting("approvalAbove", 2);
  await world.park(4);
  const [carol, dave] = [localViewer("carol"), localViewer("dave")];
  const filter = { source: ["orders"] };
  const { name, reason, ...terms } = redriveRuleRequestSchema.parse({
    ...{ name: "nightly", reason: "they pass", filter, delayMs: 1_000 },
  });
  const { id: rule } = await createRedriveRule(world.deps, { name, reason, ...terms }, ada);
  const change = (by: Viewer, what: Partial<RedriveRuleChange>) =>
    changeRedriveRule(world.deps, { id: rule, change: { reason, ...what } }, by);
  await change(carol, { everyMs: 1_000 });
  const tried = redriveRuleTrySchema.parse({ rule: { ...terms, everyMs: 1_000 } });
  const { id: trial } = await tryRedriveRule(world.deps, tried, eve);
  await change(eve, { enabled: true, trial });
  await change(dave, { position: 1 });
  await world.db.run("update dlq_events set first_seen = first_seen - interval '2 s'");
  await expect.poll(() => runRedriveRules(world.deps)).toBe(1);
  const [row] = await world.db.query<{ id: string }>("select id from redrives");
  const id = row!.id;
  const told = async (viewer: Viewer) => (await shownApproval(world.db, viewer, id)).cannotDecide;
  const refuseEach = async () => {
    for (const author of [ada, carol, eve]) {
      await expect(approve(id, author)).rejects.toMatchObject({ code: "forbidden" });
      expect(await told(author)).toMatch(`${author.name} wrote or enabled the rule that asked for it`);
    }
  };
  await refuseEach();
  // What asked is the rule as it was then.
  await change(bob, { enabled: false, everyMs: 2_000 });
  await refuseEach();
  await deleteRedriveRule(world.deps, { id: rule, reason }, ada);
  await refuseEach();
  expect([await told(bob), await told(dave)]).toEqual([null, null]);
  await approve(id, bob);
  expect(await told(ada)).toBeNull();
});

test.skipIf(!redisInstalled)(
  "an approval that is given while Redis is away starts the redrive when it is back",
  async () => {
    const redis = await testRedis({ stored: true });
    const other = await openWorld({ redisUrl: redis.url });
    await other.db.run("update sources set needs_approval = true");
    await other.park(3);
    await other.worker();
    const { id } = await other.request();
    const { digest } = await shownApproval(other.db, bob, id);
    await redis.kill();
    await decideApproval(other.deps, { id, decision: { decision: "approve", digest } }, bob);
    expect((await other.redrive(id)).state).toBe("RUNNING");
    await redis.start();
    expect(await other.ended(id)).toMatchObject({ delivered: 3 });
    expect(other.sink.arrived).toHaveLength(3);
    expect(await other.broken()).toEqual([]);
    await other.close();
    await redis.stop();
  },
);

test.skipIf(!redisInstalled)(
  "a redrive starts once after its approval, whatever Redis forgets before and after it",
  async () => {
    const redis = await testRedis();
    const other = await openWorld({ redisUrl: redis.url });
    await other.db.run("update sources set needs_approval = true");
    await other.park(3);
    const first = await other.worker();
    const { id } = await other.request();
    await redis.restart();
    expect(await other.redrive(id)).toMatchObject({ state: "PLANNED", stalled: { code: "approval" } });
    const { digest } = await shownApproval(other.db, bob, id);
    await first.stop("test");
    await decideApproval(other.deps, { id, decision: { decision: "approve", digest } }, bob);
    // Its jobs are in the queue, and nobody has taken them.
    await redis.restart();
    expect(await other.redrive(id)).toMatchObject({ state: "RUNNING", stalled: { code: "no-worker" } });
    await Promise.all([other.worker(), other.worker()]);
    expect(await other.ended(id)).toMatchObject({ delivered: 3 });
    expect(other.sink.arrived).toHaveLength(3);
    const started = await other.db.query("select id from audit_entries where action = 'redrive.started'");
    expect(started).toHaveLength(1);
    expect(await other.broken()).toEqual([]);
    await other.close();
    await redis.stop();
  },
);

describe("a mend that needs an approval", () => {
  const recipe = { kind: "form", steps: [{ op: "rename", at: "/custId", to: "customerId" }] } as const;
  async function mend(): Promise<string> {
    await setting("approvalAbove", 2);
    await world.park(3, () => ({ payload: new TextEncoder().encode('{"custId": 7}') }));
    const request = { select: { filter: {} }, reason: "renamed", breaking: false, idempotency: null };
    return (await requestMend(world.deps, { ...request, recipe: { ...recipe, steps: [...recipe.steps] } }, ada)).id!;
  }
  const revisions = async () =>
    (await world.db.query<{ revision: number }>("select revision from dlq_events order by id")).map(
      (row) => row.revision,
    );
  const operation = async (id: string) => (await readBulkOperation(world.db, bob, id))!;
  const work = (id: string) => workBulkOperation(world.deps, id, new AbortController().signal);

  test("changes nothing before another person approves its recipe, and all of it then", async () => {
    const id = await mend();
    await work(id);
    expect(await revisions()).toEqual([1, 1, 1]);
    expect(await operation(id)).toMatchObject({
      state: "RUNNING",
      changed: 0,
      approval: { subjectKind: "operation", state: "asked", terms: { events: 3, lane: null, recipe: { recipe } } },
    });
    await expect(approve(id, localViewer("ADA"))).rejects.toMatchObject({ code: "forbidden" });
    expect((await readBulkOperation(world.db, ada, id))!.approval!.cannotDecide).toMatch("ada asked for it");
    await expect(approve(id, bob, "0".repeat(64))).rejects.toMatchObject({ code: "approval-outdated" });
    await approve(id);
    await work(id);
    expect(await operation(id)).toMatchObject({ state: "DONE", changed: 3, approval: { state: "given" } });
    expect(await revisions()).toEqual([2, 2, 2]);
  });

  test("is cancelled by a rejection, and by nobody's answer, with nothing changed", async () => {
    const id = await mend();
    await decide(id, "reject");
    expect(await operation(id)).toMatchObject({
      state: "CANCELLED",
      cancelledBy: "bob",
      approval: { state: "rejected" },
    });
    const request = { select: { filter: {} }, reason: "again", breaking: false, idempotency: null };
    const again = (await requestMend(world.deps, { ...request, recipe: { ...recipe, steps: [...recipe.steps] } }, ada))
      .id!;
    await world.db.run("update approvals set expires_at = now() - interval '1 s' where state = 'asked'");
    await world.worker();
    await expect.poll(async () => (await operation(again)).approval?.state).toBe("expired");
    expect(await operation(again)).toMatchObject({ state: "CANCELLED", changed: 0 });
    expect(await revisions()).toEqual([1, 1, 1]);
  });
});
