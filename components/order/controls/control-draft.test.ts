import { describe, expect, it } from "vitest";
import {
  type ControlDraft,
  draftScope,
  controlRequest as requestFor,
  startingDraft,
} from "@/components/order/controls/control-draft";
import { beyondSelected, controlEnd, scopeFilter, scopeOf } from "@/components/order/controls/scope-words";
import { controlRequestSchema } from "@/lib/order/controls/controls.shapes";

const nowMs = Date.UTC(2026, 10, 20, 14, 2, 11);
const controlRequest = (from: ControlDraft, at: number) => requestFor(from, "stock rejects it on purpose", at);
const draft = (over: Partial<ControlDraft>): ControlDraft => ({
  kind: "blacklist",
  scopeName: "aggregateId",
  scopeValue: "order-77",
  source: "",
  aggregateType: "",
  until: "never",
  untilAt: "",
  ...over,
});

describe("imposing a control", () => {
  it("sends what the contract takes", () => {
    const result = controlRequest(draft({ kind: "cooldown", until: "15", scopeValue: " order-77 " }), nowMs);
    expect(result.ok && controlRequestSchema.parse(result.request)).toEqual({
      kind: "cooldown",
      scope: { aggregateId: "order-77" },
      reason: "stock rejects it on purpose",
      expiresAt: "2026-11-20T14:17:11.000Z",
    });
  });

  it.each([
    [{ scopeValue: "  " }, ["scopeValue"]],
    [{ kind: "cooldown" }, ["until"]],
    [{ until: "at", untilAt: "" }, ["until"]],
    [{ until: "at", untilAt: "2026-11-20T13:00:00Z" }, ["until"]],
    [{ scopeValue: "", until: "at" }, ["scopeValue", "until"]],
  ] as const)("names what is missing: %o", (over, fields) => {
    const result = controlRequest(draft(over), nowMs);
    expect(result.ok ? [] : Object.keys(result.errors)).toEqual(fields);
  });

  it.each([
    [
      { source: " orders ", aggregateType: "order" },
      { aggregateId: "order-77", source: "orders", aggregateType: "order" },
    ],
    [
      { scopeName: "errorCode", source: "orders", aggregateType: "order" },
      { errorCode: "order-77", source: "orders" },
    ],
    [{ scopeName: "source", source: "billing" }, { source: "order-77" }],
  ] as const)("narrows its scope by what belongs to it: %o", (over, scope) => {
    const result = controlRequest(draft(over), nowMs);
    expect(result.ok && controlRequestSchema.parse(result.request).scope).toEqual(scope);
  });
});

describe("a control's scope", () => {
  it.each([
    [{ eventId: "t-40", source: "trial" }, "eventId"],
    [{ aggregateId: "42", aggregateType: "order", source: "orders" }, "aggregateId"],
    [{ errorCode: "TIMEOUT", source: "orders" }, "errorCode"],
    [{ errorCode: "TIMEOUT" }, "errorCode"],
    [{ source: "orders" }, "source"],
  ] as const)("is called by its narrowest name, and proposed as it is: %j", (scope, name) => {
    expect(scopeOf(scope)?.name).toBe(name);
    expect(draftScope(startingDraft("blacklist", scope))).toEqual(scope);
  });

  it.each([
    [48, 1, "This is more than the 1 event that you selected."],
    [48, 48, null],
    [3, 48, null],
    [null, 1, null],
    [48, null, null],
  ])("that matches %s events, of %s selected, says %s", (matched, selected, words) => {
    expect(beyondSelected(matched, selected)).toBe(words);
  });

  it("counts and lists parked events alike", () => {
    const status = ["PENDING", "QUEUED"];
    expect(scopeFilter({ source: "orders" })).toEqual({ source: ["orders"], status });
    expect(scopeFilter({ aggregateId: "42", aggregateType: "order", source: "orders" })).toEqual({
      aggregateId: ["42"],
      aggregateType: ["order"],
      source: ["orders"],
      status,
    });
  });
  it.each([
    [{ liftedAt: null, expiresAt: null }, "in-force"],
    [{ liftedAt: null, expiresAt: "2026-11-20T14:02:11.000Z" }, "expired"],
    [{ liftedAt: null, expiresAt: "2026-11-20T14:02:12.000Z" }, "in-force"],
    [{ liftedAt: "2026-11-20T09:00:00Z", expiresAt: "2026-11-20T12:00:00Z" }, "lifted"],
  ] as const)("%o is %s", (control, end) => {
    expect(controlEnd(control, nowMs)).toBe(end);
  });
});
