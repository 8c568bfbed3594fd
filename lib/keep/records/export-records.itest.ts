import { expect, test } from "vitest";
import { listAudit } from "@/lib/guard/audit/audit-list.read";
import { auditQuery } from "@/lib/guard/audit/audit-query.shapes";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { exportRecords } from "@/lib/keep/records/export-records";
import type { Db } from "@/lib/platform/database/db";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const world = worldOfEachTest();
const ADA = localViewer("ada");
const ASKED = { filter: { source: ["orders"] }, reason: "a copy" };

const begin = (lists: Db = world.db) => exportRecords({ ...world.deps, lists }, ADA, ASKED, Date.now());

/** Oldest first. */
async function exportEntries() {
  const query = auditQuery.read(new URLSearchParams("action=event"), Date.now());
  const { items } = await listAudit(world.db, ADA, query);
  return items.filter(({ action }) => action.startsWith("event.export")).reverse();
}

test("an export that began is not counted yet, and its end says how many events left", async () => {
  await world.park(3);
  const lines = await begin();
  const [begun, ...none] = await exportEntries();
  expect(none).toEqual([]);
  expect(begun).toMatchObject({
    action: "event.exported",
    count: null,
    reason: "a copy",
    after: { filter: ASKED.filter },
  });
  let taken = 0;
  for await (const piece of lines) taken += piece.length;
  expect(taken).toBe(3);
  const [, ended] = await exportEntries();
  const after = { export: begun!.id, result: "whole" };
  expect(ended).toMatchObject({ action: "event.export-ended", actor: "ada", count: 3, reason: "a copy", after });
});

test("an export of nothing ends with 0", async () => {
  for await (const _ of await begin()) throw new Error("there is no event");
  expect((await exportEntries()).map(({ count }) => count)).toEqual([null, 0]);
});

test("an export that its client ends names at most how many left", async () => {
  await world.park(450);
  const lines = await begin();
  const first = await lines.next();
  await lines.return();
  const [, ended] = await exportEntries();
  expect(first.value!.length).toBeLessThan(450);
  expect(ended).toMatchObject({ count: first.value!.length, after: { result: "stopped" } });
});

test("an export that fails in the middle says so, and fails for its client", async () => {
  await world.park(450);
  let fails = false;
  const failing: Db = Object.assign(Object.create(world.db), {
    query: (...statement: Parameters<Db["query"]>) =>
      fails ? Promise.reject(new Error("the store went away")) : world.db.query(...statement),
  });
  const lines = await begin(failing);
  const first = await lines.next();
  fails = true;
  await expect(lines.next()).rejects.toThrow("the store went away");
  const [, ended] = await exportEntries();
  expect(ended).toMatchObject({ count: first.value!.length, after: { result: "failed" } });
});
