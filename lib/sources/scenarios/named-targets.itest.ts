import { beforeEach, expect, test } from "vitest";
import { listStops } from "@/lib/guard/stops/stops.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { readStatus } from "@/lib/observe/health/status.read";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { imposeStop, resumeSends } from "@/lib/redrive/life/change-stop";
import { previewRedrive } from "@/lib/redrive/preview/preview-redrive";
import { deleteSource } from "@/lib/sources/delete-source";
import { addTarget } from "@/lib/sources/targets/add-target";
import { changeTarget } from "@/lib/sources/targets/change-target";
import { removeTarget } from "@/lib/sources/targets/remove-target";
import { holdTarget } from "@/lib/sources/targets/targets.read";
import type { TargetChange } from "@/lib/sources/targets/targets.shapes";
import { updateSource } from "@/lib/sources/update-source";
import { worldOfEachTest } from "@/lib/testing/redrive-world";
import { type Sink, startSink } from "@/lib/testing/sink";
import { waitForLocks } from "@/lib/testing/waiting-for-locks";

/** A redrive that names its target goes there, whatever happens to its worker, its settings and other targets. */

const ada = localViewer("ada");

let audit: Sink;
const world = worldOfEachTest({ afterwards: () => audit.stop() });
beforeEach(async () => {
  audit = await startSink();
});

const add = (name: string, destination: object = { redriveUrl: audit.url }, source = "orders") =>
  addTarget(
    world.deps,
    { source, request: { name, destination: { ...destination }, reason: "they missed some" } },
    ada,
  );
const change = (name: string, part: Omit<TargetChange, "reason">) =>
  changeTarget(world.deps, { name, change: { ...part, reason: "tested" } }, ada);
const remove = (name: string) => removeTarget(world.deps, { name, reason: "gone" }, ada);
const ids = (sink: Sink) => [...new Set(sink.arrived.map(({ eventId }) => eventId))].sort();
const count = (n: number) => Array.from({ length: n }, (_, index) => `event-${String(index).padStart(4, "0")}`);
const setRates = async () =>
  Object.fromEntries(
    (await readStatus(world.db, ada)).lanes.map(({ lane, ratePerSecondSet }) => [lane, ratePerSecondSet]),
  );
const attemptedAt = async () =>
  (await world.db.query<{ target: string }>("select distinct target from sends order by 1")).map(
    ({ target }) => target,
  );

test("what a redrive to a named target sends arrives there alone, in order, and says so", async () => {
  await add("orders.audit", { redriveUrl: audit.url, headers: { "x-team": "audit" } });
  await world.park(6, (index) => ({ aggregateType: "order", aggregateId: "o-1", version: BigInt(6 - index) }));
  await world.worker();
  const { id } = await world.request({ target: "orders.audit", lane: "slow" });
  expect(await world.ended(id)).toMatchObject({ delivered: 6, target: "orders.audit", lane: "slow" });
  expect(audit.arrived.map(({ eventId }) => eventId)).toEqual(count(6).reverse());
  expect(audit.arrived[0]!.headers).toMatchObject({ "x-team": "audit", "x-redrive-from": "orders" });
  expect(world.sink.arrived).toEqual([]);
  expect(await attemptedAt()).toEqual(["orders.audit"]);
  const [entry] = await world.db.query<{ after: object }>(
    "select after from audit_entries where action = 'redrive.requested'",
  );
  expect(entry!.after).toMatchObject({ target: "orders.audit" });
});

test("a dry run judges the target that it names", async () => {
  await add("orders.audit");
  await add("orders.gone", { redriveUrl: "http://127.0.0.1:1/" });
  await world.park(1);
  await world.worker();
  await change("orders", { breaker: "open" });
  const verify = async (target: string | null) => world.ended((await world.request({ mode: "verify", target })).id);
  expect(await verify("orders.audit")).toMatchObject({ passed: 1, refused: 0 });
  expect(await verify("orders.gone")).toMatchObject({ passed: 0, refusedByReason: { "target-unreachable": 1 } });
  expect(await verify(null)).toMatchObject({ passed: 0, refusedByReason: { "breaker-open": 1 } });
  expect(audit.arrived).toEqual([]);
});

