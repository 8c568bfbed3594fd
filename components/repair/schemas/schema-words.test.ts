import { describe, expect, it } from "vitest";
import { inferredWords, trialWords } from "@/components/repair/schemas/schema-words";

const NONE = { checked: 0, passed: 0, failed: 0, undecided: 0, samples: [] };

describe("what the console says of a schema", () => {
  it("says what an inference read and which fields are optional", () => {
    const facts = { eventsRead: 1_200, confirmed: 880, skipped: 3, optional: ["/note"] };
    expect(inferredWords({ schema: {}, ...facts })).toBe(
      "Read from 1,200 redriven events, 880 of them confirmed, 3 could not be read. Optional: /note.",
    );
    expect(inferredWords({ schema: null, ...facts })).toContain("paste a schema instead");
    const many = Array.from({ length: 11 }, (_, n) => `/f${n}`);
    expect(inferredWords({ schema: {}, ...facts, optional: many })).toContain("/f7 and 3 more.");
  });

  it("says how parked and redriven events fare, and what was not checked", () => {
    expect(
      trialWords({ parked: { ...NONE, checked: 12, passed: 10, failed: 1, undecided: 1 }, delivered: NONE }),
    ).toEqual([
      "10 of the newest 12 parked events would pass, 1 could not be checked.",
      "There is no redriven event of this type.",
    ]);
  });
});
