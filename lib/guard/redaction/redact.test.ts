import { expect, test } from "vitest";
import { isSecretHeader, REDACTED, redactHeaders, redactJson, redactOrigin, redactText } from "./redact.pure";

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

test.each([
  ['{"orderId": 77, "big": 9007199254740993}', '{"orderId": 77, "big": 9007199254740993}'],
  ['{ "apiKey" : "k-1", "n": 1.50 }', `{ "apiKey" : "${REDACTED}", "n": 1.50 }`],
  ['{"a":[{"password":12},{"password":null}]}', `{"a":[{"password":"${REDACTED}"},{"password":null}]}`],
  ['{"token":{"deep":["x",{"y":"}"}]},"z":1}', `{"token":"${REDACTED}","z":1}`],
  ['{"note":"\\"password\\": 1","pass\\u0077ord":"x"}', `{"note":"\\"password\\": 1","pass\\u0077ord":"${REDACTED}"}`],
  ['["secret","token"]', '["secret","token"]'],
  ["not json, password=x", null],
])("masks the secret members of %s", (text, shown) => expect(redactJson(text)).toBe(shown));

test("masks a value however far from its name it stands", () => {
  const space = " ".repeat(300);
  expect(redactJson(`{"password"${space}:${space}"hunter"}`)).toBe(`{"password"${space}:${space}"${REDACTED}"}`);
});

test("masks one member of a megabyte and keeps the rest", () => {
  const filler = "x".repeat(1_000_000);
  expect(redactJson(`{"filler":"${filler}","secret":"${filler}"}`)).toBe(
    `{"filler":"${filler}","secret":"${REDACTED}"}`,
  );
});

test.each([
  ["503 from stock-service for order-77", "503 from stock-service for order-77"],
  ["login failed: password=hunter2, user=ada", `login failed: password=${REDACTED}, user=ada`],
  ['{"access_token": "abc def"}', `{"access_token": ${REDACTED}}`],
  ["sent Authorization: Bearer abc.def-1 to it", `sent Authorization: Bearer ${REDACTED} to it`],
  ["amqp://guest:guest@mq:5672/v", `amqp://${REDACTED}@mq:5672/v`],
  ['{"error":"no {\\"password\\":\\"hun ter\\",\\"a\\":1}"}', `{"error":"no {\\"password\\":${REDACTED},\\"a\\":1}"}`],
  ["at com.acme.Stock.reserve(Stock.java:42)", "at com.acme.Stock.reserve(Stock.java:42)"],
])("masks what looks like a credential in %j", (text, shown) => expect(redactText(text)).toBe(shown));
