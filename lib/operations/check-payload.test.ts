import { describe, expect, test } from "vitest";
import { createPayloadChecker } from "./check-payload";

const check = createPayloadChecker();
const schema = {
  type: "object",
  required: ["amount"],
  properties: { amount: { type: "integer", minimum: 1 }, at: { type: "string", format: "date-time" } },
};
const bytes = (text: string) => Buffer.from(text);

describe("the check of a payload", () => {
  test.each([
    ['{"amount": 3}', "application/json", true, true],
    ['{"amount": 3, "at": "2026-11-20T10:00:00Z"}', "application/vnd.acme+json; charset=utf-8", true, true],
    ['{"amount": 0}', "application/json", true, false],
    ['{"amount": 3, "at": "yesterday"}', "application/json", true, false],
    ["{amount", "application/json", false, false],
    ['{"amount": 3}', "application/octet-stream", true, true],
    ["<a/>", "application/xml", false, false],
  ])("%s as %s: parses %s, matches %s", (payload, contentType, parses, matches) => {
    const result = check(bytes(payload), contentType, schema);
    expect([result.parses.ok, result.schema.ok]).toEqual([parses, matches]);
  });

  test("without a schema only what says it is JSON must parse", () => {
    expect(check(bytes("<a/>"), "application/xml", null).parses.ok).toBe(true);
    expect(check(bytes("<a/>"), "application/json", null).parses.ok).toBe(false);
    expect(check(Buffer.from([0x22, 0xff, 0x22]), "application/json", null).parses.ok).toBe(false);
  });

  test("names what does not match, and a schema that cannot be used lets nothing through", () => {
    expect(check(bytes('{"amount": "x"}'), "application/json", schema).schema.detail).toContain(
      "/amount must be integer",
    );
    const unusable = check(bytes("{}"), "application/json", { type: "no-such-type" });
    expect(unusable.schema).toMatchObject({ ok: false, detail: expect.stringContaining("not usable") });
  });
});
