import { describe, expect, test } from "vitest";
import { localViewer, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { AlertMessage } from "@/lib/observe/channels/alert-message.pure";
import { addChannel } from "@/lib/observe/channels/channels";
import { channelRequestSchema } from "@/lib/observe/channels/channels.shapes";
import { notifyOperations, STILL_TOLD_AFTER_MS } from "@/lib/observe/channels/notify-operations";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { redriveRequestSchema } from "@/lib/redrive/request/redrive-request.shapes";
import { requestRedrive } from "@/lib/redrive/request/request-redrive";
import { requestMend } from "@/lib/repair/mends/request-mend";
import { worldOfEachTest } from "@/lib/testing/redrive-world";
import { workBulkOperation } from "@/workers/work-bulk-operation";

const world = worldOfEachTest();
const ADA = localViewer("ada");
const CLERK: Viewer = { name: "clerk", means: "session", sources: ["billing"], actions: "all" };

async function channel(name: string): Promise<void> {
  const request = channelRequestSchema.parse({
    name,
    config: { kind: "webhook", url: "https://ops.example.com/hook" },
  });
  await addChannel({ ...world.deps, limits: world.deps.env }, request, ADA);
}

const request = (change: object) =>
  requestRedrive(
    world.deps,
    {
      request: redriveRequestSchema.parse({ select: { filter: {} }, reason: "stock is back", brake: false, ...change }),
      idempotency: null,
    },
    ADA,
  );
const tell = () => notifyOperations({ ...world.deps, publicUrl: "https://parkade.example.com" });
const told = async () =>
  (
    await world.db.query<{ message: AlertMessage }>(
      "select convert_from(payload, 'UTF8')::jsonb as message from alert_outbox order by seq",
    )
  ).map(({ message }) => message);

describe("a channel that asked to be told of a redrive", () => {
  test("is told once of its end, with its counts and a link, however many workers look", async () => {
    await channel("ops");
    await world.park(3, (index) => ({ eventId: `e-${index}` }));
    const { id } = await request({ tell: ["ops"] });
    expect(await tell()).toBe(0);
    await changeRedrive(world.deps, { id, change: { action: "cancel", reason: "not now" } }, ADA);
    const counts = await Promise.all([tell(), tell(), tell()]);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(1);
    expect(await tell()).toBe(0);
    const [message, ...more] = await told();
    expect(more).toEqual([]);
    expect(message).toMatchObject({
      event: "ended",
      severity: "info",
      sentence: "Redrive was cancelled by ada: 3 cancelled of 3",
      rule: "Redrive by ada: stock is back",
      url: `https://parkade.example.com/redrives/${id}`,
    });
  });

  test("is told of nothing by a transaction that dies before its commit, and of the end by the next round", async () => {
    await channel("ops");
    await world.park(1, () => ({ eventId: "e-1" }));
    const { id } = await request({ tell: ["ops"] });
    await changeRedrive(world.deps, { id, change: { action: "cancel" } }, ADA);
    const dying: typeof world.db = Object.create(world.db, {
      transaction: {
        value: (run: Parameters<typeof world.db.transaction>[0]) =>
          world.db.transaction(async (tx) => {
            await run(tx);
            throw new Error("the worker is killed before the commit");
          }),
      },
    });
    await expect(notifyOperations({ ...world.deps, db: dying, publicUrl: "" })).rejects.toThrow("killed");
    expect(await told()).toEqual([]);
    expect(await tell()).toBe(1);
    expect(await told()).toHaveLength(1);
  });

  test("is told once of a standstill, with its reason, and again of the next one", async () => {
    await channel("ops");
    await world.park(1, () => ({ eventId: "e-1" }));
    // No worker is alive.
    const { id } = await request({ tell: ["ops"] });
    expect(await tell()).toBe(0);
    const age = () =>
      world.db.run("update operation_tells set still_since = now() - make_interval(secs => $1::float8 / 1000)", [
        STILL_TOLD_AFTER_MS,
      ]);
    await age();
    expect([await tell(), await tell()]).toEqual([1, 0]);
    expect((await told()).map(({ event, sentence }) => [event, sentence])).toEqual([
      ["stands-still", expect.stringMatching(/^Redrive is stuck, nothing was done of 1: No worker is alive/)],
    ]);
    await changeRedrive(world.deps, { id, change: { action: "pause" } }, ADA);
    // A person who pauses it knows.
    expect(await tell()).toBe(0);
    await changeRedrive(world.deps, { id, change: { action: "resume" } }, ADA);
    expect(await tell()).toBe(0);
    await age();
    expect(await tell()).toBe(1);
  });

  test("is told of a standstill whose begin lies in the future: the clock was set back since", async () => {
    await channel("ops");
    await world.park(1, () => ({ eventId: "e-1" }));
    await request({ tell: ["ops"] });
    await tell();
    await world.db.run("update operation_tells set still_since = now() + interval '1 hour'");
    expect([await tell(), await tell()]).toEqual([1, 0]);
  });

  test("may be named later, and is not told when it is taken back", async () => {
    await channel("ops");
    await channel("chat");
    await world.park(1, () => ({ eventId: "e-1" }));
    const { id } = await request({});
    await changeRedrive(world.deps, { id, change: { tell: ["ops", "chat"] } }, ADA);
    await changeRedrive(world.deps, { id, change: { tell: ["chat"] } }, ADA);
    await changeRedrive(world.deps, { id, change: { action: "cancel" } }, ADA);
    expect(await tell()).toBe(1);
  });

  test("must exist, and be seen by the one who asks", async () => {
    await channel("ops");
    await world.park(1, () => ({ eventId: "e-1" }));
    await expect(request({ tell: ["ops", "nobody"] })).rejects.toMatchObject({
      code: "channel-not-found",
      fields: [{ field: "tell.1" }],
    });
    expect(await world.db.query("select 1 from redrives")).toEqual([]);
    const { id } = await request({});
    await expect(changeRedrive(world.deps, { id, change: { tell: ["ops"] } }, CLERK)).rejects.toMatchObject({
      code: "unknown-redrive",
    });
  });
});

test("a mend is told of when it has ended, and a channel that is off when it is on again", async () => {
  await channel("ops");
  await channel("chat");
  await world.db.run("update alert_channels set enabled = false where name = 'chat'");
  await world.park(2, () => ({ payload: new TextEncoder().encode('{"custId":1}') }));
  const { id } = await requestMend(
    world.deps,
    {
      select: { filter: {} },
      recipe: { kind: "form", steps: [{ op: "rename", at: "/custId", to: "customerId" }] },
      ...{ reason: "renamed by the producer", breaking: false, tell: ["ops", "chat"], idempotency: null },
    },
    ADA,
  );
  expect(await tell()).toBe(0);
  await workBulkOperation(world.deps, id!, new AbortController().signal);
  expect([await tell(), await tell()]).toEqual([1, 0]);
  expect(await told()).toMatchObject([
    { event: "ended", sentence: "Mend ended: 2 changed of 2", url: `https://parkade.example.com/operations/${id}` },
  ]);
  await world.db.run("update alert_channels set enabled = true where name = 'chat'");
  expect([await tell(), await tell()]).toEqual([1, 0]);
});
