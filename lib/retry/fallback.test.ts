import { describe, expect, it } from "vitest";
import type { Outcome } from "@/lib/retry/call";
import { type Fallback, withFallback } from "@/lib/retry/fallback";

const failed: Outcome<string> = {
  kind: "failed",
  reason: "breaker-open",
  code: "BREAKER_OPEN",
  error: null,
  sent: "no",
  untilMs: null,
  attempts: 0,
  elapsedMs: 1,
};

const never: Fallback<string> = { name: "never", handles: () => false, value: () => "never" };
const cached: Fallback<string> = {
  name: "cached",
  handles: (outcome) => outcome.kind === "failed" && outcome.reason === "breaker-open",
  value: (outcome) => `instead of ${outcome.kind}`,
};
const constant: Fallback<string> = { name: "constant", handles: () => true, value: async () => "constant" };

describe("a fallback", () => {
  it("stands in for what it handles, in order, and says that it did", async () => {
    expect(await withFallback(failed, [never, cached, constant])).toEqual({
      kind: "fallback",
      name: "cached",
      value: "instead of failed",
      instead: failed,
    });
    expect(await withFallback(failed, [constant, cached])).toMatchObject({ name: "constant", value: "constant" });
  });

  it("leaves alone what none handles", async () => {
    expect(await withFallback(failed, [never])).toBe(failed);
    expect(await withFallback(failed, [])).toBe(failed);
  });

  it("never takes the place of a success or of a cancellation", async () => {
    const ok: Outcome<string> = { kind: "ok", value: "v", attempts: 1, elapsedMs: 1 };
    const cancelled: Outcome<string> = { kind: "cancelled", reason: "stop", sent: "no", attempts: 0, elapsedMs: 1 };
    expect(await withFallback(ok, [constant])).toBe(ok);
    expect(await withFallback(cancelled, [constant])).toBe(cancelled);
  });

  it("stands in for a deferral", async () => {
    const deferred: Outcome<string> = {
      ...failed,
      kind: "deferred",
      cause: "retry-after",
      untilMs: 5,
    } as Outcome<string>;
    expect(await withFallback(deferred, [constant])).toMatchObject({ kind: "fallback", instead: deferred });
  });

  it("that fails itself fails the call", async () => {
    const broken: Fallback<string> = { ...constant, value: () => Promise.reject(new Error("cache is empty")) };
    await expect(withFallback(failed, [broken])).rejects.toThrow("cache is empty");
  });
});
