import { afterEach, describe, expect, test, vi } from "vitest";
import { systemClock } from "@/lib/platform/clock";

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe("the system clock", () => {
  test.each([3_600_000, -3_600_000])(
    "measures delays with a clock that nobody can set: a jump of %i ms (I10)",
    (jumpMs) => {
      const wallMs = Date.now();
      const [before, wallBefore] = [systemClock.nowMs(), systemClock.wallMs()];
      vi.spyOn(Date, "now").mockReturnValue(wallMs + jumpMs);
      expect(systemClock.wallMs() - wallBefore).toBeCloseTo(jumpMs, -3);
      const elapsedMs = systemClock.nowMs() - before;
      expect(elapsedMs).toBeGreaterThanOrEqual(0);
      expect(elapsedMs).toBeLessThan(60_000);
    },
  );

  test("ends a sleep at once when it is aborted, with the reason", async () => {
    const stop = new AbortController();
    const asleep = systemClock.sleep(600_000, stop.signal);
    const reason = new Error("stopped");
    stop.abort(reason);
    await expect(asleep).rejects.toBe(reason);
    await expect(systemClock.sleep(0, stop.signal)).rejects.toBe(reason);
  });

  test("leaves no timer behind a sleep that was aborted", async () => {
    vi.useFakeTimers();
    const stop = new AbortController();
    const asleep = systemClock.sleep(600_000, stop.signal);
    stop.abort(new Error("stopped"));
    await expect(asleep).rejects.toThrow("stopped");
    expect(vi.getTimerCount()).toBe(0);
  });

  test("does not fire a timer at once that is longer than a timer can be", () => {
    vi.useFakeTimers();
    const fired = vi.fn();
    const cancel = systemClock.timer(2 ** 40, fired);
    vi.advanceTimersByTime(1_000);
    expect(fired).not.toHaveBeenCalled();
    cancel();
    expect(vi.getTimerCount()).toBe(0);
  });
});
