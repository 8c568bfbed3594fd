import { describe, expect, test } from "vitest";
import { attemptText, auditText, controlText, verdictText } from "./history-text.pure";

test.each([
  ["event.parked", {}, {}, "Parked"],
  ["event.bounced", { errorCode: "A" }, { errorCode: "A", bounces: 1 }, "Bounced for the 1st time"],
  [
    "event.bounced",
    { errorCode: "A" },
    { errorCode: "B", bounces: 2 },
    "Bounced for the 2nd time, now as B instead of A",
  ],
  ["event.bounced", {}, { bounces: 12 }, "Bounced for the 12th time"],
  ["event.bounced", {}, { bounces: 23 }, "Bounced for the 23rd time"],
  ["event.redriven", {}, { status: "REDRIVEN" }, "Sent"],
  ["event.redriven", {}, { status: "PENDING" }, "Sent; it had already been parked again"],
  ["event.changed", { revision: 1 }, { revision: 2, current: true }, "Arrived with other bytes: revision 2"],
  [
    "event.changed",
    { revision: 2 },
    { revision: 3, current: false },
    "Arrived with other bytes: revision 3; revision 2 stays the current one",
  ],
  [
    "event.bounced",
    { status: "REDRIVEN" },
    { status: "PENDING", bounces: 1, failed: false, revision: 2, current: true },
    "Parked again: arrived after all, with other bytes: revision 2",
  ],
  ["event.redriven", {}, { status: "REDRIVEN", result: "DEDUPLICATED" }, "Deduplicated: its target had it already"],
  ["event.failed", {}, { result: "HTTP_422", status: "IGNORED" }, "Failed: HTTP_422; now ignored"],
  ["event.refused", {}, { result: "schema-mismatch" }, "Refused: schema-mismatch"],
  ["event.payload-shown", {}, {}, "payload shown"],
])("%s reads as a sentence", (action, before, after, text) => {
  expect(auditText(action, before, after)).toBe(text);
});

describe("attempts", () => {
  const facts = {
    attempt: 2,
    revision: 1,
    target: "orders",
    latencyMs: 41.6,
    code: "HTTP_503",
    detail: null,
    deduplicated: false,
    stopped: null,
  };
  test.each([
    ["open", "Attempt 2 to orders under way"],
    ["delivered", "Attempt 2 to orders sent in 42 ms: HTTP_503"],
    ["failed", "Attempt 2 to orders failed in 42 ms: HTTP_503"],
    ["ambiguous", "Attempt 2 to orders without an answer in 42 ms: HTTP_503: the target may have taken it"],
  ] as const)("%s", (state, text) => expect(attemptText({ ...facts, state })).toBe(text));

  test("say when the target had the event already", () => {
    expect(attemptText({ ...facts, state: "delivered", deduplicated: true })).toBe(
      "Attempt 2 to orders deduplicated in 42 ms: HTTP_503",
    );
  });

  test("name the headers that a delivered one was sent without", () => {
    const detail = 'sent without the header "my header"';
    expect(attemptText({ ...facts, state: "delivered", code: "HTTP 200", detail })).toBe(
      'Attempt 2 to orders sent in 42 ms: HTTP 200; sent without the header "my header"',
    );
  });

  test("name the revision that was sent, unless it is the first", () => {
    expect(attemptText({ ...facts, revision: 3, state: "open" })).toBe("Attempt 2 of revision 3 to orders under way");
  });

  test.each([
    ["budget", "the retry budget of the target is spent"],
    ["exhausted", "no attempts are left"],
    ["some-new-reason", "some new reason"],
  ])("say why retrying stopped: %s", (stopped, words) => {
    expect(attemptText({ ...facts, state: "failed", stopped })).toBe(
      `Attempt 2 to orders failed in 42 ms: HTTP_503; not retried: ${words}`,
    );
  });
});

test("a dry run names what it refused", () => {
  const passed = { check: "parses", ok: true, detail: "valid JSON" };
  expect(verdictText([passed])).toBe("Passed 1 check");
  expect(verdictText([passed, { check: "schema", ok: false, detail: "/items is missing" }])).toBe(
    "Refused: /items is missing",
  );
  const warned = { check: "headers", ok: true, warning: true, detail: "sent without a header" };
  expect(verdictText([passed, warned])).toBe("Passed 1 check; sent without a header");
  expect(controlText("cooldown", "eventId", true)).toBe("Cooldown by eventId lifted");
});
