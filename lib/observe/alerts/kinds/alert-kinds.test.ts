import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { nextStep } from "@/lib/observe/alerts/alert-state.pure";
import type { AlertFacts, GroupFact } from "@/lib/observe/alerts/facts/alert-facts.pure";
import { ALERT_KINDS, type AlertWatch, alertKindOf, judge } from "@/lib/observe/alerts/kinds/alert-kinds.pure";
import { COUNTED } from "@/lib/observe/alerts/kinds/settings.pure";
import { type KnownAlert, planEvaluation, RULE_ALERTS_MAX } from "@/lib/observe/alerts/plan-evaluation.pure";

type WithoutTimes<Watch> = Watch extends AlertWatch ? Omit<Watch, keyof typeof TIMES | "runbookUrl"> : never;
type AlertCondition = WithoutTimes<AlertWatch>;

const NOW = Date.parse("2026-11-22T02:30:00Z");
const HOUR = 3_600_000;
const WINDOW = 900_000;
const TIMES = { forMs: 0, clearMs: 60_000, repeatMs: null };

const GROUP: GroupFact = {
  fingerprint: "f1",
  source: "orders",
  errorCode: "TIMEOUT",
  pattern: "stock <n> timed out",
  firstSeenMs: NOW - 10 * 60_000,
  runSinceMs: NOW - 10 * 60_000,
  beforeMs: null,
  lastMs: NOW,
  arrived: 7,
  parked: 7,
  mayBeKnown: false,
};

function facts(own: Partial<AlertFacts> = {}): AlertFacts {
  const rows = <Rows>(list: Rows) => ({ rows: list });
  return {
    nowMs: NOW,
    levels: rows([
      { source: "orders", errorCode: "TIMEOUT", n: 60 },
      { source: "orders", errorCode: "VALIDATION_ERROR", n: 50 },
      { source: "billing", errorCode: "TIMEOUT", n: 20 },
    ]),
    ages: rows([
      { source: "orders", errorCode: null, hourMs: NOW - 50 * HOUR - 30 * 60_000, n: 10 },
      { source: "orders", errorCode: "TIMEOUT", hourMs: NOW - 50 * HOUR - 30 * 60_000, n: 10 },
      { source: "billing", errorCode: null, hourMs: NOW - HOUR - 30 * 60_000, n: 10 },
    ]),
    arrivals: rows(
      new Map([
        [
          WINDOW,
          [
            { source: "orders", errorCode: "TIMEOUT", count: 300, days: [20, 30, 25, 30] },
            { source: "billing", errorCode: "TIMEOUT", count: 40, days: [38, 42, 40, 41] },
            { source: "new", errorCode: "TIMEOUT", count: 900, days: [1] },
            { source: "still", errorCode: "TIMEOUT", count: 0, days: [90, 110, 100] },
          ],
        ],
      ]),
    ),
    outcomes: rows(
      new Map([
        [
          WINDOW,
          [
            { source: "orders", errorCode: "TIMEOUT", confirmed: 12, bounced: 6, failed: 2 },
            { source: "billing", errorCode: "TIMEOUT", confirmed: 1, bounced: 9, failed: 0 },
          ],
        ],
      ]),
    ),
    groups: rows([GROUP]),
    targets: rows([
      { target: "orders.slow", source: "orders", breaker: { open: true, forced: false }, healingSteps: 0 },
      { target: "billing.main", source: "billing", breaker: { open: false, forced: false }, healingSteps: 2 },
    ]),
    sources: rows([
      { source: "orders", fault: "failing", detail: "ECONNREFUSED" },
      { source: "billing", fault: "unread", detail: "" },
    ]),
    contracts: rows([{ target: "orders.slow", source: "orders", broken: ["semantics", "deadline"] }]),
    rooms: rows([{ measure: "disk", limitBytes: 1_000, leftBytes: 150, sentence: "The disk is nearly full" }]),
    audit: rows([{ findings: 3, first: "the entry is gone" }]),
    redrives: rows([{ id: "r1", sources: ["orders"], reason: "stock is back", why: "No worker is alive." }]),
    ...own,
  };
}

const body = (watch: AlertCondition, times: Partial<typeof TIMES> = {}): AlertWatch => ({
  ...watch,
  ...TIMES,
  ...times,
});

