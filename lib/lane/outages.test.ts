import { describe, expect, test } from "vitest";
import { manualClock } from "@/lib/testing/manual-clock";
import { watchOutages } from "./outages";

class Refused extends Error {
  readonly code = "ECONNREFUSED";
}

function setUp() {
  const clock = manualClock();
  const reported: unknown[] = [];
  let up = false;
  const outages = watchOutages({
    clock,
    onOutage: (error) => reported.push(error),
    onOver: (suppressed) => reported.push(`over, ${suppressed} suppressed`),
    probe: () => (up ? Promise.resolve() : Promise.reject(new Refused())),
  });
  return {
    clock,
    outages,
    reported,
    setUp: (next: boolean) => {
      up = next;
    },
  };
}

describe("an outage of the queue", () => {
  test("is reported once for each kind of error, and its end with the number of the others", async () => {
    const t = setUp();
    const first = new Refused("connect");
    const other = new TypeError("other");
    for (const error of [first, new Refused("again"), other, new Refused("and again")]) t.outages.report(error);
    expect(t.reported).toEqual([first, other]);
    await t.clock.advance(30_000);
    expect(t.reported).toHaveLength(2);
    t.setUp(true);
    await t.clock.advance(1_000);
    expect(t.reported[2]).toBe("over, 2 suppressed");
    expect(t.clock.pending()).toBe(0);
  });

  test("that is the second one is reported again", async () => {
    const t = setUp();
    t.outages.report(new Refused());
    t.setUp(true);
    await t.clock.advance(1_000);
    t.setUp(false);
    const second = new Refused();
    t.outages.report(second);
    expect(t.reported.at(-1)).toBe(second);
  });

  test("is not reported after stop, and no timer is left", async () => {
    const t = setUp();
    t.outages.report(new Refused());
    t.outages.stop();
    t.outages.report(new TypeError("late"));
    t.setUp(true);
    await t.clock.advance(5_000);
    expect(t.reported).toHaveLength(1);
    expect(t.clock.pending()).toBe(0);
  });
});
