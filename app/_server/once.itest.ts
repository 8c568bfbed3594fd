import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import * as ignore from "@/app/(events)/api/v1/events/ignore/route";
import * as release from "@/app/(events)/api/v1/events/release/route";
import * as events from "@/app/(events)/api/v1/events/route";
import * as controls from "@/app/(order)/api/v1/controls/route";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import {
  answerKey,
  answerOnce,
  holdKey,
  KEY_LEASE_MS,
  releaseKey,
  renewKey,
} from "@/lib/platform/database/idempotent-request.write";
import { uuidv7 } from "@/lib/platform/ids";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource } from "@/lib/testing/letters";
import { manualClock } from "@/lib/testing/manual-clock";
import type { Call } from "./handle";
import { once } from "./once";

const reason = "stock is back";
const key = { "idempotency-key": '"0198-click"' };

let web: TestConsole;
beforeEach(async () => {
  web = await testConsole();
  await addSource(web.deps.db, "orders");
});
afterEach(() => web.close());

describe("a request sent again with an Idempotency-Key", () => {
  const letter = (eventId: string) => ({ source: "orders", eventId, errorCode: "TIMEOUT", payload: { n: 1 } });
  const parked = async () => web.deps.db.query<{ id: string }>("select id from dlq_events order by id");

  test("of many at the same time one runs; the rest is answered the same or told to wait", async () => {
    const body = { kind: "blacklist", scope: { aggregateId: "order-4" }, reason };
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => web.call<{ code?: string }>(controls.POST, { body, headers: key })),
    );
    expect(await web.deps.db.query("select id from controls")).toHaveLength(1);
    for (const answer of answers) {
      expect([201, 409]).toContain(answer.status);
      if (answer.status === 409) {
        expect(answer.body.code).toBe("idempotency-key-in-progress");
        expect(answer.headers.get("retry-after")).toBe("1");
      }
    }
    expect(answers.some((answer) => answer.status === 201)).toBe(true);
  });

  test("ignores and releases once: what was released meanwhile is not ignored again", async () => {
    await web.call(events.POST, { body: [letter("e-1"), letter("e-2")] });
    const body = { select: { ids: (await parked()).map((row) => row.id) }, reason };
    const first = await web.call(ignore.POST, { body, headers: key });
    expect(first).toMatchObject({ status: 202, body: { changed: 2 } });
    await web.call(release.POST, { body });
    expect(await web.call(ignore.POST, { body, headers: key })).toMatchObject({ status: 202, body: first.body });
    const statuses = await web.deps.db.query<{ status: string }>("select status from dlq_events");
    expect(statuses.map((row) => row.status)).toEqual(["PENDING", "PENDING"]);
  });

  test("answers an ingest with its first counts, in every form", async () => {
    const lines = `${JSON.stringify(letter("e-1"))}\n${JSON.stringify(letter("e-2"))}\n`;
    const ndjson = { ...key, "content-type": "application/x-ndjson" };
    const first = await web.call(events.POST, { body: lines, headers: ndjson });
    expect(first.body).toMatchObject({ accepted: 2, duplicates: 0 });
    expect(await web.call(events.POST, { body: lines, headers: ndjson })).toMatchObject({ text: first.text });
    const longer = lines + JSON.stringify(letter("e-3"));
    expect(await web.call(events.POST, { body: longer, headers: ndjson })).toMatchObject({
      status: 422,
      body: { code: "idempotency-key-reused" },
    });
    const cloudEvent = (id: string) => ({
      headers: {
        ...{ "idempotency-key": "ce-1", "ce-specversion": "1.0", "ce-id": id, "ce-source": "orders" },
        ...{ "ce-type": "OrderCreated", "ce-errorcode": "TIMEOUT", "x-parkade-source": "orders" },
      },
      body: "{}",
    });
    expect(await web.call(events.POST, cloudEvent("c-1"))).toMatchObject({ status: 202, body: { accepted: 1 } });
    expect(await web.call(events.POST, cloudEvent("c-1"))).toMatchObject({ status: 202, body: { accepted: 1 } });
    expect(await web.call(events.POST, cloudEvent("c-2"))).toMatchObject({ status: 422 });
    expect(await parked()).toHaveLength(3);
  });

  test("does not take a repeated ingest for a bounce of what was redriven meanwhile", async () => {
    const status = async () =>
      (await web.deps.db.query<{ status: string }>("select status from dlq_events"))[0]!.status;
    await web.call(events.POST, { body: letter("e-1"), headers: key });
    await web.deps.db.run("update dlq_events set status = 'REDRIVEN', redrive_at = now()");
    expect(await web.call(events.POST, { body: letter("e-1"), headers: key })).toMatchObject({
      body: { accepted: 1, bounced: 0 },
    });
    expect(await status()).toBe("REDRIVEN");
    expect(await web.call(events.POST, { body: letter("e-1") })).toMatchObject({ body: { bounced: 1 } });
    expect(await status()).toBe("PENDING");
  });
});