function holding(watch: AlertCondition, own: Partial<AlertFacts> = {}, firing: string[] = []): string[] {
  const judged = judge(body(watch), facts(own), new Set(firing));
  if ("fault" in judged) throw new Error(judged.fault);
  return judged.findings.flatMap(({ holds, key }) => (holds ? [key] : []));
}

describe("a rule holds for", () => {
  test.each<[string, AlertCondition, string[]]>([
    ["a source above its size", { kind: "size", above: 100, perSource: true }, ["orders"]],
    ["not at it", { kind: "size", above: 110, perSource: true }, []],
    ["all sources together", { kind: "size", above: 129, perSource: false }, ["all"]],
    ["one code alone", { kind: "size", above: 55, perSource: true, errorCodes: ["TIMEOUT"] }, ["orders"]],
    ["its own sources", { kind: "size", above: 10, perSource: true, sources: ["billing"] }, ["billing"]],
    [
      "more than usual, and not where the usual number is not known",
      { kind: "inflow", windowMs: WINDOW, factor: 3, atLeast: 50, perSource: true },
      ["orders"],
    ],
    ["no inflow below its least", { kind: "inflow", windowMs: WINDOW, factor: 3, atLeast: 301, perSource: true }, []],
    ["a silence", { kind: "silence", windowMs: WINDOW, usualAtLeast: 100, perSource: true }, ["still"]],
    ["no silence where little is usual", { kind: "silence", windowMs: WINDOW, usualAtLeast: 101, perSource: true }, []],
    ["old events", { kind: "age", aboveMs: 49 * HOUR, perSource: true }, ["orders"]],
    ["old events of a code", { kind: "age", aboveMs: HOUR, perSource: true, errorCodes: ["TIMEOUT"] }, ["orders"]],
    [
      "a low success, of enough outcomes",
      { kind: "success", windowMs: WINDOW, below: 0.8, atLeast: 20, perSource: true },
      ["orders"],
    ],
    [
      "a low success of few",
      { kind: "success", windowMs: WINDOW, below: 0.8, atLeast: 5, perSource: true },
      ["orders", "billing"],
    ],
    ["a new group", { kind: "new-group", atLeast: 7, quietMs: 24 * HOUR }, ["f1@orders"]],
    ["no new group below its least", { kind: "new-group", atLeast: 8, quietMs: 24 * HOUR }, []],
    ["an open breaker", { kind: "breaker" }, ["orders.slow"]],
    ["a slowed target", { kind: "healing" }, ["billing.main"]],
    ["a failing source", { kind: "source", states: ["failing"] }, ["orders"]],
    ["a source that nobody reads", { kind: "source", states: ["unread", "unreachable"] }, ["billing"]],
    ["a broken contract", { kind: "contract" }, ["orders.slow"]],
    ["little room", { kind: "storage", belowShare: 0.2 }, ["disk:1000"]],
    ["a bad audit", { kind: "audit" }, ["audit"]],
    ["a redrive that stands still", { kind: "redrive-still", sources: ["orders", "x"] }, ["r1"]],
    ["not one of other sources", { kind: "redrive-still", sources: ["billing"] }, []],
  ])("%s", (_, watch, keys) => {
    expect(holding(watch)).toEqual(keys);
  });

  test("a bad audit is one alert, and none when nothing was found", () => {
    const rows = [{ findings: 2, first: "changed" }];
    const judged = judge(body({ kind: "audit" }), facts({ audit: { rows } }), new Set());
    expect("findings" in judged && judged.findings.map(({ sentence, value }) => [sentence, value])).toEqual([
      ["Verification of the audit log found 2 faults, the first: changed", 2],
    ]);
    expect(holding({ kind: "audit" }, { audit: { rows: [] } })).toEqual([]);
  });

  test("a broken contract is named by what does not hold", () => {
    const judged = judge(body({ kind: "contract" }), facts(), new Set());
    expect("findings" in judged && judged.findings.map(({ sentence }) => sentence)).toEqual([
      "Target orders.slow breaks its contract: semantics, deadline",
    ]);
    const both = ["orders", null].map((target) => ({ target, source: "orders", broken: ["drain"] }));
    const ofBoth = judge(body({ kind: "contract" }), facts({ contracts: { rows: both } }), new Set());
    expect(
      "findings" in ofBoth && ofBoth.findings.map(({ key, subject, sentence }) => [key, subject, sentence]),
    ).toEqual([
      ["orders", { target: "orders" }, "Target orders breaks its contract: drain"],
      ["source:orders", {}, "Source orders breaks its contract: drain"],
    ]);
  });

  test("a firing alert until its value is clearly better", () => {
    const size: AlertCondition = { kind: "size", above: 115, perSource: true };
    expect(holding(size)).toEqual([]);
    expect(holding(size, {}, ["orders"])).toEqual(["orders"]);
    expect(holding({ ...size, above: 123 }, {}, ["orders"])).toEqual([]);
    const success: AlertCondition = { kind: "success", windowMs: WINDOW, below: 0.58, atLeast: 20, perSource: true };
    expect(holding(success, {}, [])).toEqual([]);
    expect(holding(success, {}, ["orders"])).toEqual(["orders"]);
    const room: AlertCondition = { kind: "storage", belowShare: 0.14 };
    expect(holding(room, {}, [])).toEqual([]);
    expect(holding(room, {}, ["disk:1000"])).toEqual(["disk:1000"]);
  });

  test.each<[string, Partial<GroupFact>, string[]]>([
    ["an hour ago it was new", { firstSeenMs: NOW - HOUR, runSinceMs: NOW - HOUR }, []],
    ["it came back after its quiet time", { firstSeenMs: 0, beforeMs: NOW - 30 * HOUR }, ["back"]],
    ["it came back sooner", { firstSeenMs: 0, beforeMs: NOW - 20 * HOUR }, []],
    ["nothing is known of before", { firstSeenMs: 0, beforeMs: null }, []],
    ["it is new", { firstSeenMs: NOW - HOUR + 1 }, ["new"]],
    ["it may be a known one", { firstSeenMs: NOW - HOUR / 2 + 1, mayBeKnown: true }, []],
    ["it may be a known one for too long", { firstSeenMs: NOW - HOUR / 2, mayBeKnown: true }, ["new"]],
  ])("a group: %s", (_, own, kinds) => {
    const groups = { groups: { rows: [{ ...GROUP, ...own }] } };
    const found = (["new-group", "group-back"] as const).filter(
      (kind) => holding({ kind, atLeast: 5, quietMs: 24 * HOUR }, groups).length > 0,
    );
    expect(found.map((kind) => kind.replace(/-?group-?/, ""))).toEqual(kinds);
  });

  test("the alert of a group while events of it are parked and come", () => {
    const watch: AlertCondition = { kind: "new-group", atLeast: 500, quietMs: 2 * HOUR };
    const old = { ...GROUP, firstSeenMs: NOW - 5 * HOUR };
    const goesOn = (own: Partial<GroupFact>) =>
      holding(watch, { groups: { rows: [{ ...old, ...own }] } }, ["f1@orders"]);
    expect(goesOn({})).toEqual(["f1@orders"]);
    expect(goesOn({ parked: 0 })).toEqual([]);
    expect(goesOn({ lastMs: NOW - 2 * HOUR })).toEqual([]);
  });

  test("sentences say source, number and what is usual, and show what is invisible", () => {
    const sentence = (watch: AlertCondition, own: Partial<AlertFacts> = {}) => {
      const judged = judge(body(watch), facts(own), new Set());
      return "findings" in judged ? judged.findings[0]!.sentence : judged.fault;
    };
    expect(sentence({ kind: "inflow", windowMs: WINDOW, factor: 3, atLeast: 50, perSource: true })).toBe(
      "orders: 300 events arrived in 15 min, 11 × the usual 28",
    );
    const hostile = { ...GROUP, errorCode: "A\u202eB".padEnd(10_000, "x"), pattern: "p" };
    const long = sentence({ kind: "new-group", atLeast: 1, quietMs: HOUR }, { groups: { rows: [hostile] } });
    expect(long).toContain("A⟨202E⟩B");
    expect([...long].length).toBeLessThan(300);
  });
});

