import { describe, expect, test } from "vitest";
import { type Control, indexControls } from "@/lib/order/controls/control.pure";
import type { GateFacts } from "@/lib/selection/gate-facts.pure";
import type { ConfirmableRefusal } from "@/lib/states/refusal.pure";
import { gate, gateChecks } from "./gate.pure";

const NOW = 1_000_000;
const event: GateFacts = {
  status: "PENDING",
  eventId: "e-7",
  aggregateType: "order",
  aggregateId: "order-7",
  errorCode: "TIMEOUT",
  source: "orders",
  cooldownUntilMs: null,
  redrives: 0,
  admission: null,
};
const control = (change: Partial<Control>): Control => ({
  id: "c",
  kind: "blacklist",
  scope: "eventId",
  value: "e-7",
  source: null,
  aggregateType: null,
  origin: "person",
  expiresAtMs: null,
  ...change,
});
const rule = (
  change: Partial<GateFacts>,
  controls: Control[] = [],
  at: "request" | "run" = "request",
  despite: ConfirmableRefusal[] = [],
) => {
  const rules = { controls: indexControls(controls), redriveLimit: 3, nowMs: NOW, at, despite };
  const ruling = gate({ ...event, ...change }, rules);
  return ruling.pass ? "pass" : ruling.refusal;
};

describe("the gate", () => {
  const whitelist = control({ kind: "whitelist", scope: "source", value: "orders" });

  test.each([
    ["PENDING", "request", "pass"],
    ["QUEUED", "request", "already-queued"],
    ["QUEUED", "run", "pass"],
    ["REDRIVEN", "request", "already-redriven"],
    ["REDRIVEN", "run", "already-redriven"],
    ["IGNORED", "run", "ignored"],
  ] as const)("%s at %s: %s", (status, at, expected) => {
    expect(rule({ status }, [], at)).toBe(expected);
  });

  test.each([
    ["eventId", "e-7"],
    ["aggregateId", "order-7"],
    ["errorCode", "TIMEOUT"],
    ["source", "orders"],
  ] as const)("a blacklist over %s catches it, and over another value does not", (scope, value) => {
    expect(rule({}, [control({ scope, value })])).toBe("blacklisted");
    expect(rule({}, [control({ scope, value: `${value}0` })])).toBe("pass");
  });

  test.each([
    ["early", [], "parked-early"],
    ["early", ["needs-confirmation"], "parked-early"],
    ["early", ["parked-early"], "pass"],
    ["confirm", ["parked-early"], "needs-confirmation"],
    ["confirm", ["needs-confirmation"], "pass"],
    // The dry run decides on the version that is processed then.
    ["superseded", [], "pass"],
  ] as const)("an event that admission marked %s, despite %j: %s", (admission, despite, expected) => {
    for (const at of ["request", "run"] as const) {
      const status = at === "run" ? "QUEUED" : "PENDING";
      expect(rule({ admission, status }, [], at, [...despite])).toBe(expected);
    }
    expect(rule({ admission, status: "IGNORED" }, [], "request", [...despite])).toBe("ignored");
  });

  test("a whitelist sends nothing that admission asks a person about", () => {
    expect(rule({ admission: "confirm" }, [control({ kind: "whitelist" })])).toBe("needs-confirmation");
  });

  test("an event without an aggregate is under no aggregate's control", () => {
    expect(rule({ aggregateId: null }, [control({ scope: "aggregateId", value: "null" })])).toBe("pass");
  });

  test.each([
    ["its source", { source: "orders" }, "blacklisted"],
    ["another source", { source: "billing" }, "pass"],
    ["its type of aggregate", { aggregateType: "order" }, "blacklisted"],
    ["another type of aggregate", { aggregateType: "customer" }, "pass"],
    ["its type of aggregate in another source", { source: "billing", aggregateType: "order" }, "pass"],
  ] as const)("a control over an aggregate narrowed to %s", (_what, narrowed, expected) => {
    expect(rule({}, [control({ scope: "aggregateId", value: "order-7", ...narrowed })])).toBe(expected);
  });

  test.each(["eventId", "errorCode"] as const)("a control over %s narrowed to a source holds there only", (scope) => {
    const value = scope === "eventId" ? "e-7" : "TIMEOUT";
    expect(rule({}, [control({ scope, value, source: "orders" })])).toBe("blacklisted");
    expect(rule({}, [control({ scope, value, source: "billing" })])).toBe("pass");
  });

  test("a control over a type of aggregate leaves the aggregate of no type alone", () => {
    const narrowed = control({ scope: "aggregateId", value: "order-7", aggregateType: "order" });
    expect(rule({ aggregateType: null }, [narrowed])).toBe("pass");
  });

  test("Parkade's blacklist of an aggregate of no type leaves those of a type alone", () => {
    const automatic = control({ origin: "automatic", scope: "aggregateId", value: "order-7", aggregateType: "" });
    expect(rule({ aggregateType: null }, [automatic])).toBe("blacklisted");
    expect(rule({}, [automatic])).toBe("pass");
  });

  test("a control ends at its expiry", () => {
    expect(rule({}, [control({ expiresAtMs: NOW + 1 })])).toBe("blacklisted");
    expect(rule({}, [control({ expiresAtMs: NOW })])).toBe("pass");
  });

  test("a cooldown refuses, by control or after a failure, until its time", () => {
    expect(rule({}, [control({ kind: "cooldown", expiresAtMs: NOW + 1 })])).toBe("cooling");
    expect(rule({ cooldownUntilMs: NOW + 1 })).toBe("cooling");
    expect(rule({ cooldownUntilMs: NOW })).toBe("pass");
  });

  test("a whitelist overrides cooldowns, the redrive limit and an automatic blacklist, never a person's", () => {
    expect(rule({ cooldownUntilMs: NOW + 1 }, [whitelist])).toBe("pass");
    expect(rule({}, [whitelist, control({ kind: "cooldown", expiresAtMs: NOW + 1 })])).toBe("pass");
    expect(rule({ redrives: 3 }, [whitelist])).toBe("pass");
    expect(rule({}, [whitelist, control({ origin: "automatic" })])).toBe("pass");
    expect(rule({}, [whitelist, control({})])).toBe("blacklisted");
    expect(rule({}, [whitelist, control({ origin: "automatic" }), control({})])).toBe("blacklisted");
  });

  test("the redrive limit counts the redrives made", () => {
    expect(rule({ redrives: 2 })).toBe("pass");
    expect(rule({ redrives: 3 })).toBe("redrive-limit");
  });

  test("a person is told the state before the controls", () => {
    expect(rule({ status: "IGNORED", redrives: 9 }, [control({})])).toBe("ignored");
    expect(rule({ redrives: 9, cooldownUntilMs: NOW + 1 }, [control({})])).toBe("blacklisted");
  });
});

