import { describe, expect, it } from "vitest";
import type { EventDetail } from "@/lib/events/events.shapes";
import { REDACTED } from "@/lib/guard/redaction/redact.pure";
import type { AppliedControl } from "@/lib/order/controls/controls.shapes";
import { asksFirst, lastRedrive, whyNotEdit, whyNotRedrive, whyNotRemove, whyNotRevise } from "./action-rules";
import { stateOf } from "./event-state";

const NOW = Date.parse("2026-11-20T12:00:00Z");
const control = (kind: AppliedControl["kind"]): AppliedControl => ({
  id: "c-1",
  kind,
  scope: "errorCode",
  value: "TIMEOUT",
  source: "orders",
  aggregateType: null,
  reason: "stock is being repaired",
  origin: "person",
  createdBy: "maria",
  expiresAt: null,
});
const facts = { status: "PENDING", control: null, cooldownUntil: null } as const;

it("says in the menu why an event that is not settled cannot be removed", () => {
  expect(whyNotRemove({ status: "PENDING", confirmedAt: null })).toBe("ignore it first");
  expect(whyNotRemove({ status: "QUEUED", confirmedAt: null })).toBe("it is in a redrive");
  expect(whyNotRemove({ status: "REDRIVEN", confirmedAt: null })).toBe("not confirmed yet");
  expect(whyNotRemove({ status: "REDRIVEN", confirmedAt: "2026-11-20T11:00:00Z" })).toBeNull();
  expect(whyNotRemove({ status: "IGNORED", confirmedAt: null })).toBeNull();
});

describe("why an event would not be redriven", () => {
  it("has no reason for a pending event, also when its cooldown is over", () => {
    expect(whyNotRedrive(facts, NOW)).toBeNull();
    expect(whyNotRedrive({ ...facts, cooldownUntil: "2026-11-20T11:59:00Z" }, NOW)).toBeNull();
  });

  it.each(["QUEUED", "REDRIVEN", "IGNORED"] as const)("says what stands in the way of a %s one", (status) => {
    expect(whyNotRedrive({ ...facts, status }, NOW)).toMatch(/^It .+\.$/);
  });

  it("names the control that stands in the way, by whom and why", () => {
    expect(whyNotRedrive({ ...facts, control: control("blacklist") }, NOW)).toBe(
      "It is blacklisted by maria (error code TIMEOUT in orders): stock is being repaired",
    );
    expect(whyNotRedrive({ ...facts, control: control("cooldown") }, NOW)).toContain("cooling by maria");
  });

  it("lets a whitelist override a cooldown of its own", () => {
    const cooling = { ...facts, cooldownUntil: "2026-11-20T12:10:00Z" };
    expect(whyNotRedrive(cooling, NOW)).toContain("cooling");
    expect(whyNotRedrive({ ...cooling, control: control("whitelist") }, NOW)).toBeNull();
  });
});

describe("the state an event shows", () => {
  const event = { ...facts, bounces: 1, confirmedAt: null };
  const until = "2026-11-20T13:00:00Z";

  it("is that of the control over it, and how long it lasts", () => {
    expect(stateOf({ ...event, control: control("blacklist") }, NOW)).toEqual({
      state: "BLACKLISTED",
      remainingMs: null,
      heldBehind: null,
    });
    expect(stateOf({ ...event, control: { ...control("cooldown"), expiresAt: until } }, NOW)).toEqual({
      state: "COOLING",
      remainingMs: 3_600_000,
      heldBehind: null,
    });
    const heldBehind = { id: "019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b20", eventId: "order-77-v2", version: 2 };
    expect(stateOf({ ...event, heldBehind }, NOW)).toEqual({ state: "HELD", remainingMs: null, heldBehind });
  });

  it("cools until the later of its own cooldown and the control's", () => {
    const cooled = {
      ...event,
      cooldownUntil: "2026-11-20T12:30:00Z",
      control: { ...control("cooldown"), expiresAt: until },
    };
    expect(stateOf(cooled, NOW).remainingMs).toBe(3_600_000);
    expect(stateOf({ ...cooled, cooldownUntil: "2026-11-20T14:00:00Z" }, NOW).remainingMs).toBe(7_200_000);
  });

  it("is none of these under a whitelist, nor for what is not PENDING", () => {
    expect(stateOf({ ...event, cooldownUntil: until, control: control("whitelist") }, NOW).state).toBe("BOUNCED");
    expect(stateOf({ ...event, status: "IGNORED", control: control("blacklist") }, NOW).state).toBe("IGNORED");
  });
});

describe("why an event cannot be edited", () => {
  const body = (masked: boolean) => ({ masked }) as EventDetail["body"];
  const headers: EventDetail["headers"] = [["x-tenant", "north"]];

  it("is nothing for a parked event that is shown whole", () => {
    for (const status of ["PENDING", "IGNORED"] as const)
      expect(whyNotEdit({ status, headers, body: body(false) })).toBeNull();
  });
  it("is the redrive that has it, or that it was sent", () => {
    expect(whyNotEdit({ status: "QUEUED", headers, body: body(false) })).toMatch(/queued in a redrive/);
    expect(whyNotEdit({ status: "REDRIVEN", headers, body: body(false) })).toMatch(/was redriven/);
  });
  it("is a masked value of its payload or headers, with the right that shows it, and does not stand against a restore", () => {
    expect(whyNotEdit({ status: "PENDING", headers, body: body(true) })).toMatch(
      /reveal the event first.*permission “reveal”/,
    );
    const masked: EventDetail["headers"] = [["authorization", REDACTED]];
    expect(whyNotEdit({ status: "PENDING", headers: masked, body: body(false) })).toMatch(/reveal the event first/);
    expect(whyNotRevise({ status: "PENDING" })).toBeNull();
  });
  it("names the last redrive of the history", () => {
    const entry = (redriveId: string | null) => ({ redriveId }) as EventDetail["history"][number];
    expect(lastRedrive({ history: [entry("r-1"), entry("r-2"), entry(null)] })).toBe("r-2");
    expect(lastRedrive({ history: [entry(null)] })).toBeNull();
  });
});

describe("whether a redrive asks first", () => {
  const event = (
    text: string | null,
    change: Partial<EventDetail["body"]> = {},
    headers: EventDetail["headers"] = [],
  ) => ({
    admission: null,
    headers,
    origin: {},
    body: {
      ...{
        contentType: "application/json",
        text,
        base64: btoa(text ?? "\u00ff"),
        bytes: 1,
        masked: false,
        maskedCount: 0,
      },
      ...{ decoded: null, ...change },
    },
  });

  it.each([
    ["JSON", event("{}"), false],
    ["JSON that is none", event("{NaN"), true],
    ["no text", event(null), true],
    ["another type", event("<a/>", { contentType: "application/xml" }), false],
    ["an empty body", event(""), false],
    ["an encoded one", event(null, {}, [["content-encoding", "gzip"]]), false],
    ["one of which nothing is known", event(REDACTED.replaceAll("\u2022", "x"), { maskedCount: null }), false],
    ["what admission asks about", { ...event("{}"), admission: "confirm" as const }, true],
  ])("%s: %s", (_, asked, expected) => expect(asksFirst(asked)).toBe(expected));
});