describe("an alert", () => {
  const times = { forMs: 60_000, clearMs: 120_000 };
  const at = (state: "pending" | "firing", sinceMs: number, clearSinceMs: number | null = null) => ({
    state,
    sinceMs,
    clearSinceMs,
  });
  test.each([
    ["begins pending", null, true, { to: "pending", sinceMs: 1_000_000, fires: false }],
    ["does not begin", null, false, { to: "none" }],
    ["waits for its time", at("pending", 940_001), true, { to: "pending", fires: false }],
    ["fires after it", at("pending", 940_000), true, { to: "firing", fires: true }],
    [
      "counts its time from now where the clock was set back",
      at("pending", 9_000_000),
      true,
      { to: "pending", sinceMs: 1_000_000 },
    ],
    ["and its end", at("firing", 1, 9_000_000), false, { to: "firing", clearSinceMs: 1_000_000 }],
    ["is forgotten before it", at("pending", 940_001), false, { to: "dropped" }],
    ["goes on firing", at("firing", 1), true, { to: "firing", fires: false, clearSinceMs: null }],
    ["waits before it ends", at("firing", 1), false, { to: "firing", clearSinceMs: 1_000_000 }],
    ["ends after that", at("firing", 1, 880_000), false, { to: "resolved" }],
    ["does not end before", at("firing", 1, 880_001), false, { to: "firing", clearSinceMs: 880_001 }],
    [
      "takes a relapse for the same",
      at("firing", 1, 880_001),
      true,
      { to: "firing", clearSinceMs: null, fires: false },
    ],
  ] as const)("%s", (_, live, holds, step) => {
    expect(nextStep(live, holds, times, 1_000_000)).toMatchObject(step);
  });

  test("fires at once where no time is set", () => {
    expect(nextStep(null, true, { forMs: 0, clearMs: 0 }, 5)).toMatchObject({ to: "firing", fires: true });
    expect(nextStep(at("firing", 1), false, { forMs: 0, clearMs: 0 }, 5)).toEqual({ to: "resolved" });
  });
});

