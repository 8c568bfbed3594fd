import { describe, expect, it } from "vitest";
import {
  brakeFaults,
  buttonWords,
  confirmationFor,
  draftEtaMs,
  draftProblems,
  foldedWords,
  isConfirmed,
  isFolded,
  type RedriveDraft,
  redriveRequest,
  refusedProblems,
  sourcesOf,
  titleWords,
  warmUpWords,
} from "@/components/redrive/dialog/redrive-draft";
import { idempotencyKeys } from "@/components/redrive/idempotency-keys";
import type { PreviewOut } from "@/lib/redrive/preview/redrive-preview.shapes";
import { redriveRequestSchema } from "@/lib/redrive/request/redrive-request.shapes";

const cutoff = "2026-11-20T14:02:11.000Z";
const preview = (over: Partial<PreviewOut> = {}): PreviewOut => ({
  total: 12_481,
  kind: "exact",
  eligible: 12_300,
  refused: { blacklisted: 120, cooling: 41, ignored: 20 },
  controls: [],
  byErrorCode: { UPSTREAM_5XX: 12_002, TIMEOUT: 298 },
  ratePerSecond: 5,
  etaMs: 2_460_000,
  canaryQuietMs: 30_000,
  sources: { orders: { eligible: 12_300, ratePerSecond: 5, warmUpMs: 0 } },
  sample: null,
  earlier: null,
  changedSince: null,
  reasonRequiredAbove: 1_000,
  approvalCauses: [],
  unknown: [],
  cutoff,
  ...over,
});
const draft = (over: Partial<RedriveDraft> = {}): RedriveDraft => ({
  lane: "slow",
  target: null,
  ratePerSecond: null,
  canary: false,
  canarySteps: "1, 10, 100",
  brakePercent: "20",
  brakeWindow: "50",
  latencyMsMax: "",
  tell: [],
  reason: "stock service back since 13:58",
  earlier: null,
  typedStrand: "",
  when: "now",
  startAt: "",
  typed: "",
  despite: [],
  ...over,
});
const selection = { filter: { errorCode: ["UPSTREAM_5XX"] } };

describe("the folded fields in one line", () => {
  const words = (over: Partial<RedriveDraft>, found: Partial<PreviewOut> = {}) =>
    foldedWords("deliver", draft({ reason: "", ...over }), preview(found), true);

  it("are their defaults", () => {
    expect(words({})).toBe("5/s, takes about 41 min · brake above 20% of the last 50 · starts now");
  });

  it.each<[Partial<RedriveDraft>, boolean]>([
    [{ canary: true, canarySteps: "0" }, true],
    [{ brakeWindow: "9" }, true],
    [{ when: "time" }, true],
    [{ reason: "", typed: "" }, false],
  ])("are opened for a problem of their own: %o", (over, folded) => {
    const problems = draftProblems("deliver", draft({ typed: "12300", ...over }), preview());
    expect(Object.keys(problems)).not.toEqual([]);
    expect(isFolded(problems)).toBe(folded);
  });

  it("name the value of the brake that is wrong", () => {
    expect(brakeFaults(draft())).toEqual([]);
    expect(brakeFaults(draft({ brakePercent: "101" }))).toEqual(["brakePercent"]);
    expect(brakeFaults(draft({ brakeWindow: "1001", latencyMsMax: "0" }))).toEqual(["brakeWindow", "latencyMsMax"]);
  });
});

it("the button asks where a second person must approve, and the title stays", () => {
  const marked = preview({ approvalCauses: [{ kind: "source", name: "orders" }] });
  expect(buttonWords("deliver", marked)).toBe("Request approval for 12,300 events");
  expect(titleWords("deliver", marked)).toBe("Redrive 12,300 of 12,481");
  expect(buttonWords("verify", marked)).toBe("Verify 12,481 events");
  expect(buttonWords("deliver", preview({ approvalCauses: null }))).toBe("Redrive 12,300 events");
});

describe("the sources of the events", () => {
  const sources = { orders: { eligible: 3, ratePerSecond: 5, warmUpMs: 0 } };
  it.each([
    [3, { filter: {} }, ["orders"]],
    [null, { filter: { source: ["billing"] } }, ["billing"]],
    [null, { filter: {} }, []],
  ])("with %j counted of %j are %j", (eligible, selection, expected) => {
    expect(sourcesOf({ eligible, sources: eligible === null ? {} : sources }, selection)).toEqual(expected);
  });
});

