import { describe, expect, it } from "vitest";
import { sampleView, targetProblems } from "@/components/redrive/dialog/sample-words";
import type { SampleOut } from "@/lib/redrive/preview/redrive-preview.shapes";

const sample = (change: Partial<SampleOut>): SampleOut => ({
  samples: [],
  whole: false,
  checked: 50,
  wouldGo: 50,
  refused: {},
  warnings: [],
  targets: [],
  ...change,
});

describe("what a preview says of its checks", () => {
  it("says how many would be refused, over how many, and what was not checked", () => {
    const view = sampleView({ sample: sample({ wouldGo: 17, refused: { "schema-mismatch": 33 } }), eligible: 1_417 });
    expect(view).toEqual({
      found: "Checked 50 of 1,417: 33 would be refused: schema mismatch 33.",
      bad: true,
      unchecked: "Not checked: the other 1,367, and the target's answer.",
      causes: [],
    });
  });

  it("says all only of all", () => {
    expect(sampleView({ sample: sample({ checked: 3, wouldGo: 3 }), eligible: 3 })).toEqual({
      found: "Checked all 3: no problems found.",
      bad: false,
      unchecked: "Not checked: the target's answer.",
      causes: [],
    });
    expect(sampleView({ sample: sample({ checked: 1 }), eligible: 1 }).found).toBe(
      "Checked the one event: no problems found.",
    );
    expect(sampleView({ sample: sample({}), eligible: null }).found).toMatch(/^Checked 50 of all that match/);
  });

  it("says of a set that was checked whole which event stops the others", () => {
    const stopped = { id: "id-3", eventId: "order-3", version: 3, refusal: "schema-mismatch", findings: [] };
    const held = { ...stopped, id: "id-4", version: 4, refusal: "held-by-head" };
    const refused = { "schema-mismatch": 1, "held-by-head": 2 };
    const whole = sample({ whole: true, checked: 4, wouldGo: 1, refused, samples: [stopped, held] });
    expect(sampleView({ sample: whole, eligible: 1 })).toEqual({
      found:
        "3 of 4 cannot be sent: v3 has a payload that does not match the source's JSON Schema, 2 events wait behind it.",
      bad: true,
      unchecked: "Not checked: the target's answer.",
      causes: [{ id: "id-3", label: "v3" }],
    });
  });

  it("names each of several causes by its event", () => {
    const cause = { id: "id-3", eventId: "order-3", version: 3, refusal: "schema-mismatch", findings: [] };
    const samples = [cause, { ...cause, id: "id-7", eventId: "order-7" }];
    const view = sampleView({ sample: sample({ refused: { "schema-mismatch": 2 }, samples }), eligible: 90 });
    expect(view.causes.map(({ label }) => label)).toEqual(["order-3", "order-7"]);
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
