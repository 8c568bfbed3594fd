import { describe, expect, test } from "vitest";
import { settingsFrom } from "@/lib/guard/settings/settings.pure";
import { aggregateResults } from "@/lib/order/aggregate-result.pure";
import { eventAfter } from "@/lib/redrive/run/event-after.pure";
import type { ItemOutcome } from "./item-outcome.pure";

const NOW = 5_000_000;
const settings = { ...settingsFrom({}), redriveLimit: 4, cooldownMs: 1_000, cooldownMsMax: 6_000 };
const before = { failures: 1, redrives: 2, cooldownUntilMs: 77 };

describe("an event after its item", () => {
  test.each<[ItemOutcome, object | null]>([
    [
      { kind: "delivered", code: "HTTP_200" },
      {
        status: "REDRIVEN",
        failures: 1,
        redrives: 3,
        statusIfBounced: "PENDING",
        cooldownUntilMs: null,
        confirmedAtMs: null,
      },
    ],
    [
      { kind: "already-processed", detail: "by billing" },
      {
        status: "REDRIVEN",
        failures: 0,
        redrives: 2,
        statusIfBounced: null,
        cooldownUntilMs: null,
        confirmedAtMs: NOW,
      },
    ],
    [
      { kind: "failed", code: "HTTP_503", detail: "" },
      {
        status: "PENDING",
        failures: 2,
        redrives: 3,
        statusIfBounced: null,
        cooldownUntilMs: NOW + 2_000,
        confirmedAtMs: null,
      },
    ],
    [
      { kind: "failed", code: "HTTP_429", detail: "", untilMs: NOW + 9_000 },
      {
        status: "PENDING",
        failures: 2,
        redrives: 3,
        statusIfBounced: null,
        cooldownUntilMs: NOW + 9_000,
        confirmedAtMs: null,
      },
    ],
    [{ kind: "verified" }, { ...before, status: "PENDING", statusIfBounced: null, confirmedAtMs: null }],
    [
      { kind: "refused", refusal: "blacklisted", detail: "" },
      { ...before, status: "PENDING", statusIfBounced: null, confirmedAtMs: null },
    ],
    [{ kind: "later", waitMs: 1 }, null],
    [{ kind: "back" }, null],
  ])("%o", (outcome, expected) => {
    expect(eventAfter(outcome, before, settings, NOW)).toEqual(expected);
  });

  test("the failure that reaches the redrive limit ignores it", () => {
    const failed: ItemOutcome = { kind: "failed", code: "X", detail: "" };
    expect(eventAfter(failed, { ...before, redrives: 3 }, settings, NOW)).toMatchObject({
      status: "IGNORED",
      redrives: 4,
    });
  });

  test("the delivery that reaches the redrive limit is ignored if it had bounced by then", () => {
    const delivered: ItemOutcome = { kind: "delivered", code: "HTTP_200" };
    expect(eventAfter(delivered, { ...before, redrives: 3 }, settings, NOW)).toMatchObject({
      status: "REDRIVEN",
      statusIfBounced: "IGNORED",
    });
  });
});

describe("an aggregate after a batch", () => {
  const of = (
    aggregateType: string | null,
    aggregateId: string | null,
    ...kinds: ("delivered" | "already-processed" | "failed" | "back")[]
  ) =>
    kinds.map((kind) => ({
      item: { sourceId: "s", aggregateType, aggregateId },
      outcome: (kind === "failed"
        ? { kind, code: "X", detail: "" }
        : kind === "back"
          ? { kind }
          : { kind, code: "X", detail: "" }) as ItemOutcome,
    }));
  const ended = (aggregateId: string | null, ...kinds: Parameters<typeof of>[2][]) => of(null, aggregateId, ...kinds);
  const none = { sourceId: "s", aggregateType: null, reset: false, failures: 0 };

  test("counts the failures since its consumer last processed one; a delivery ends nothing, and what changes nothing is left out", () => {
    expect(
      aggregateResults([
        ...ended("b", "failed", "already-processed", "failed"),
        ...ended("a", "failed", "failed"),
        ...ended("c", "failed", "delivered"),
        ...ended("d", "back"),
        ...ended(null, "failed"),
      ]),
    ).toEqual([
      { ...none, aggregateId: "b", reset: true, failures: 1 },
      { ...none, aggregateId: "a", failures: 2 },
      { ...none, aggregateId: "c", failures: 1 },
    ]);
  });

  test("counts an order and a customer of the same id apart", () => {
    expect(
      aggregateResults([
        ...of("order", "42", "failed", "failed"),
        ...of("customer", "42", "already-processed", "failed"),
      ]),
    ).toEqual([
      { ...none, aggregateType: "order", aggregateId: "42", failures: 2 },
      { ...none, aggregateType: "customer", aggregateId: "42", reset: true, failures: 1 },
    ]);
  });
});
