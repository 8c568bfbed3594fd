import { describe, expect, it } from "vitest";
import { POLICY_PRESETS, validatePolicy } from "@/lib/retry/policy";
import {
  type Body,
  type PolicyField,
  PRESET_NAMES,
  policyParts,
  shownValue,
  typedList,
  typedNumber,
  valueAt,
  withValueAt,
} from "./policy-fields";

const fieldsOf = (body: Body): PolicyField[] => policyParts(body, "slow-lane").flatMap(({ fields }) => fields);
const typed = (field: PolicyField, text: string) =>
  field.kind === "list" ? typedList(text, field.of) : typedNumber(text);

describe("the form of a policy", () => {
  it("asks in the order in which a policy is designed", () => {
    expect(policyParts(POLICY_PRESETS.interactive, "interactive").map(({ title }) => title)).toEqual([
      "Semantics",
      "Key",
      "Timeout",
      "Retry",
      "Budget",
      "Breaker",
      "Alarms and self-healing",
    ]);
  });

  it.each(PRESET_NAMES)("reads back what it shows of %s, and what it does not know stays", (name) => {
    const body: Body = { ...POLICY_PRESETS[name], hintSpread: 0.5 };
    for (const field of fieldsOf(body)) {
      if (field.kind === "choice") expect(field.choose(field.value)).toEqual(body);
      else if (valueAt(body, field.path) !== undefined)
        expect(withValueAt(body, field.path, typed(field, shownValue(valueAt(body, field.path))))).toEqual(body);
    }
  });

  it.each(PRESET_NAMES)("offers only choices that can run with %s, or asks for what lacks at its field", (name) => {
    for (const field of fieldsOf(POLICY_PRESETS[name])) {
      if (field.kind !== "choice") continue;
      for (const { value } of field.options) {
        const body = field.choose(value);
        const shown = new Set(fieldsOf(body).map(({ path }) => path.join(".")));
        const faults = validatePolicy(body).map((violation) => violation.field);
        // A longer backoff may not fit the deadline; a list of failures is typed by the person.
        expect(
          faults.filter((fault) => fault !== "deadlineMs" && fault !== "retryOn"),
          `${field.label}: ${value}`,
        ).toEqual([]);
        for (const fault of faults) expect(shown).toContain(fault);
      }
    }
  });

  it("shows a field for each value of each variant", () => {
    const seen = new Set<string>();
    const open: Body[] = PRESET_NAMES.map((name) => POLICY_PRESETS[name]);
    for (const body of [...open])
      for (const field of fieldsOf(body))
        if (field.kind === "choice") for (const { value } of field.options) open.push(field.choose(value));
    const leaves = (value: unknown, path: string): string[] =>
      typeof value === "object" && value !== null && !Array.isArray(value)
        ? Object.entries(value).flatMap(([name, each]) => leaves(each, path === "" ? name : `${path}.${name}`))
        : [path];
    for (const body of open) {
      const shown = new Set(fieldsOf(body).map(({ path }) => path.join(".")));
      for (const leaf of leaves(body, "")) {
        // A kind is the choice of its object, and null that of a part which is off.
        const owner = leaf.replace(/(\.trip)?\.kind$/, "");
        if (!shown.has(leaf) && !shown.has(owner) && leaf !== "retryOn") seen.add(leaf);
      }
    }
    expect([...seen]).toEqual([]);
  });

  it("keeps text that is no number, so that its fault is named", () => {
    expect([typedNumber("1.5"), typedNumber(" "), typedNumber("soon"), typedNumber("1e999")]).toEqual([
      1.5,
      null,
      "soon",
      "1e999",
    ]);
    expect(typedList("200, 500 1200", "numbers")).toEqual([200, 500, 1_200]);
    expect(typedList("HTTP_503,throttled", "codes")).toEqual(["HTTP_503", "throttled"]);
  });

  it("says semantics as attempts and a list", () => {
    const body: Body = POLICY_PRESETS.ladder;
    const choose = (from: Body, value: string) => {
      const field = fieldsOf(from).find(({ label }) => label === "May it be sent twice?");
      return field?.kind === "choice" ? field.choose(value) : from;
    };
    const never = choose(body, "never");
    expect(never).toMatchObject({ maxAttempts: 1 });
    expect(choose(never, "all")).toMatchObject({ maxAttempts: 3, retryOn: null });
    expect(choose(body, "listed")).toMatchObject({ maxAttempts: 5, retryOn: [] });
  });
});
