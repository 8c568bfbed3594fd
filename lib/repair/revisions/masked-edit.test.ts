import { describe, expect, test } from "vitest";
import { maskBody } from "@/lib/guard/masking/mask.pure";
import { DEFAULT_MASKS, type MaskRule, masksOf } from "@/lib/guard/masking/mask-rule.pure";
import { REDACTED } from "@/lib/guard/redaction/redact.pure";
import type { Header } from "@/lib/intake/dead-letter.pure";
import { unmaskText as unmask, unmaskHeaders } from "./masked-edit.pure";

const SET = DEFAULT_MASKS.of("orders");
const MASKED = { set: SET, mayReveal: false };
const REVEALS = { set: SET, mayReveal: true };
const unmaskText = (base: string, edited: string) => unmask(base, edited, MASKED);

const BASE =
  '{ "user":"ada", "password" : "s3cret", "n":12345678901234567890, "inner":{"token":{"a":[1,2]},"n":1.10} }';
const SHOWN = maskBody(BASE, SET).text;

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

test("a payload that is no JSON keeps what is masked, and one without secrets is edited freely", () => {
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
  expect(unmaskHeaders(HEADERS, edited, MASKED)).toEqual({ value, fault: null });
});

test.each([
  ["another value", [["Authorization", "mine"], HEADERS[2]], "headers[0]"],
  ["a mask of a header that is not there", [["cookie", REDACTED]], "headers[0]"],
  ["a mask within a value", [["x-tenant", `a ${REDACTED}`]], "headers[0]"],
  ["the loss of a masked one", [["Authorization", REDACTED]], "headers"],
] as [string, Header[], string][])("headers are refused for %s", (_, edited, field) => {
  expect(unmaskHeaders(HEADERS, edited, MASKED)).toMatchObject({ field });
});

test("who may reveal gives credentials in headers another value, and stores no mask either", () => {
  const edited: Header[] = [["Authorization", "Bearer three"]];
  expect(unmaskHeaders(HEADERS, edited, REVEALS)).toEqual({ value: edited, fault: null });
  expect(unmaskHeaders(HEADERS, [["cookie", REDACTED]], REVEALS)).toMatchObject({ field: "headers[0]" });
});

describe("masks of any rule", () => {
  const rules: MaskRule[] = [{ source: null, kind: "pointer", pattern: "/card/cvv", enabled: true }];
  const set = masksOf(rules).of("orders");
  const base = JSON.stringify({
    card: { cvv: 123, owner: "ada@example.com" },
    note: "write to ada@example.com",
    inner: JSON.stringify({ password: "hunter", n: 1 }),
    "ada@example.com": [1, "bob@example.com"],
    n: 1,
  });
  const shown = maskBody(base, set).text;
  const edit = (change: (text: string) => string, mayReveal = false) => unmask(base, change(shown), { set, mayReveal });

  test("keep their values in an edit of something else, which may add values of its own", () => {
    const change = (text: string) => text.replace('"n":1}', '"n":2,"more":"new@example.com"}');
    const value = base.replace('"n":1}', '"n":2,"more":"new@example.com"}');
    expect(edit(change)).toEqual({ value, fault: null });
    expect(edit(change, true)).toEqual({ value, fault: null });
  });

  test.each([
    ["a place where no rule masks it", (text: string) => text.replace('"card"', '"cart"')],
    ["a member of another name", (text: string) => text.replace('"cvv"', '"n2"')],
    ["another text around a part", (text: string) => text.replace("write to", "call")],
    ["another text in JSON in a string", (text: string) => text.replace('\\"n\\":1', '\\"n\\":2')],
  ])("are not put back at %s", (_, change) => {
    const refused = edit(change);
    expect(refused).toMatchObject({ field: "text" });
    expect(JSON.stringify(refused)).not.toMatch(/ada|hunter|123/);
  });

  test("somebody who may reveal gives one a new value, removes one, and leaves the others", () => {
    const change = (text: string) =>
      text.replace(`"owner":"${REDACTED}"`, '"owner":"eve@example.com"').replace(`"cvv":"${REDACTED}",`, "");
    const value = base.replace('"owner":"ada@example.com"', '"owner":"eve@example.com"').replace('"cvv":123,', "");
    expect(edit(change, true)).toEqual({ value, fault: null });
    expect(edit(change)).toMatchObject({ field: "text" });
    expect(edit(() => '{"free":true}', true)).toEqual({ value: '{"free":true}', fault: null });
    expect(edit((text) => text.replace('"n":1}', `"n":"${REDACTED}"}`), true)).toMatchObject({ field: "text" });
  });
});