describe("a request under an Idempotency-Key", () => {
  /** Of a process of its own, with a clock that the test moves. */
  function setUp() {
    const clock = manualClock();
    const deps = { ...web.deps, clock };
    const call = (body: unknown, headers: Record<string, string> = key, actor = "ada") => {
      const request = new Request("http://127.0.0.1/api/v1/controls", { method: "POST", headers });
      return { deps, request, viewer: localViewer(actor), body } as unknown as Call<undefined, unknown>;
    };
    return { clock, call };
  }

  test("runs once; its repeat gets the same answer, quoted or bare key alike", async () => {
    const { call } = setUp();
    const run = vi.fn(async () => ({ z: 1, a: run.mock.calls.length }));
    expect(JSON.stringify(await once(call({ a: 1 }), run))).toBe('{"z":1,"a":1}');
    const bare = { "idempotency-key": "0198-click" };
    expect(JSON.stringify(await once(call({ a: 1 }, bare), run))).toBe('{"z":1,"a":1}');
    expect(run).toHaveBeenCalledTimes(1);
  });

  test("that answers nothing runs once, too, and its repeat answers nothing", async () => {
    const { call } = setUp();
    const run = vi.fn(async () => undefined);
    expect(await once(call({ a: 1 }), run)).toBeUndefined();
    expect(await once(call({ a: 1 }), run)).toBeUndefined();
    expect(run).toHaveBeenCalledTimes(1);
  });

  test("with another body is an error, of another actor is another request", async () => {
    const { call } = setUp();
    const run = vi.fn(async () => "done");
    await once(call({ a: 1 }), run);
    await expect(once(call({ a: 2 }), run)).rejects.toMatchObject({ code: "idempotency-key-reused" });
    await once(call({ a: 2 }, undefined, "bob"), run);
    await once(call({}, {}), run);
    await once(call({}, {}), run);
    expect(run).toHaveBeenCalledTimes(4);
  });

  test("that failed gives its key back with its own error", async () => {
    const { call } = setUp();
    const broken = new Error("no");
    await expect(once(call({}), () => Promise.reject(broken))).rejects.toBe(broken);
    expect(await once(call({}), async () => "now")).toBe("now");
  });

  test("keeps its key for as long as it runs, and leaves no timer", async () => {
    const { call, clock } = setUp();
    let finish = () => {};
    const first = once(call({}), () => new Promise<string>((resolve) => (finish = () => resolve("slow"))));
    const leaseMs = async () => {
      const text = "select extract(epoch from lease_until) * 1000 as until from idempotency_keys";
      const [row] = await web.deps.db.query<{ until: number }>(text);
      return row ? Number(row.until) - clock.wallMs() : null;
    };
    await expect.poll(leaseMs).toBe(KEY_LEASE_MS);
    for (let passed = 0; passed < 6; passed++) {
      await clock.advance(KEY_LEASE_MS / 3);
      await expect.poll(leaseMs).toBe(KEY_LEASE_MS);
      await expect(once(call({}), async () => "second")).rejects.toMatchObject({ code: "idempotency-key-in-progress" });
    }
    finish();
    expect(await first).toBe("slow");
    expect(clock.pending()).toBe(0);
    expect(await once(call({}), async () => "second")).toBe("slow");
  });

  test("whose process died runs again when its lease is over, not before; the dead one's answer is not kept", async () => {
    const { call, clock } = setUp();
    const dead = { actor: "ada", key: "0198-click", holder: uuidv7(0) };
    expect(await holdKey(web.deps.db, dead, clock.wallMs())).toBeNull();
    await clock.advance(KEY_LEASE_MS - 1);
    await expect(once(call({}), async () => "again")).rejects.toMatchObject({ code: "idempotency-key-in-progress" });
    await clock.advance(1);
    expect(await once(call({}), async () => "again")).toBe("again");
    expect(await answerKey(web.deps.db, dead, { fingerprint: "f", answer: "late" })).toBe(false);
    expect(await renewKey(web.deps.db, dead, clock.wallMs())).toBe(false);
    await releaseKey(web.deps.db, dead);
    expect(await once(call({}), async () => "third")).toBe("again");
  });

  test("is answered for a day, and runs anew after it", async () => {
    const { call, clock } = setUp();
    await once(call({}), async () => "first");
    await clock.advance(86_400_000 - 1);
    expect(await once(call({}), async () => "second")).toBe("first");
    await clock.advance(1);
    expect(await once(call({}), async () => "second")).toBe("second");
  });

  test("shares its key with work that is one transaction: a lease is waited for by nobody, and an answer is not shared", async () => {
    const { clock } = setUp();
    const request = { actor: "ada", key: "0198-click", fingerprint: "of-one" };
    const inOne = (fingerprint: string) =>
      web.deps.db.transaction((tx) => answerOnce(tx, { ...request, fingerprint }, clock.wallMs(), async () => "one"));
    const held = { actor: "ada", key: "0198-click", holder: uuidv7(0) };
    await holdKey(web.deps.db, held, clock.wallMs());
    await expect(inOne("of-one")).rejects.toMatchObject({ code: "idempotency-key-in-progress" });
    await clock.advance(KEY_LEASE_MS);
    expect(await inOne("of-one")).toEqual({ answer: "one", isNew: true });
    expect(await inOne("of-one")).toEqual({ answer: "one", isNew: false });
    await expect(inOne("of-another")).rejects.toMatchObject({ code: "idempotency-key-reused" });
    expect(await holdKey(web.deps.db, held, clock.wallMs())).toEqual({ fingerprint: "of-one", answer: "one" });
  });

  test("is not run when the keys cannot be read", async () => {
    const { call } = setUp();
    const run = vi.fn(async () => "again");
    await web.deps.db.run("alter table idempotency_keys rename to away");
    await expect(once(call({}), run)).rejects.toThrow();
    expect(run).not.toHaveBeenCalled();
  });

  test("that was done is answered even when the answer cannot be stored", async () => {
    const { call } = setUp();
    const away = () => web.deps.db.run("alter table idempotency_keys rename to away").then(() => "done");
    expect(await once(call({}), away)).toBe("done");
  });

  test.each(["", '""', " ", "x".repeat(256)])("is refused with the key %j", async (bad) => {
    const { call } = setUp();
    const run = vi.fn(async () => 1);
    await expect(once(call({}, { "idempotency-key": bad }), run)).rejects.toMatchObject({ code: "invalid-request" });
    expect(run).not.toHaveBeenCalled();
  });
});
