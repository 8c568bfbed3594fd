import { describe, expect, test } from "vitest";
import { abortable, abortableWithin } from "@/lib/brokers/abortable";
import { systemClock } from "@/lib/platform/clock";

const REASON = new Error("given up");
const never = () => new Promise<never>(() => undefined);

describe("abortable", () => {
  test("gives what the work gives, and hears no later abort", async () => {
    const abort = new AbortController();
    let calls = 0;
    const given = abortable(Promise.resolve(7), abort.signal, () => {
      calls += 1;
    });
    expect(await given).toBe(7);
    abort.abort(REASON);
    expect(calls).toBe(0);
  });

  test.each([
    ["that aborts", (abort: AbortController) => queueMicrotask(() => abort.abort(REASON))],
    ["that has aborted", (abort: AbortController) => abort.abort(REASON)],
  ])("rejects with the reason of a signal %s, after one call", async (_, fire) => {
    const abort = new AbortController();
    let calls = 0;
    fire(abort);
    const given = abortable(never(), abort.signal, () => {
      calls += 1;
    });
    await expect(given).rejects.toBe(REASON);
    expect(calls).toBe(1);
  });

  test("leaves no rejection without a listener when the work fails after the abort", async () => {
    const unheard: unknown[] = [];
    const hear = (error: unknown) => unheard.push(error);
    process.on("unhandledRejection", hear);
    const work = Promise.withResolvers<never>();
    await expect(abortable(work.promise, AbortSignal.abort(REASON))).rejects.toBe(REASON);
    work.reject(new Error("late"));
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", hear);
    expect(unheard).toEqual([]);
  });
});

describe("abortableWithin", () => {
  const late = () => new Error("no answer");
  const limit = { signal: new AbortController().signal, clock: systemClock, late };

  test("rejects with what `late` says once the time is over", async () => {
    await expect(abortableWithin(never(), { ...limit, ms: 1 })).rejects.toThrow("no answer");
  });

  test("rejects with the reason of its signal before that", async () => {
    const aborted = { ...limit, signal: AbortSignal.abort(REASON), ms: 60_000 };
    await expect(abortableWithin(never(), aborted)).rejects.toBe(REASON);
  });
});
