import { afterEach, beforeEach, expect, test } from "vitest";
import { listAudit } from "@/lib/guard/audit/audit-list.read";
import { auditQuery } from "@/lib/guard/audit/audit-query.shapes";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { countAggregateFailures } from "@/lib/order/aggregate-failures.write";
import { blacklistAggregates } from "@/lib/order/blacklist-aggregate.write";
import { listControls } from "@/lib/order/controls/control-list.read";
import { imposeControl } from "@/lib/order/controls/impose-control";
import { imposeLifted, liftControl, liftControls, undoLift } from "@/lib/order/controls/lift-controls";
import { removeOldControls } from "@/lib/order/controls/old-controls.write";
import { deleteSource } from "@/lib/sources/delete-source";
import { openWorld, type World } from "@/lib/testing/redrive-world";
import { waitForLocks } from "@/lib/testing/waiting-for-locks";

let world: World;
const ada = localViewer("ada");
const [BAD, OTHER] = ["019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b20", "019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b21"];

beforeEach(async () => {
  world = await openWorld({ redisUrl: null });
  await world.source("billing");
});
afterEach(async () => {
  await world.close();
});

/** Blacklists of Parkade over aggregates of a source, as a redrive whose sends failed leaves them. */
async function blacklisted(source: string, names: readonly string[], redriveId: string): Promise<void> {
  const [{ id: sourceId }] = (await world.db.query<{ id: string }>("select id from sources where name = $1", [
    source,
  ])) as [{ id: string }];
  for (const aggregateId of names) {
    await world.db.run(
      "insert into aggregates (source_id, aggregate_type, aggregate_id, consecutive_failures) values ($1, 'order', $2, 3)",
      [sourceId, aggregateId],
    );
    await world.db.transaction((tx) =>
      blacklistAggregates(tx, [{ sourceId, aggregateType: "order", aggregateId, failures: 3, redriveId }], {
        limit: 3,
        nowMs: Date.now(),
      }),
    );
  }
}
const inForce = async () =>
  (await listControls(world.db, ada, { state: "live", limit: 100, cursor: null })).items
    .map(({ kind, scope, origin }) => `${kind} ${scope.aggregateId ?? scope.errorCode} ${scope.source} ${origin}`)
    .sort();
const failures = async () =>
  (await world.db.query<{ n: number }>("select coalesce(sum(consecutive_failures), 0)::int as n from aggregates"))[0]!
    .n;

beforeEach(async () => {
  await blacklisted("orders", ["o-1", "o-2", "o-3"], BAD);
  await blacklisted("orders", ["o-4"], OTHER);
  await blacklisted("billing", ["b-1"], OTHER);
  const person = { kind: "blacklist", scope: { errorCode: "POISON", source: "orders" }, reason: "broken" } as const;
  await imposeControl(world.deps, { ...person, expiresAt: null }, ada);
});

test("lifts what belongs to a redrive, a source or an aggregate, counted before, and all of it is in force again after Undo", async () => {
  const before = await inForce();
  for (const [filter, names] of [
    [{ redrive: BAD }, ["o-1", "o-2", "o-3"]],
    // Those of Parkade alone.
    [{ source: "orders", origin: "automatic" as const }, ["o-1", "o-2", "o-3", "o-4"]],
    [{ aggregateId: "b-1" }, ["b-1"]],
    [{ source: "orders" }, ["o-1", "o-2", "o-3", "o-4", "POISON"]],
  ] as const) {
    const request = { filter, reason: "the consumer is fixed" };
    const counted = { id: null, controls: names.length, more: false };
    expect(await liftControls(world.deps, { ...request, dryRun: true }, ada)).toEqual(counted);
    expect(await inForce()).toEqual(before);
    const lifted = await liftControls(world.deps, request, ada);
    expect(lifted).toEqual({ ...counted, id: expect.any(String) });
    expect(await inForce()).toEqual(before.filter((control) => !names.some((name) => control.includes(` ${name} `))));
    const undone = await undoLift(world.deps, { undo: lifted.id!, reason: "too early" }, ada);
    expect(undone.controls).toBe(names.length);
    expect(await inForce()).toEqual(before);
    await expect(undoLift(world.deps, { undo: lifted.id!, reason: "twice" }, ada)).rejects.toMatchObject({
      code: "unknown-control",
    });
    const entries = await world.db.query(
      "select action, count from audit_entries where subject_id = $1 order by at, id",
      [lifted.id],
    );
    expect(entries).toEqual([
      { action: "control.lifted", count: names.length },
      { action: "control.imposed", count: names.length },
    ]);
  }
});