test("an open breaker of one target holds nothing back that goes to another of its source", async () => {
  await add("orders.audit");
  await world.park(4);
  await world.worker();
  await change("orders", { breaker: "open" });
  await change("orders.slow", { breaker: "open" });
  const first = await world.request({ target: "orders.audit", select: { ids: (await world.idsOf()).slice(0, 2) } });
  expect(await world.ended(first.id)).toMatchObject({ delivered: 2, refused: 0 });
  await change("orders", { breaker: "auto" });
  await change("orders.audit", { breaker: "open" });
  const second = await world.request({ select: { ids: (await world.idsOf()).slice(2) } });
  expect(await world.ended(second.id)).toMatchObject({ delivered: 2, refused: 0 });
  expect([ids(audit), ids(world.sink)]).toEqual([count(4).slice(0, 2), count(4).slice(2)]);
});

test("its breaker, which sends have opened, holds its redrive and no other", async () => {
  await add("orders.audit");
  await world.park(30);
  await world.worker();
  audit.answer = () => 503;
  const all = await world.idsOf();
  const held = await world.request({ target: "orders.audit", brake: false, select: { ids: all.slice(0, 25) } });
  await expect.poll(async () => (await world.redrive(held.id)).stalled?.target).toBe("orders.audit");
  const other = await world.request({ select: { ids: all.slice(25) } });
  expect(await world.ended(other.id)).toMatchObject({ delivered: 5 });
  expect(ids(world.sink)).toEqual(count(30).slice(25));
  await changeRedrive(world.deps, { id: held.id, change: { action: "cancel" } }, ada);
  await world.ended(held.id);
});

test("its rate is one of its lane in the strip, as long as the redrive lasts", async () => {
  await add("orders.audit");
  await world.db.run("update targets set rate_per_second = 40, updated_at = now()");
  await world.park(1);
  const { id } = await world.request({ target: "orders.audit", lane: "slow" });
  expect(await setRates()).toEqual({ main: 40, slow: 80 });
  await world.worker();
  await world.ended(id);
  expect(await setRates()).toEqual({ main: 40, slow: 40 });
});

test("renamed, moved, on another lane and at another rate while a redrive runs, it stays the redrive's target", async () => {
  const moved = await startSink();
  await add("orders.audit");
  await world.park(60);
  await world.worker();
  await change("orders.audit", { ratePerSecond: 20 });
  await change("orders", { fallback: { kind: "target", target: "orders.audit" } });
  const { id } = await world.request({ target: "orders.audit" });
  await expect.poll(() => audit.arrived.length, { interval: 20 }).toBeGreaterThan(5);
  await expect(remove("orders.audit")).rejects.toThrow(/cannot be removed: redrive .* delivers to it/);
  await changeRedrive(world.deps, { id, change: { lane: "slow" } }, ada);
  await change("orders.audit", { name: "orders.ledger", destination: { redriveUrl: moved.url }, ratePerSecond: 200 });
  expect(await world.ended(id)).toMatchObject({ delivered: 60, target: "orders.ledger", lane: "slow" });
  expect(moved.arrived.length).toBeGreaterThan(0);
  expect([...new Set([...ids(audit), ...ids(moved)])].sort()).toEqual(count(60));
  expect(world.sink.arrived).toEqual([]);
  expect(await attemptedAt()).toEqual(["orders.audit", "orders.ledger"]);
  await expect(remove("orders.ledger")).rejects.toThrow(/orders falls back to it: change that fallback first/);
  await change("orders", { fallback: null });
  await remove("orders.ledger");
  expect(await world.redrive(id)).toMatchObject({ target: "orders.audit" });
  await moved.stop();
});