describe("what the dialog sends", () => {
  it("names the target that was chosen", () => {
    expect(redriveRequest(selection, "deliver", draft({ target: "orders.audit" }), preview())).toMatchObject({
      target: "orders.audit",
    });
    expect(redriveRequest(selection, "deliver", draft(), preview())).not.toHaveProperty("target");
  });

  it("names what the person confirmed, and nothing else", () => {
    const sent = (despite: RedriveDraft["despite"]) =>
      redriveRequest(selection, "deliver", draft({ despite }), preview());
    expect(sent(["parked-early"])).toMatchObject({ despite: ["parked-early"] });
    expect(sent([])).not.toHaveProperty("despite");
  });

  const pace = { canary: true, canarySteps: "3; 30", brakePercent: "35", brakeWindow: "40", latencyMsMax: "900" };

  it("is what the contract takes, frozen at the preview", () => {
    const request = redriveRequest(selection, "deliver", draft({ ratePerSecond: 2.5, ...pace }), preview());
    expect(redriveRequestSchema.parse(request)).toEqual({
      select: { filter: { errorCode: ["UPSTREAM_5XX"], to: "2026-11-20T14:02:11.001Z" } },
      mode: "deliver",
      lane: "slow",
      ratePerSecond: 2.5,
      canary: { steps: [3, 30], stopAtFailureRatio: 0.35, window: 40 },
      brake: { ratio: 0.35, window: 40, minSample: 10, latencyMsMax: 900 },
      holdMs: 5_000,
      earlier: "hold",
      reason: "stock service back since 13:58",
    });
  });

  it("has a canary by itself only for a set above ten events", () => {
    const canaryOf = (over: Partial<RedriveDraft>, eligible: number | null) =>
      redriveRequest(selection, "deliver", draft(over), preview({ eligible })).canary !== false;
    expect([1, 10, 11, null].map((eligible) => canaryOf({ canary: null }, eligible))).toEqual([
      false,
      false,
      true,
      true,
    ]);
    expect([canaryOf({ canary: true }, 2), canaryOf({ canary: false }, 900)]).toEqual([true, false]);
  });

  it("asks nobody why they only look, and sends no canary ahead of a dry run", () => {
    const request = redriveRequest(selection, "verify", draft({ reason: " ", canary: true }), preview());
    expect(redriveRequestSchema.parse(request)).toMatchObject({ mode: "verify", canary: false });
    expect(draftProblems("verify", draft({ reason: "", typed: "" }), preview())).toEqual({});
  });

  it("has one key for the same request, another for a changed one, and the first again when changed back", () => {
    let made = 0;
    const keyFor = idempotencyKeys(() => `key-${++made}`);
    const first = redriveRequest(selection, "deliver", draft(), preview());
    expect([first, { ...first }, { ...first, lane: "main" }, first].map(keyFor)).toEqual([
      "key-1",
      "key-1",
      "key-2",
      "key-1",
    ]);
  });
});

describe("what keeps it from being sent", () => {
  it("is a missing reason and, above 1,000, a count that was not typed", () => {
    expect(Object.keys(draftProblems("deliver", draft({ reason: "" }), preview()))).toEqual(["reason", "typed"]);
    expect(draftProblems("deliver", draft({ typed: "12300" }), preview())).toEqual({});
    expect(draftProblems("deliver", draft({ typed: "12481" }), preview())).toHaveProperty("typed");
    expect(draftProblems("deliver", draft({ reason: "" }), preview({ eligible: 900 }))).toEqual({});
    const strict = preview({ eligible: 3, reasonRequiredAbove: 2 });
    expect(Object.keys(draftProblems("deliver", draft({ reason: "" }), strict))).toEqual(["reason", "typed"]);
  });

  it.each<[Partial<RedriveDraft>, string]>([
    [{ canary: true, canarySteps: "1, x" }, "canarySteps"],
    [{ canary: true, canarySteps: "10, 10" }, "canarySteps"],
    [{ canary: true, canarySteps: "" }, "canarySteps"],
    [{ brakePercent: "0" }, "brake"],
    [{ brakePercent: "101" }, "brake"],
    [{ brakeWindow: "9" }, "brake"],
    [{ latencyMsMax: "0" }, "brake"],
    [{ latencyMsMax: "fast" }, "brake"],
  ])("is a pace that means nothing: %j", (over, field) => {
    expect(Object.keys(draftProblems("deliver", draft(over), preview({ eligible: 9 })))).toEqual([field]);
  });
});

it("shows what the server refuses at the field of the dialog", () => {
  const fields = ["reason", "canary.steps.0", "select.filter.q"].map((field) => ({ field, detail: `${field}!` }));
  expect(refusedProblems(fields)).toEqual({ reason: "reason!", canarySteps: "canary.steps.0!" });
});

