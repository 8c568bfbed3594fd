import { expect, test } from "vitest";
import { isSecretHeader, REDACTED, redactHeaders, redactOrigin } from "./redact";

test.each([
  ["Authorization", true],
  ["proxy-authorization", true],
  ["Cookie", true],
  ["set-cookie", true],
  ["X-Api-Key", true],
  ["x-auth-token", true],
  ["client_secret", true],
  ["x-hub-signature-256", true],
  ["x-authorization", true],
  ["accessToken", true],
  ["x-functions-key", true],
  ["Ocp-Apim-Subscription-Key", true],
  ["jwt", true],
  ["session", true],
  ["X-Amz-Security-Token", true],
  ["X-CSRF-Token", true],
  ["x-authtoken", true],
  ["api_key", true],
  ["apiKey", true],
  ["sid", true],
  ["idempotency-key", false],
  ["x-routing-key", false],
  ["kafka_messageKey", false],
  ["x-passenger", false],
  ["author", false],
  ["x-secretary", false],
  ["content-type", false],
  ["x-tokenizer", false],
  ["ce-partitionkey", false],
  ["traceparent", false],
])("%s is a secret: %s", (name, secret) => expect(isSecretHeader(name)).toBe(secret));

test("keeps order, duplicates and empty values", () => {
  expect(
    redactHeaders([
      ["a", "1"],
      ["cookie", "x"],
      ["a", "2"],
      ["cookie", null],
    ]),
  ).toEqual([
    ["a", "1"],
    ["cookie", REDACTED],
    ["a", "2"],
    ["cookie", null],
  ]);
});

test("an origin shows where an event came from, and no credential of its properties", () => {
  const origin = {
    queue: "orders",
    properties: { correlationId: "c-1", headers: { authorization: "Bearer s3", "x-tries": 2 } },
    headers: [
      ["cookie", "id=s3"],
      ["x-origin", "shop"],
    ],
  };
  expect(redactOrigin(origin)).toEqual({
    queue: "orders",
    properties: { correlationId: "c-1", headers: { authorization: REDACTED, "x-tries": 2 } },
    headers: [
      ["cookie", REDACTED],
      ["x-origin", "shop"],
    ],
  });
});

test("an origin is looked through to a depth, and shows nothing below it", () => {
  let deep: unknown = { authorization: "s3" };
  for (let level = 0; level < 5_000; level++) deep = { deeper: deep };
  expect(JSON.stringify(redactOrigin({ deep }))).not.toContain("s3");
});
