import { describe, expect, test } from "vitest";
import type { ItemOutcome } from "@/lib/states/item-outcome.pure";
import type { Refusal } from "@/lib/states/refusal.pure";
import { EARLIER_CHOICES, type EndedItem, headsOf, headsText, heldBehind, isHeldBy } from "./order-gate.pure";

describe("the head of an aggregate", () => {
  const event = (id: string, version: bigint | null, status: "PENDING" | "QUEUED" | "REDRIVEN" | "IGNORED") => ({
    id,
    version,
    status,
  });

  test.each([
    ["the first parked version", [event("b", 5n, "PENDING"), event("a", 2n, "PENDING")], null, "a"],
    ["an ignored one as well", [event("a", 2n, "IGNORED"), event("b", 5n, "PENDING")], null, "a"],
    ["not one that is queued or redriven", [event("a", 1n, "QUEUED"), event("b", 2n, "REDRIVEN")], null, null],
    ["not one without a version", [event("a", null, "PENDING")], null, null],
    ["not one that is superseded", [event("a", 2n, "PENDING"), event("b", 4n, "PENDING")], 3n, "b"],
    ["not one whose version was processed", [event("a", 3n, "PENDING")], 3n, null],
    ["of two with one version the one parked first", [event("b", 2n, "PENDING"), event("a", 2n, "PENDING")], null, "a"],
  ] as const)("is %s", (_what, events, processed, expected) => {
    expect(headsOf(events, processed)[0]?.id ?? null).toBe(expected);
  });

  test.each([
    [7n, 6n, true],
    [7n, 7n, false],
    [7n, 8n, false],
    [null, 1n, false],
  ])("version %s behind version %s: held %s", (version, head, expected) => {
    expect(isHeldBy({ version }, { version: head })).toBe(expected);
    expect(isHeldBy({ version }, null)).toBe(false);
  });

  test.each([
    ["P4", "version 4 of order-7 (event e-4) is parked before it"],
    ["I4", "version 4 of order-7 (event e-4) is ignored and comes before it"],
    ["P3 P4", "versions 3 and 4 of order-7 are parked before it"],
    ["P3 I4 P5", "versions 3, 4 (ignored) and 5 of order-7 are parked before it"],
    ["I3 I4", "versions 3 and 4 of order-7 are ignored and come before it"],
    ["P1 P2 P3 P4", "versions 1, 2, 3 and 4 of order-7 are parked before it"],
    ["P1 P2 P3 P4 P5", "versions 1, 2, 3, 4 and more of order-7 are parked before it"],
  ])("%s: %s", (stored, expected) => {
    const heads = stored.split(" ").map((head) => ({
      eventId: `e-${head.slice(1)}`,
      version: BigInt(head.slice(1)),
      status: head.startsWith("I") ? ("IGNORED" as const) : ("PENDING" as const),
    }));
    expect(headsText("order-7", heads)).toBe(expected);
  });
});

describe("behind an item of the same page", () => {
  const ended = (outcome: ItemOutcome, change: Partial<EndedItem> = {}): EndedItem => ({
    eventId: "e-1",
    aggregateId: "42",
    version: 1n,
    skipped: false,
    outcome,
    ...change,
  });
  const next = { version: 2n };
  const refused = (refusal: Refusal): ItemOutcome => ({ kind: "refused", refusal, detail: "" });
  const FAILED: ItemOutcome = { kind: "failed", code: "X", detail: "" };

  test("that a person has skipped and that is refused, nothing is held; one that is held itself holds on", () => {
    for (const refusal of ["payload-unparsable", "cooling", "ignored"] as const) {
      expect(heldBehind(ended(refused(refusal), { skipped: true }), next, "hold")).toBeNull();
      expect(heldBehind(ended(refused(refusal)), next, "hold")).toMatchObject({ refusal: "held-by-head" });
    }
    expect(heldBehind(ended(refused("held-by-head"), { skipped: true }), next, "hold")).not.toBeNull();
    expect(heldBehind(ended(FAILED, { skipped: true }), next, "hold")).not.toBeNull();
  });

  test.each(EARLIER_CHOICES)("that failed, cools or is held, everything is held, also with %s", (earlier) => {
    const held: ItemOutcome = { kind: "refused", refusal: "held-by-head", detail: "event e-1 comes first and failed" };
    for (const outcome of [FAILED, refused("cooling"), held]) {
      for (const version of [2n, 1n, null]) {
        expect(heldBehind(ended(outcome), { version }, earlier)).toMatchObject({
          kind: "refused",
          refusal: "held-by-head",
          detail: expect.stringContaining("e-1"),
        });
      }
    }
  });

  test.each([
    "payload-unparsable",
    "schema-mismatch",
    "payload-too-large",
    "blacklisted",
    "ignored",
    "redrive-limit",
    "not-found",
    "no-target",
    "target-unreachable",
    "breaker-open",
  ] as const)("that was refused as %s a later version is held, unless the redrive passes", (refusal) => {
    const head = ended(refused(refusal));
    expect(heldBehind(head, next, "hold")).toMatchObject({ refusal: "held-by-head" });
    expect(heldBehind(head, next, "include")).toMatchObject({ refusal: "held-by-head" });
    expect(heldBehind(head, next, "pass")).toBeNull();
    expect(heldBehind(head, { version: 1n }, "hold")).toBeNull();
    expect(heldBehind(head, { version: null }, "hold")).toBeNull();
    expect(heldBehind({ ...head, version: null }, next, "hold")).toBeNull();
  });

  test.each(["already-redriven", "version-superseded"] as const)(
    "that was refused as %s nothing is held",
    (refusal) => {
      expect(heldBehind(ended(refused(refusal)), next, "hold")).toBeNull();
    },
  );

  test.each([
    [{ kind: "delivered", code: "OK" }, null],
    [{ kind: "already-processed", detail: "" }, null],
    [{ kind: "verified" }, null],
    [{ kind: "later", waitMs: 5 }, { kind: "behind" }],
    [{ kind: "behind" }, { kind: "behind" }],
    [{ kind: "back" }, { kind: "back" }],
  ] as [ItemOutcome, ItemOutcome | null][])("that ended as %o: %o", (outcome, expected) => {
    expect(heldBehind(ended(outcome), next, "hold")).toEqual(expected);
  });

  test("events without an aggregate hold nobody", () => {
    expect(heldBehind(ended(FAILED, { aggregateId: null }), next, "hold")).toBeNull();
  });
});