describe("earlier versions that the selection leaves parked", () => {
  const earlier = {
    heldEvents: 7,
    heldAggregates: 3,
    earlierEvents: 6,
    takenAlong: 6,
    bounded: false,
    samples: [],
    headIds: [],
  };

  it("stay parked unless somebody chooses otherwise: no preset makes the set larger", () => {
    const asked = (over: Partial<RedriveDraft>) =>
      redriveRequest({ filter: {} }, "deliver", draft(over), preview({ earlier })).earlier;
    expect(asked({})).toBe("hold");
    expect(asked({ earlier: "include" })).toBe("include");
    expect(asked({ earlier: "pass" })).toBe("pass");
  });

  it("are stranded only by a typed word", () => {
    const small = { earlier, eligible: 9 };
    expect(draftProblems("deliver", draft({ earlier: "pass" }), preview(small))).toHaveProperty("strand");
    expect(draftProblems("deliver", draft({ earlier: "pass", typedStrand: " Strand 6" }), preview(small))).toEqual({});
    expect(draftProblems("deliver", draft({ earlier: "hold" }), preview(small))).toEqual({});
    expect(draftProblems("verify", draft({ earlier: "pass" }), preview(small))).toEqual({});
  });
});

describe("what it says", () => {
  it.each([
    ["deliver", {}, "Redrive 12,300 of 12,481", "Redrive 12,300 events"],
    ["deliver", { eligible: 1, total: 1 }, "Redrive 1 event", "Redrive 1 event"],
    ["deliver", { eligible: null, total: null }, "Redrive all matching events", "Redrive all matching events"],
    [
      "deliver",
      { eligible: 10_000, total: 10_000, kind: "atLeast" },
      "Redrive ≥ 10,000 events",
      "Redrive ≥ 10,000 events",
    ],
    ["verify", {}, "Verify 12,481 events", "Verify 12,481 events"],
  ] as const)("%s %o: %s", (mode, over, title, button) => {
    expect(titleWords(mode, preview(over))).toBe(title);
    expect(buttonWords(mode, preview(over))).toBe(button);
  });

  it("never promises more than the lane's rate", () => {
    expect(draftEtaMs(draft({ ratePerSecond: 500 }), preview())).toBe(2_460_000);
    expect(draftEtaMs(draft({ ratePerSecond: 1 }), preview())).toBe(12_300_000);
    const unlimited = preview({ sources: { orders: { eligible: 12_300, ratePerSecond: null, warmUpMs: 0 } } });
    expect(draftEtaMs(draft(), unlimited)).toBeNull();
    expect(draftEtaMs(draft({ ratePerSecond: 100 }), unlimited)).toBe(123_000);
    expect(draftEtaMs(draft(), preview({ eligible: null, sources: {} }))).toBeNull();
  });

  it("counts the canary's waits and a target's warm-up", () => {
    expect(draftEtaMs(draft({ canary: true }), preview())).toBe(2_460_000 + 3 * 30_000);
    const warm = preview({ sources: { orders: { eligible: 12_300, ratePerSecond: 5, warmUpMs: 60_000 } } });
    expect(draftEtaMs(draft(), warm)).toBe(2_460_000 + 20_000);
    expect([warmUpWords(warm), warmUpWords(preview())]).toEqual(["warms up for 1 min", null]);
  });
});

describe("confirming a batch", () => {
  it.each([
    [1, "exact", { kind: "click" }],
    [1_000, "exact", { kind: "click" }],
    [1_001, "exact", { kind: "typed", expected: "1,001" }],
    [400, "atLeast", { kind: "typed", expected: "400" }],
    [400, "estimated", { kind: "typed", expected: "400" }],
    [null, "exact", { kind: "typed", expected: "all matching" }],
  ] as const)("asks for %s %s events: %o", (count, kind, expected) => {
    expect(confirmationFor(count, kind, 1_000)).toEqual(expected);
  });

  const typed = confirmationFor(12_300, "exact", 1_000);
  it.each(["12300", "12,300", " 12 300 ", "12.300", "12’300"])("takes %j for 12,300", (text) => {
    expect(isConfirmed(typed, text)).toBe(true);
  });
  it.each(["", "1230", "123000", "12,301", "-12300", "all"])("does not take %j for 12,300", (text) => {
    expect(isConfirmed(typed, text)).toBe(false);
  });
  it("takes the phrase in any case", () => {
    expect(isConfirmed(confirmationFor(null, "exact", 1_000), "All matching")).toBe(true);
  });
});