test("is in the audit of each control that it ended, and so is its Undo", async () => {
  const [control] = (await listControls(world.db, ada, { state: "live", limit: 100, cursor: null })).items;
  const { id } = await liftControls(world.deps, { filter: { source: control!.scope.source! }, reason: "fixed" }, ada);
  await undoLift(world.deps, { undo: id!, reason: "too early" }, ada);
  const asked = new URLSearchParams({ subjectKind: "control", subjectId: control!.id });
  const query = auditQuery.read(asked, Date.now());
  const { items } = await listAudit(world.db, ada, query);
  expect(items.map(({ action, reason }) => `${action}: ${reason}`).slice(0, 2)).toEqual([
    "control.imposed: too early",
    "control.lifted: fixed",
  ]);
});

test("forgets the failures of an aggregate that a person has blacklisted, and which redrives they were", async () => {
  const scope = { aggregateId: "o-5", source: "orders" };
  await imposeControl(world.deps, { kind: "blacklist", scope, reason: "broken", expiresAt: null }, ada);
  await world.db.run(
    `insert into aggregates (source_id, aggregate_type, aggregate_id, consecutive_failures, failed_redrives)
     select id, 'order', 'o-5', 2, array['${BAD}'::uuid] from sources where name = 'orders'`,
  );
  await world.db.run(`update aggregates set failed_redrives = array['${BAD}'::uuid]`);
  await liftControls(world.deps, { filter: { source: "orders" }, reason: "fixed" }, ada);
  const left = await world.db.query(
    "select aggregate_id from aggregates where consecutive_failures > 0 or failed_redrives <> '{}'",
  );
  expect(left).toEqual([{ aggregate_id: "b-1" }]);
});

test("forgets the failures that led to it, and leaves alone what is blacklisted anew before Undo", async () => {
  const { id } = await liftControls(world.deps, { filter: { redrive: BAD }, reason: "fixed" }, ada);
  expect(await failures()).toBe(6);
  const [{ sourceId }] = (await world.db.query<{ sourceId: string }>(
    `select source_id as "sourceId" from aggregates where aggregate_id = 'o-2'`,
  )) as [{ sourceId: string }];
  await world.db.transaction((tx) =>
    blacklistAggregates(tx, [{ sourceId, aggregateType: "order", aggregateId: "o-2", failures: 5, redriveId: OTHER }], {
      limit: 3,
      nowMs: Date.now(),
    }),
  );
  expect(await undoLift(world.deps, { undo: id!, reason: "too early" }, ada)).toMatchObject({ controls: 2 });
  const inForce = await world.db.query(
    "select redrive_id as redrive from controls where value = 'o-2' and lifted_at is null",
  );
  expect(inForce).toEqual([{ redrive: OTHER }]);
});

