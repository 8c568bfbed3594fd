import { describe, expect, it } from "vitest";
import { outcomeState, outcomeWords } from "./outcome-words";

const COUNTS = { state: "DONE" as const, open: 0, delivered: 0, passed: 0, failed: 0, refused: 0, cancelled: 0 };
const ITEM = {
  state: "delivered" as const,
  outcome: "sent" as const,
  result: null,
  detail: null,
  attempts: 1,
  findings: [],
};

describe("the outcome of a redrive of one event", () => {
  it.each([
    [{ ...COUNTS, delivered: 1 }, "delivered"],
    [{ ...COUNTS, refused: 1 }, "refused"],
    [{ ...COUNTS, state: "CANCELLED" as const, cancelled: 1 }, "cancelled"],
    // Cancelled, but the event is still in the hands of a worker: not decided.
    [{ ...COUNTS, state: "CANCELLED" as const, open: 1 }, null],
    [{ ...COUNTS, state: "RUNNING" as const, delivered: 1 }, null],
  ])("%o is %s", (redrive, state) => {
    expect(outcomeState(redrive)).toBe(state);
  });
});

describe("the words of an outcome", () => {
  it("says cancelled before it was sent only when no attempt was opened", () => {
    expect(outcomeWords("a", "deliver", { ...ITEM, state: "cancelled", attempts: 0 }).title).toBe(
      "Cancelled before it was sent",
    );
    const late = outcomeWords("a", "deliver", { ...ITEM, state: "cancelled", attempts: 2 });
    expect(late.title).toBe("a was cancelled after 2 attempts");
    expect(late.detail).toContain("may have received it");
    expect(late.tone).toBe("error");
  });

  it("says what it was sent without", () => {
    const findings = [
      { check: "size", ok: true, detail: "12 B" },
      { check: "headers", ok: true, warning: true, detail: 'sent without the header "my header"' },
    ];
    const sent = { ...ITEM, state: "delivered" as const, outcome: "sent" as const, findings };
    expect(outcomeWords("a", "deliver", sent).detail).toBe(
      'The target accepted it; sent without the header "my header".',
    );
    const passed = { ...ITEM, state: "passed" as const, findings: [] };
    expect(outcomeWords("a", "verify", passed).detail).toBe("Nothing was sent.");
  });

  it("says why it failed and why it was refused", () => {
    expect(outcomeWords("a", "deliver", { ...ITEM, state: "failed", detail: "connect ECONNREFUSED" })).toEqual({
      title: "a failed",
      detail: "connect ECONNREFUSED",
      tone: "error",
    });
    const findings = [
      { check: "size", ok: true, detail: "12 B" },
      { check: "payload-schema", ok: false, detail: "amount is missing" },
    ];
    const refused = { ...ITEM, state: "refused" as const, result: "schema-mismatch", findings };
    expect(outcomeWords("a", "deliver", refused).detail).toMatch(/^It .+\. amount is missing$/);
    expect(outcomeWords("a", "verify", refused).title).toBe("a would be refused");
  });
});
