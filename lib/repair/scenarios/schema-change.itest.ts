import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const world = worldOfEachTest();

const ACCEPTS = { type: "object", required: ["amount"] };
const REFUSES = { type: "object", required: ["currency"] };

async function makeCurrent(version: number, eventType: string | null, body: object): Promise<void> {
  await world.db.transaction(async (tx) => {
    await tx.run("update payload_schemas set current = false where event_type is not distinct from $1", [eventType]);
    await tx.run(
      `insert into payload_schemas (id, source_id, event_type, version, body, current, origin, created_by)
       select $1, id, $2, $3, $4::json, true, 'uploaded', 'tester' from sources where name = 'orders'`,
      [randomUUID(), eventType, version, JSON.stringify(body)],
    );
  });
}

const lateIds = Array.from({ length: 40 }, (_, index) => `late-${index}`);
const payload = () => ({ payload: Buffer.from('{"amount": 12}') });

test("two running workers judge by a new version from their next claim on, and each verdict names the version", async () => {
  await makeCurrent(1, "OrderCreated", ACCEPTS);
  await world.park(120, payload);
  await world.worker();
  await world.worker();
  // At this rate a claim holds ten seconds' worth of a slice: the redrive is under way when the schema changes.
  const { id } = await world.request({ ratePerSecond: 4 });
  await expect.poll(async () => (await world.redrive(id)).delivered).toBeGreaterThan(2);
  await makeCurrent(2, "OrderCreated", REFUSES);
  // Asked for after the change: no item of it may be judged by the version before, whichever worker takes it.
  await world.park(40, (index) => ({ ...payload(), eventId: `late-${index}` }));
  const late = await world.request({ mode: "verify", select: { ids: await world.idsOf(lateIds) } });
  expect(await world.ended(late.id)).toMatchObject({ passed: 0, refused: 40 });
  await world.db.run("update redrives set rate_per_second = null where id = $1", [id]);

  const done = await world.ended(id);
  expect(done.delivered + done.refused).toBe(120);
  // A busy machine may take longer than the limit of a check: that refuses, too.
  expect(Object.keys(done.refusedByReason).every((reason) => reason.startsWith("schema-"))).toBe(true);
  expect(done.refused).toBeGreaterThan(0);
  const rows = await world.db.query<{ state: string; finding: { detail: string; pointer?: string; fix?: string } }>(
    `select state, f as finding from redrive_items, jsonb_array_elements(verdict) f
      where redrive_id = $1 and f->>'check' = 'payload-schema' and finished_at is not null`,
    [id],
  );
  for (const { state, finding } of rows) {
    if (finding.detail.includes("takes longer")) continue;
    const version = state === "refused" ? 2 : 1;
    expect(finding.detail).toContain(`version ${version} of the schema of OrderCreated`);
    if (state === "refused") expect(finding).toMatchObject({ pointer: "", fix: expect.stringContaining('"currency"') });
  }
});
