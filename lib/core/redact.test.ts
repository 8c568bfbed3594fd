import { expect, test } from "vitest";
import { isSecretHeader, REDACTED, redactHeaders } from "./redact";

test.each([
  ["Authorization", true],
  ["proxy-authorization", true],
  ["Cookie", true],
  ["set-cookie", true],
  ["X-Api-Key", true],
  ["x-auth-token", true],
  ["client_secret", true],
  ["x-hub-signature-256", true],
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