describe("an evaluation", () => {
  const rule = (id: string, watch: AlertCondition) => ({
    ...{ id, name: id, severity: "warning" as const, version: 1, fault: null },
    watch: body(watch),
  });
  const known: KnownAlert = {
    ...{ id: "a1", ruleId: "sizes", key: "gone", source: "gone" },
    ...{ state: "firing", sinceMs: 1, clearSinceMs: NOW - 60_000 },
  };

  test("judges each rule by itself: one without its facts keeps its alerts and says why", () => {
    const rules = [
      rule("sizes", { kind: "size", above: 100, perSource: true }),
      rule("ages", { kind: "age", aboveMs: HOUR, perSource: true }),
    ];
    const broken = facts({ levels: { fault: "its sizes could not be read" } });
    const plan = planEvaluation(rules, [known], broken);
    expect(plan.faults).toEqual([{ id: "sizes", fault: "its sizes could not be read" }]);
    expect(plan.changes.map(({ rule: { id }, to }) => [id, to])).toEqual([
      ["ages", "firing"],
      ["ages", "firing"],
    ]);
    const whole = planEvaluation(rules, [known], facts());
    expect(whole.changes.find(({ known: alert }) => alert?.id === "a1")).toMatchObject({
      to: "resolved",
      finding: null,
    });
  });

  test("lists so many alerts of a rule, and says how many it does not", () => {
    const levels = {
      rows: Array.from({ length: RULE_ALERTS_MAX + 9_000 }, (_, index) => ({
        source: `s${index}`,
        errorCode: "E",
        n: 2,
      })),
    };
    const plan = planEvaluation([rule("sizes", { kind: "size", above: 1, perSource: true })], [], facts({ levels }));
    expect(plan.changes).toHaveLength(RULE_ALERTS_MAX);
    expect(plan.faults[0]!.fault).toContain("9000 more");
  });
});

test("docs/alerts.md has a row for each kind, with its own settings", () => {
  const docs = readFileSync("docs/alerts.md", "utf8");
  const rows = new Map([...docs.matchAll(/^\| `([\w-]+)`.*$/gm)].map(([row, kind]) => [kind, row]));
  const missing = ALERT_KINDS.flatMap((kind) => {
    const own = Object.keys(alertKindOf(kind).settings).filter((setting) => !(setting in COUNTED));
    return own.concat(kind).flatMap((name) => (rows.get(kind)?.includes(`\`${name}\``) ? [] : `${kind}: ${name}`));
  });
  expect(missing).toEqual([]);
});
