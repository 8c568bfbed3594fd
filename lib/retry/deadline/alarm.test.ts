import { describe, expect, it, vi } from "vitest";
import { Alarm } from "@/lib/retry/deadline/alarm";
import { type ManualClock, manualClock } from "@/lib/retry/testing/manual-clock";

function setUp(): { clock: ManualClock; fired: number[]; alarm: Alarm; armed: () => number } {
  const clock = manualClock({ nowMs: 0 });
  const fired: number[] = [];
  const timer = vi.spyOn(clock, "timer");
  const alarm = new Alarm(clock, 100, () => fired.push(clock.nowMs()));
  return { clock, fired, alarm, armed: () => timer.mock.calls.length };
}

describe("an alarm", () => {
  it("fires once, at its limit", async () => {
    const { clock, fired, alarm } = setUp();
    alarm.set(350, 0);
    await clock.advance(349);
    expect(fired).toEqual([]);
    await clock.advance(1_000);
    expect(fired).toEqual([350]);
    expect(clock.timers).toBe(0);
  });

  it("moves later without a new timer, and still fires at the later limit only", async () => {
    const { clock, fired, alarm, armed } = setUp();
    alarm.set(80, 0);
    alarm.set(180, 0);
    expect(armed()).toBe(1);
    await clock.advance(1_000);
    expect(fired).toEqual([180]);
  });

  it("moves earlier with a new timer", async () => {
    const { clock, fired, alarm, armed } = setUp();
    alarm.set(90, 0);
    alarm.set(40, 0);
    expect(armed()).toBe(2);
    expect(clock.timers).toBe(1);
    await clock.advance(1_000);
    expect(fired).toEqual([40]);
  });

  it("costs one timer for a far limit followed by a nearer one that was expected", () => {
    const { alarm, armed } = setUp();
    alarm.set(10_000, 0);
    alarm.set(105, 5);
    alarm.set(100, 5);
    expect(armed()).toBe(1);
  });

  it("fires at once for a limit that has passed", async () => {
    const { clock, fired, alarm } = setUp();
    await clock.advance(50);
    alarm.set(20, 50);
    await clock.advance(0);
    expect(fired).toEqual([50]);
  });

  it("does nothing once cleared, and can be set again", async () => {
    const { clock, fired, alarm } = setUp();
    alarm.clear();
    alarm.set(80, 0);
    alarm.clear();
    expect(clock.timers).toBe(0);
    await clock.advance(500);
    expect(fired).toEqual([]);
    alarm.set(600, 500);
    await clock.advance(500);
    expect(fired).toEqual([600]);
  });
});
