import { describe, expect, it } from "vitest";
import { type StallFacts, stallOf } from "@/lib/redrive/life/stalled.pure";

const NOW = 1_000_000;
/** Runs for a minute, sends nothing, and nothing is known to be in its way. */
const facts = (change: Partial<StallFacts> = {}): StallFacts => ({
  state: "RUNNING",
  open: 7,
  decidedRecently: 0,
  startedMs: NOW - 60_000,
  nowMs: NOW,
  workersAlive: 2,
  pauseReason: null,
  ratePerSecond: 5,
  waits: [],
  holdUntilMs: null,
  canary: null,
  stops: [],
  breakers: [],
  away: [],
  targets: 1,
  underWay: 0,
  deferred: { count: 0, untilMs: null },
  blockedBy: null,
  ...change,
});
const STOP = { target: null, by: "maria", reason: "stock is down." };
const open = { target: "orders.slow", forced: false, untilMs: NOW + 30_000 };
const away = { target: "orders", detail: "cannot reach it (ECONNREFUSED)", forMs: 8_400 };

describe("why a redrive does not move", () => {
  it.each<[string, Partial<StallFacts>, string | null]>([
    ["it moves", { decidedRecently: 1 }, null],
    ["it is over", { state: "DONE" }, null],
    ["it is over, and no worker lives", { state: "CANCELLED", workersAlive: 0 }, null],
    ["it has just begun", { startedMs: NOW - 1_000 }, null],
    ["it is planned and a worker lives", { state: "PLANNED" }, null],
    ["a person paused it", { state: "PAUSED", pauseReason: "paused by maria: stock is down" }, "paused"],
    ["everything is stopped, and it still moved a moment ago", { stops: [STOP], decidedRecently: 3 }, "stopped"],
    ["its one target is stopped", { stops: [{ ...STOP, target: "orders" }] }, "stopped"],
    [
      "one of its two targets is stopped",
      { stops: [{ ...STOP, target: "orders" }], targets: 2, underWay: 1 },
      "in-hand",
    ],
    [
      "its target cannot be reached, and it still moved a moment ago",
      { away: [away], decidedRecently: 3 },
      "target-away",
    ],
    ["its breaker is open, and it still moved a moment ago", { breakers: [open], decidedRecently: 3 }, "breaker-open"],
    ["one of its two targets is away", { away: [away], targets: 2, decidedRecently: 3 }, null],
    ["its target cannot be reached, and a person stopped everything", { away: [away], stops: [STOP] }, "stopped"],
    ["everything is stopped, and it is paused", { state: "PAUSED", stops: [STOP] }, "paused"],
    [
      "one of its two targets is stopped, and the breaker of the other is open",
      { stops: [{ ...STOP, target: "orders" }], breakers: [open], targets: 2 },
      "stopped",
    ],
    [
      "one of its two targets is stopped, and what goes to the other waits for a time",
      { stops: [{ ...STOP, target: "orders" }], targets: 2, deferred: { count: 3, untilMs: NOW + 9_000 } },
      "stopped",
    ],
    [
      "the breaker of one of its two targets is open, and what goes to the other waits for a time",
      { breakers: [open], targets: 2, deferred: { count: 3, untilMs: NOW + 9_000 } },
      "breaker-open",
    ],
    ["no worker is alive", { workersAlive: 0 }, "no-worker"],
    ["no worker is alive to plan it", { state: "PLANNING", workersAlive: 0 }, "no-worker"],
    ["it may still be undone", { holdUntilMs: NOW + 4_000, startedMs: NOW - 1_000 }, "hold"],
    [
      "nobody has approved it",
      { state: "PLANNED", workersAlive: 0, waits: [{ for: "approval", untilMs: NOW }] },
      "approval",
    ],
    [
      "its time has not come",
      { state: "PLANNED", workersAlive: 0, waits: [{ for: "time", untilMs: NOW }] },
      "starts-later",
    ],
    ["its breaker is open", { state: "PLANNED", waits: [{ for: "breaker", untilMs: NOW }] }, "waits-for-breaker"],
    [
      "no worker sees its breaker close",
      { state: "PLANNED", workersAlive: 0, waits: [{ for: "breaker", untilMs: NOW }] },
      "no-worker",
    ],
    ["the breaker of its target is open", { breakers: [open], underWay: 3 }, "breaker-open"],
    ["one of two targets has an open breaker", { breakers: [open], targets: 2, underWay: 3 }, "in-hand"],
    ["its canary is used up", { canary: { released: 10, sent: 10, untilMs: null } }, "canary-waits"],
    ["its canary has more to send", { canary: { released: 10, sent: 4, untilMs: null }, underWay: 6 }, "in-hand"],
    ["all its items wait for a time", { deferred: { count: 7, untilMs: NOW + 9_000 } }, "deferred"],
    ["some of its items wait for a time", { deferred: { count: 2, untilMs: NOW + 9_000 } }, "unknown"],
    ["another redrive comes first", { blockedBy: "r-2" }, "blocked"],
    ["its rate is one in twenty seconds", { ratePerSecond: 0.05 }, "rate"],
    ["a send takes long", { underWay: 1 }, "in-hand"],
    ["nothing is known", {}, "unknown"],
  ])("%s", (_, change, code) => {
    expect(stallOf(facts(change))?.code ?? null).toBe(code);
  });

  it("names who paused it and why", () => {
    expect(stallOf(facts({ state: "PAUSED", pauseReason: "paused by maria: stock is down" }))?.text).toBe(
      "Paused by maria: stock is down. Resume sends the rest.",
    );
  });

  it.each<[string, Partial<StallFacts>, string]>([
    [
      "an approval and a time",
      {
        waits: [
          { for: "approval", untilMs: NOW },
          { for: "time", untilMs: NOW },
        ],
      },
      "After a resume it still waits for the approval of a second person and its time.",
    ],
    [
      "a stop",
      { stops: [STOP] },
      "After a resume it still waits: maria stopped everything: stock is down. Resume them in the bar at the top of the page.",
    ],
  ])("says that a resume of what is paused ends no wait for %s", (_, change, text) => {
    const paused = facts({ state: "PAUSED", pauseReason: "paused by maria", ...change });
    expect(stallOf(paused)?.text).toBe(`Paused by maria. ${text}`);
  });

  it("says whether the breaker opens by itself, and until when", () => {
    expect(stallOf(facts({ breakers: [open] }))).toMatchObject({ target: "orders.slow", untilMs: NOW + 30_000 });
    expect(stallOf(facts({ breakers: [{ ...open, forced: true, untilMs: null }] }))?.text).toMatch(/Someone holds/);
  });
});
