import { describe, expect, it } from "vitest";
import { type Config, valueAt, withValue } from "@/components/sources/form/source-draft";
import { POLICY_PRESETS, validatePolicy } from "@/lib/retry/policy";
import { PRESET_NAMES, policySteps, shownValue, typedValue } from "./policy-fields";

const fieldsOf = (body: Config) => policySteps(body).flatMap(({ fields }) => fields);

describe("the form of a policy", () => {
  it.each(PRESET_NAMES)("reads back what it shows of %s, and what it does not show stays", (name) => {
    const body: Config = { ...POLICY_PRESETS[name], hintSpread: 0.5 };
    for (const field of fieldsOf(body)) {
      expect(valueAt(body, field.path), field.label).toBeDefined();
      expect(withValue(body, field.path, typedValue(field, shownValue(valueAt(body, field.path))))).toEqual(body);
    }
  });

  it("keeps values of a stored policy that it has no fields for", () => {
    const stored: Config = {
      ...POLICY_PRESETS["slow-lane"],
      hedge: { delayMs: 700, sendsMax: 3 },
      budget: { kind: "quota", capacity: 40, cost: { transient: 5, throttled: 5 }, reward: 1 },
      backoff: { kind: "linear", baseMs: 400, capMs: 900, jitter: { kind: "fraction", fraction: 0.3 } },
    };
    const saved = fieldsOf(stored).reduce((body, { path }) => withValue(body, path, 7), stored);
    expect(saved).toEqual({
      ...stored,
      ...{ attemptTimeoutMs: 7, maxAttempts: 7, deadlineMs: 7, marginMs: 7 },
      backoff: { kind: "linear", baseMs: 7, capMs: 7, jitter: { kind: "fraction", fraction: 0.3 } },
    });
    expect(validatePolicy(stored)).toEqual([]);
  });

  it.each([
    ["exponential", ["First delay", "Longest delay"]],
    ["linear", ["Grows by", "Longest delay"]],
    ["fixed", ["Delay"]],
    ["ladder", ["Delays, ms"]],
    ["of a later version", []],
    ["constructor", []],
  ])("shows the delays of a backoff that is %s", (kind, labels) => {
    const shown = fieldsOf({ backoff: { kind } }).filter(({ path }) => path[0] === "backoff");
    expect(shown.map(({ label }) => label)).toEqual(labels);
  });

  it("keeps text that is no number, so that its fault is named", () => {
    const number = (text: string) => typedValue({ holds: "ms" }, text);
    expect([number("1.5"), number(" "), number("soon"), number("1e999")]).toEqual([1.5, null, "soon", "1e999"]);
    expect(typedValue({ holds: "list" }, "200, 500 soon")).toEqual([200, 500, "soon"]);
    expect(typedValue({ holds: "list" }, "")).toBeNull();
  });
});
