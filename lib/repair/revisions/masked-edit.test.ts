import { expect, test } from "vitest";
import { REDACTED, redactJson } from "@/lib/guard/redaction/redact.pure";
import type { Header } from "@/lib/intake/dead-letter.pure";
import { unmaskHeaders, unmaskText } from "./masked-edit.pure";

const BASE =
  '{ "user":"ada", "password" : "s3cret", "n":12345678901234567890, "inner":{"token":{"a":[1,2]},"n":1.10} }';
const SHOWN = redactJson(BASE)!;

test("what was masked keeps its stored bytes, and everything else is stored as it was sent", () => {
  expect(unmaskText(BASE, SHOWN)).toEqual({ value: BASE, fault: null });
  const edited = SHOWN.replace('"user":"ada"', '"customer" :  "ada"');
  expect(unmaskText(BASE, edited)).toEqual({
    value: BASE.replace('"user":"ada"', '"customer" :  "ada"'),
    fault: null,
  });
});

test.each([
  ["a masked value is given another one", (text: string) => text.replace(`"${REDACTED}"`, '"mine"')],
  ["a masked field is removed", (text: string) => text.replace(`"password" : "${REDACTED}",`, "")],
  ["a masked field is renamed", (text: string) => text.replace('"password"', '"shown"')],
  ["masked fields change places", (text: string) => text.replace('"password"', '"x"').replace('"token"', '"password"')],
  ["a secret field is added", (text: string) => text.replace('{ "user"', '{ "apiKey":"x", "user"')],
  ["a mask stands in another field", (text: string) => text.replace('"ada"', `"${REDACTED}"`)],
  ["an escaped mask stands in another field", (text: string) => text.replace("ada", "\\u2022".repeat(6))],
  ["it is no JSON any more", (text: string) => text.slice(1)],
])("is refused when %s", (_, edit) => {
  const refused = unmaskText(BASE, edit(SHOWN));
  expect(refused).toMatchObject({ field: "text", fault: expect.any(String) });
  expect(refused.fault).not.toContain("s3cret");
});

test("a payload that is no JSON is masked as a whole, and one without secrets is edited freely", () => {
  expect(unmaskText("password=s3cret", "password=s3cret2").fault).toContain("masked as a whole");
  expect(unmaskText('{"a":1}', "a=1")).toEqual({ value: "a=1", fault: null });
  expect(unmaskText('{"a":1}', `a=${REDACTED}`).fault).not.toBeNull();
  expect(unmaskText('{"password":null}', '{"password":"x"}').fault).not.toBeNull();
});

const HEADERS: Header[] = [
  ["x-tenant", "north"],
  ["Authorization", "Bearer one"],
  ["authorization", "Bearer two", "text"],
];

test("masked headers keep their stored values, in their order", () => {
  const edited: Header[] = [
    ["authorization", REDACTED],
    ["Authorization", REDACTED],
    ["x-tenant", "south"],
  ];
  const value = [HEADERS[1], HEADERS[2], ["x-tenant", "south"]];
  expect(unmaskHeaders(HEADERS, edited, false)).toEqual({ value, fault: null });
});

test.each([
  ["another value", [["Authorization", "mine"], HEADERS[2]], "headers[0]"],
  ["a mask of a header that is not there", [["cookie", REDACTED]], "headers[0]"],
  ["a mask within a value", [["x-tenant", `a ${REDACTED}`]], "headers[0]"],
  ["the loss of a masked one", [["Authorization", REDACTED]], "headers"],
] as [string, Header[], string][])("headers are refused for %s", (_, edited, field) => {
  expect(unmaskHeaders(HEADERS, edited, false)).toMatchObject({ field });
});

test("who may reveal gives credentials in headers another value, and stores no mask either", () => {
  const edited: Header[] = [["Authorization", "Bearer three"]];
  expect(unmaskHeaders(HEADERS, edited, true)).toEqual({ value: edited, fault: null });
  expect(unmaskHeaders(HEADERS, [["cookie", REDACTED]], true)).toMatchObject({ field: "headers[0]" });
});
