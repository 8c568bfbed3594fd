import { describe, expect, it } from "vitest";
import { sampleView, targetProblems } from "@/components/redrives/dialog/sample-words";
import type { SampleOut } from "@/lib/contract/redrive-preview";

const sample = (change: Partial<SampleOut>): SampleOut => ({
  samples: [],
  checked: 50,
  wouldGo: 50,
  refused: {},
  targets: [],
  ...change,
});

describe("what a preview says of its checks", () => {
  it("says how many would be refused, over how many, and what was not checked", () => {
    const view = sampleView({ sample: sample({ wouldGo: 17, refused: { "schema-mismatch": 33 } }), eligible: 1_417 });
    expect(view).toEqual({
      found: "Checked 50 of 1,417: 33 would be refused: schema mismatch 33.",
      bad: true,
      unchecked: "Not checked: the other 1,367, and what the target answers.",
    });
  });

  it("says all only of all", () => {
    expect(sampleView({ sample: sample({ checked: 3, wouldGo: 3 }), eligible: 3 })).toEqual({
      found: "Checked all 3: nothing found against them.",
      bad: false,
      unchecked: "Not checked: what the target answers.",
    });
    expect(sampleView({ sample: sample({ checked: 1 }), eligible: 1 }).found).toBe(
      "Checked the one event: nothing found against it.",
    );
    expect(sampleView({ sample: sample({}), eligible: null }).found).toMatch(/^Checked 50 of all that match/);
  });

  it("does not call safe what was not checked", () => {
    expect(sampleView({ sample: null, eligible: 9 })).toMatchObject({
      bad: true,
      found: expect.stringMatching(/not checked/),
    });
    expect(sampleView({ sample: sample({ checked: 0, wouldGo: 0 }), eligible: 9 }).found).toMatch(/not checked/);
  });

  it("names what is wrong with a target before anything is sent", () => {
    const target = { name: "orders", reachable: true, detail: "200", breaker: "closed", breakerUntil: null } as const;
    expect(
      targetProblems([
        target,
        { ...target, name: "a", reachable: false, detail: "ECONNREFUSED" },
        { ...target, name: "b", breaker: "held-open" },
        { ...target, name: "c", breaker: "open", breakerUntil: "2026-11-20T12:00:00Z" },
        { ...target, name: "d", reachable: null },
      ]).map(({ name }) => name),
    ).toEqual(["a", "b", "c"]);
  });
});
