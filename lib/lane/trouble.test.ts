import { describe, expect, test } from "vitest";
import { manualClock } from "@/lib/testing/manual-clock";
import { watchTrouble } from "./trouble";

class Refused extends Error {
  readonly code = "ECONNREFUSED";
}

function setUp() {
  const clock = manualClock();
  const told: unknown[] = [];
  let up = false;
  const trouble = watchTrouble({
    clock,
    onTrouble: (error) => told.push(error),
    onOver: (suppressed) => told.push(`over, ${suppressed} suppressed`),
    probe: () => (up ? Promise.resolve() : Promise.reject(new Refused())),
  });
  return {
    clock,
    trouble,
    told,
    setUp: (next: boolean) => {
      up = next;
    },
  };
}

describe("trouble", () => {
  test("is told once per outage and kind, and its end with the number kept back", async () => {
    const t = setUp();
    const first = new Refused("connect");
    const other = new TypeError("other");
    for (const error of [first, new Refused("again"), other, new Refused("and again")]) t.trouble.report(error);
    expect(t.told).toEqual([first, other]);
    await t.clock.advance(30_000);
    expect(t.told).toHaveLength(2);
    t.setUp(true);
    await t.clock.advance(1_000);
    expect(t.told[2]).toBe("over, 2 suppressed");
    expect(t.clock.pending()).toBe(0);
  });

  test("a second outage is told again", async () => {
    const t = setUp();
    t.trouble.report(new Refused());
    t.setUp(true);
    await t.clock.advance(1_000);
    t.setUp(false);
    const second = new Refused();
    t.trouble.report(second);
    expect(t.told.at(-1)).toBe(second);
  });

  test("after stop nothing is told and no timer is left", async () => {
    const t = setUp();
    t.trouble.report(new Refused());
    t.trouble.stop();
    t.trouble.report(new TypeError("late"));
    t.setUp(true);
    await t.clock.advance(5_000);
    expect(t.told).toHaveLength(1);
    expect(t.clock.pending()).toBe(0);
  });
});