describe("the gate as checks", () => {
  const checksOf = (change: Partial<GateFacts>, controls: Control[] = []) =>
    gateChecks(
      { ...event, status: "QUEUED", ...change },
      { controls: indexControls(controls), redriveLimit: 3, nowMs: NOW, at: "run", despite: [] },
    );
  const everything: Partial<GateFacts> = { cooldownUntilMs: NOW + 60_000, redrives: 3, admission: "early" };

  test("names all that is wrong at once, each with what to do", () => {
    const checks = checksOf(everything, [control({})]);
    expect(checks.filter(({ ok }) => ok === false).map(({ check }) => check)).toEqual([
      "blacklist",
      "cooldown",
      "redrive-limit",
      "admission",
    ]);
    expect(checks.every(({ fix }) => fix !== undefined && fix !== "")).toBe(true);
    expect(checks[1]!.detail).toBe("it cools down until 1970-01-01T00:17:40.000Z");
    expect(checks[2]!.detail).toBe("it was sent by 3 redrives, the limit is 3");
  });

  test.each([
    [{}, []],
    [{ redrives: 3 }, []],
    [{ cooldownUntilMs: NOW + 1 }, []],
    [{ cooldownUntilMs: NOW + 1, redrives: 9 }, [control({ kind: "whitelist" })]],
    [{ admission: "confirm" as const }, []],
    [{ status: "IGNORED" as const }, []],
    [{}, [control({ origin: "automatic" })]],
  ])("fails a check exactly when the gate refuses: %o", (change, controls) => {
    const facts = { ...event, status: "QUEUED" as const, ...change };
    const failed = checksOf(facts, controls).some(({ ok }) => ok === false);
    expect(failed).toBe(rule(facts, controls, "run") !== "pass");
  });
});