test("removed while its sends are stopped, it leaves no stop: neither over others, nor over a new one of its name", async () => {
  await add("orders.audit");
  await imposeStop(world.deps, { target: "orders.audit", reason: "it is being moved" }, ada);
  await world.park(3);
  await world.worker();
  const { id } = await world.request({ target: "orders.audit" });
  expect((await world.redrive(id)).stalled).toMatchObject({ code: "stopped", target: "orders.audit" });
  await expect(remove("orders.audit")).rejects.toThrow(/delivers to it: cancel it/);
  await changeRedrive(world.deps, { id, change: { action: "cancel" } }, ada);
  await remove("orders.audit");
  expect(await listStops(world.db, ada)).toEqual([]);
  const resumed = resumeSends(world.deps, { target: "orders.audit", reason: "it was moved" }, ada);
  await expect(resumed).rejects.toMatchObject({ code: "unknown-target" });
  await expect.poll(() => world.statuses()).toEqual({ PENDING: 3 });
  await add("orders.audit");
  const [first, ...rest] = await world.idsOf();
  const again = await world.request({ target: "orders.audit", select: { ids: [first!] } });
  expect(await world.ended(again.id)).toMatchObject({ delivered: 1 });
  expect(await world.ended((await world.request({ select: { ids: rest } })).id)).toMatchObject({ delivered: 2 });
  expect([audit.arrived.length, world.sink.arrived.length]).toEqual([1, 2]);
});

test("an item that went to a target which was renamed keeps to it", async () => {
  await add("orders.audit");
  await change("orders", { fallback: { kind: "target", target: "orders.audit" }, breaker: "open" });
  await world.park(2, (index) => ({ aggregateType: "order", aggregateId: "o-1", version: BigInt(index + 1) }));
  await world.worker();
  await world.ended((await world.request({ select: { ids: await world.idsOf(["event-0000"]) } })).id);
  expect(ids(audit)).toEqual(["event-0000"]);
  await change("orders.audit", { name: "orders.ledger" });
  await change("orders", { breaker: "auto" });
  // Its own target takes sends again, and its aggregate's last event is not confirmed at the other one.
  // Held for longer than a worker may go without reading its targets again.
  const second = await world.request({ select: { ids: await world.idsOf(["event-0001"]) }, holdMs: 800 });
  await world.ended(second.id);
  expect(ids(audit)).toEqual(["event-0000", "event-0001"]);
  expect(world.sink.arrived).toEqual([]);
});

test("the target of another source takes events of the same kind, under their own source's schema", async () => {
  await world.source("billing", { url: audit.url });
  await world.source("strict", { schema: { type: "object", required: ["absent"] } });
  await world.park(2);
  await world.park(1, () => ({ eventId: "strict-1" }), "strict");
  await world.worker();
  const { id } = await world.request({ target: "billing" });
  expect(await world.ended(id)).toMatchObject({ delivered: 2, refusedByReason: { "schema-mismatch": 1 } });
  expect(ids(audit)).toEqual(count(2));
  await world.db.run("update sources set kind = 'rabbitmq' where name = 'billing'");
  await expect(world.request({ target: "billing", select: { filter: { source: ["strict"] } } })).rejects.toThrow(
    /billing is of kind rabbitmq, and strict is of kind http/,
  );
});

test("a target is not removed between its choice and the commit of the redrive that chose it", async () => {
  await add("orders.audit");
  await world.park(1);
  const { id } = await world.request();
  let removing: Promise<void> | null = null;
  await world.db.transaction(async (tx) => {
    const [target] = await tx.query<{ id: string }>("select id from targets where name = 'orders.audit'");
    expect(await holdTarget(tx, target!.id)).toBe(true);
    removing = remove("orders.audit");
    removing.catch(() => undefined);
    await waitForLocks(world.db, 1);
    await tx.run("update redrives set target_id = $2 where id = $1", [id, target!.id]);
  });
  await expect(removing).rejects.toThrow(`redrive ${id} delivers to it`);
});

test("a preview of a redrive to a named target counts with that target", async () => {
  await add("orders.audit");
  await change("orders.audit", { ratePerSecond: 2 });
  await world.park(10);
  const asked = { select: { filter: {} }, mode: "deliver", lane: "main", target: "orders.audit" } as const;
  const preview = await previewRedrive(world.deps, asked, ada);
  expect(preview).toMatchObject({ ratePerSecond: 2, etaMs: 5_000, eligible: 10 });
  await expect(previewRedrive(world.deps, { ...asked, target: "orders.adit" }, ada)).rejects.toMatchObject({
    code: "unknown-target",
    fields: [{ field: "target" }],
  });
});