test("of an aggregate whose row was removed is taken back beside a new blacklist of it", async () => {
  const { id } = await liftControls(world.deps, { filter: { redrive: BAD }, reason: "fixed" }, ada);
  const [{ sourceId }] = (await world.db.query<{ sourceId: string }>(
    `delete from aggregates where aggregate_id = 'o-2' returning source_id as "sourceId"`,
  )) as [{ sourceId: string }];
  const aggregate = { sourceId, aggregateType: "order", aggregateId: "o-2" };
  const blacklisted = Promise.withResolvers<void>();
  const bounced = world.db.transaction(async (tx) => {
    const [failing] = await countAggregateFailures(tx, [{ ...aggregate, redriveIds: [OTHER], unknown: 2 }], 3);
    await blacklistAggregates(tx, [{ ...failing!, redriveId: OTHER }], { limit: 3, nowMs: Date.now() });
    blacklisted.resolve();
    await waitForLocks(world.db, 1);
  });
  await blacklisted.promise;
  const undone = await undoLift(world.deps, { undo: id!, reason: "too early" }, ada);
  await bounced;
  expect(undone.controls).toBe(2);
  const left = await world.db.query(
    "select redrive_id as redrive from controls where value = 'o-2' and lifted_at is null",
  );
  expect(left).toEqual([{ redrive: OTHER }]);
});

test("ends with its source: a later one of this name has other aggregates", async () => {
  await deleteSource(world.deps, "billing", ada);
  expect(await inForce()).not.toContainEqual(expect.stringContaining("billing"));
  const { items } = await listControls(world.db, ada, { state: "ended", limit: 100, cursor: null });
  expect(items).toMatchObject([
    { scope: { aggregateId: "b-1" }, liftedBy: "ada", liftReason: "its source was deleted" },
  ]);
});

test("is refused to who does not see every source that it names", async () => {
  const clerk = { ...localViewer("clerk"), sources: ["billing"] };
  for (const filter of [{ source: "orders" }, { origin: "automatic" as const }]) {
    await expect(liftControls(world.deps, { filter, reason: "mine" }, clerk)).rejects.toMatchObject({
      code: "forbidden",
    });
  }
  const { id } = await liftControls(world.deps, { filter: { source: "orders" }, reason: "fixed" }, ada);
  await expect(undoLift(world.deps, { undo: id!, reason: "mine" }, clerk)).rejects.toMatchObject({ code: "forbidden" });
  expect(await liftControls(world.deps, { filter: { source: "billing" }, reason: "mine" }, clerk)).toMatchObject({
    controls: 1,
  });
});

const values = async () =>
  (await world.db.query<{ value: string }>("select value from controls order by 1")).map(({ value }) => value);

test("is removed 90 days after it ended, and its audit stays for the users of its source", async () => {
  const controls = await world.db.query<{ id: string; value: string }>("select id, value from controls");
  const id = controls.find(({ value }) => value === "o-1")!.id;
  await liftControl(world.deps, { id, reason: "fixed" }, ada);
  await world.db.run("update controls set lifted_at = now() - interval '91 days' where value = 'o-1'");
  await world.db.run("update controls set lifted_at = now() - interval '89 days' where value = 'o-2'");
  await world.db.run(
    "update controls set expires_at = now() - interval '91 days', lifted_at = now() where value = 'o-4'",
  );
  await removeOldControls(world.db);
  expect(await values()).toEqual(["POISON", "b-1", "o-2", "o-3"]);

  const query = auditQuery.read(new URLSearchParams({ subjectKind: "control", subjectId: id }), Date.now());
  for (const [source, actions] of [
    ["orders", ["control.lifted", "control.imposed"]],
    ["billing", []],
  ] as const) {
    const { items } = await listAudit(world.db, { ...localViewer("clerk"), sources: [source] }, query);
    expect(items.map(({ action }) => action)).toEqual(actions);
  }
});

test("stays when Undo puts it in force while it is being removed", async () => {
  const { id } = await liftControls(world.deps, { filter: { redrive: BAD }, reason: "fixed" }, ada);
  await world.db.run("update controls set lifted_at = now() - interval '91 days' where lift_id = $1", [id]);
  const before = await values();
  let removal: Promise<void> | undefined;
  await world.db.transaction(async (tx) => {
    await imposeLifted(tx, id!);
    removal = removeOldControls(world.db);
    await waitForLocks(world.db, 1);
  });
  await removal;
  expect(await values()).toEqual(before);
});
