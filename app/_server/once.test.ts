import { describe, expect, test, vi } from "vitest";
import { localViewer } from "@/lib/core/viewer";
import { createLog } from "@/lib/platform/log";
import { memoryIdempotencyStore } from "@/lib/retry/idempotency/memory-store";
import { manualClock } from "@/lib/testing/manual-clock";
import type { Call } from "./handle";
import { type KeptAnswer, once } from "./once";

function setUp() {
  const clock = manualClock();
  const store = memoryIdempotencyStore<KeptAnswer>(clock);
  const deps = { idempotency: store, clock, log: createLog({ level: "silent", process: "test" }) };
  const call = (body: unknown, headers: Record<string, string> = { "idempotency-key": "k" }, actor = "ada") => {
    const request = new Request("http://127.0.0.1/api/v1/controls", { method: "POST", headers });
    return { deps, request, viewer: localViewer(actor), body } as unknown as Call<undefined, unknown>;
  };
  return { clock, store, call };
}

describe("a request under an Idempotency-Key", () => {
  test("runs once; its repeat gets the same answer, quoted or bare key alike", async () => {
    const { call } = setUp();
    const run = vi.fn(async () => ({ id: run.mock.calls.length }));
    expect(await once(call({ a: 1 }), run)).toEqual({ id: 1 });
    expect(await once(call({ a: 1 }, { "idempotency-key": '"k"' }), run)).toEqual({ id: 1 });
    expect(run).toHaveBeenCalledTimes(1);
  });

  test("without a key every request runs", async () => {
    const { call } = setUp();
    const run = vi.fn(async () => 1);
    await once(call({}, {}), run);
    await once(call({}, {}), run);
    expect(run).toHaveBeenCalledTimes(2);
  });

  test("with another body is an error, of another actor is another request", async () => {
    const { call } = setUp();
    const run = vi.fn(async () => "done");
    await once(call({ a: 1 }), run);
    await expect(once(call({ a: 2 }), run)).rejects.toMatchObject({ code: "idempotency-key-reused" });
    await once(call({ a: 2 }, undefined, "bob"), run);
    expect(run).toHaveBeenCalledTimes(2);
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
    for (let passed = 0; passed < 10; passed++) {
      await clock.advance(30_000);
      await expect(once(call({}), async () => "second")).rejects.toMatchObject({ code: "idempotency-key-in-progress" });
    }
    finish();
    expect(await first).toBe("slow");
    expect(clock.pending()).toBe(0);
    expect(await once(call({}), async () => "second")).toBe("slow");
  });

  test("whose process died runs again when its lease is over, not before", async () => {
    const { call, clock, store } = setUp();
    await store.claim(JSON.stringify(["ada", "k"]), { windowMs: 86_400_000, leaseMs: 30_000 });
    await clock.advance(29_999);
    await expect(once(call({}), async () => "again")).rejects.toMatchObject({ code: "idempotency-key-in-progress" });
    await clock.advance(1);
    expect(await once(call({}), async () => "again")).toBe("again");
  });

  test("is answered for a day, and runs anew after it", async () => {
    const { call, clock } = setUp();
    await once(call({}), async () => "first");
    await clock.advance(86_400_000 - 1);
    expect(await once(call({}), async () => "second")).toBe("first");
    await clock.advance(1);
    expect(await once(call({}), async () => "second")).toBe("second");
  });

  test("that was done is answered even when the note of it fails, and is not run when the keys cannot be read", async () => {
    const { call, store } = setUp();
    store.finish = () => Promise.reject(new Error("connection lost"));
    expect(await once(call({}), async () => "done")).toBe("done");
    store.claim = () => Promise.reject(new Error("connection lost"));
    const run = vi.fn(async () => "again");
    await expect(once(call({}), run)).rejects.toThrow("connection lost");
    expect(run).not.toHaveBeenCalled();
  });

  test.each(["", '""', " ", "x".repeat(256)])("is refused with the key %j", async (key) => {
    const { call } = setUp();
    const run = vi.fn(async () => 1);
    await expect(once(call({}, { "idempotency-key": key }), run)).rejects.toMatchObject({ code: "invalid-request" });
    expect(run).not.toHaveBeenCalled();
  });
});