test("what cannot be a target is refused with the field and the fix", async () => {
  const fields = async (attempt: Promise<void>) =>
    attempt.then(
      () => null,
      (error) => error.fields.map((one: { field: string; detail: string }) => `${one.field}: ${one.detail}`).join(),
    );
  expect(await fields(add("orders.audit", { redriveUrl: "ftp://x" }))).toMatch(
    /^destination.redriveUrl: must be a URL/,
  );
  expect(await fields(add("orders.audit", { slowLaneUrl: audit.url }))).toMatch(
    /^destination.slowLaneUrl: does not belong to the destination of a http target: use redriveUrl, headers/,
  );
  const masked = add("orders.audit", { redriveUrl: audit.url, headers: { authorization: "***" } });
  expect(await fields(masked)).toMatch(/^destination.headers.authorization: is masked: enter the value/);
  expect(await fields(add("orders.audit", {}))).toMatch(/^destination: must say where it delivers: set redriveUrl/);
  expect(await fields(add("orders.audit", { redriveUrl: "env:HOME" }))).toMatch(
    /destination.redriveUrl: names a variable/,
  );
  expect(await fields(add("orders"))).toBe("name: is taken");
  expect(await fields(change("orders", { name: "other" }))).toMatch(
    /^name: of the main lane of orders follows the source/,
  );
  expect(await fields(remove("orders.slow"))).toMatch(/it is the slow lane of orders/);
  await add("orders.audit", { redriveUrl: audit.url, headers: { authorization: "Bearer s3cret" } });
  expect(
    await fields(
      change("orders.audit", {
        destination: { redriveUrl: "http://127.0.0.1:9/elsewhere", headers: { authorization: "***" } },
      }),
    ),
  ).toMatch(/^destination.headers.authorization: is masked, and the address has changed/);
  await change("orders.audit", { destination: { redriveUrl: `${audit.url}/2`, headers: { authorization: "***" } } });
  const [stored] = await world.db.query<{ destination: object }>("select destination from targets where lane is null");
  expect(stored!.destination).toEqual({ redriveUrl: `${audit.url}/2`, headers: { authorization: "Bearer s3cret" } });
  const audited = await world.db.query("select 1 from audit_entries where before::text || after::text like '%s3cret%'");
  expect(audited).toEqual([]);
});

test("a source whose target a redrive uses is not deleted, and its own change keeps its targets", async () => {
  await world.source("billing", { url: audit.url });
  await world.park(1);
  const { id } = await world.request({ target: "billing" });
  const deps = { ...world.deps, schemas: null as never };
  await expect(deleteSource(deps, "billing", ada)).rejects.toThrow(`redrive ${id} delivers to a target of it`);
  await add("orders.audit");
  await updateSource(deps, { name: "orders", change: { config: { redriveUrl: world.sink.url } } }, ada);
  await world.worker();
  await world.ended(id);
  await deleteSource(deps, "billing", ada);
  expect(await world.redrive(id)).toMatchObject({ target: "billing", delivered: 1 });
});

test("a source whose target another source falls back to is not deleted, so that no later target of its name takes sends", async () => {
  await world.source("billing", { url: audit.url });
  const deps = { ...world.deps, schemas: null as never };
  await change("orders", { fallback: { kind: "target", target: "billing" } });
  await expect(deleteSource(deps, "billing", ada)).rejects.toThrow("orders falls back to its target billing");
  await change("orders", { fallback: null });
  await deleteSource(deps, "billing", ada);
});

test("a fallback to a target that is being removed waits for the removal, and is refused", async () => {
  await add("orders.audit");
  let changing: Promise<void> | undefined;
  await world.db.transaction(async (tx) => {
    await tx.run("delete from targets where name = 'orders.audit'");
    changing = change("orders", { fallback: { kind: "target", target: "orders.audit" } });
    changing.catch(() => undefined);
    await waitForLocks(world.db, 1);
  });
  await expect(changing).rejects.toThrow("there is no target orders.audit");
});
