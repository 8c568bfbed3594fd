import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { BodyReader } from "@/lib/platform/plain/dead-letter.pure";
import { deadLetter } from "@/lib/testing/letters";
import {
  type AdmissionRule,
  admissionRecord,
  admit,
  type Condition,
  matchesGlob,
  type RuleEffect,
  TESTED_CHARS_MAX,
} from "./admission.pure";

const rule = (when: Condition[], effect: RuleEffect, change: Partial<AdmissionRule> = {}): AdmissionRule => ({
  ...{ id: "r-1", name: "first", version: 3, source: null },
  ...{ when, do: effect },
  ...change,
});
const body: BodyReader = (pointer) =>
  ({
    "/kind": { found: true, text: "refund" },
    "/order": { found: true, text: null },
  })[pointer] ?? { found: false, text: null };
const letter = deadLetter({
  errorCode: "UNKNOWN",
  error: { type: "com.acme.orders.StockException$Empty", message: "No stock left for order-77", stack: null },
  headers: [
    ["X-Tenant", "north"],
    ["x-tenant", "south"],
    ["x-raw", "bm9ydGg=", "bytes"],
    ["x-none", null],
  ],
  origin: { convention: "spring-amqp" },
  attempts: 4,
});
const matches = (condition: Condition) => admit(letter, [rule([condition], { park: "early" })], body).mark === "early";

describe("a condition", () => {
  test.each<[Condition, boolean]>([
    [{ field: "errorCode", is: "equals", value: "UNKNOWN" }, true],
    [{ field: "errorCode", is: "equals", value: "unknown" }, false],
    [{ field: "errorCode", is: "equals", value: "unknown", ignoreCase: true }, true],
    [{ field: "errorCode", is: "equals", value: "UNKNOWN", not: true }, false],
    [{ field: "errorMessage", is: "contains", value: "stock left" }, true],
    [{ field: "errorMessage", is: "startsWith", value: "stock" }, false],
    [{ field: "errorMessage", is: "endsWith", value: "ORDER-77", ignoreCase: true }, true],
    [{ field: "errorMessage", is: "glob", value: "No * left for order-*" }, true],
    [{ field: "errorType", is: "glob", value: "com.acme.*Exception" }, false],
    [{ field: "convention", is: "equals", value: "spring-amqp" }, true],
    [{ field: "eventType", is: "present" }, true],
    [{ field: "header", name: "x-TENANT", is: "equals", value: "south" }, true],
    [{ field: "header", name: "x-tenant", is: "equals", value: "east" }, false],
    [{ field: "header", name: "x-raw", is: "present" }, true],
    // Bytes are no text: base64 of them is nothing that a person wrote.
    [{ field: "header", name: "x-raw", is: "contains", value: "bm9" }, false],
    [{ field: "header", name: "x-none", is: "present" }, true],
    [{ field: "header", name: "x-absent", is: "present" }, false],
    [{ field: "header", name: "x-absent", is: "present", not: true }, true],
    [{ field: "body", pointer: "/kind", is: "equals", value: "refund" }, true],
    [{ field: "body", pointer: "/order", is: "present" }, true],
    [{ field: "body", pointer: "/order", is: "equals", value: "" }, false],
    [{ field: "body", pointer: "/absent", is: "present" }, false],
    [{ field: "attempts", is: "above", value: 3 }, true],
    [{ field: "attempts", is: "above", value: 4 }, false],
    [{ field: "payloadBytes", is: "below", value: 1_000 }, true],
  ])("%j: %s", (condition, expected) => {
    expect(matches(condition)).toBe(expected);
  });

  test("of a text that the letter does not have holds only when it is negated", () => {
    const bare = deadLetter({ error: { type: null, message: null, stack: null } });
    const of = (not: boolean) =>
      admit(bare, [rule([{ field: "errorType", is: "contains", value: "x", not }], { park: "early" })], body).mark;
    expect([of(false), of(true)]).toEqual([null, "early"]);
  });

  test("all conditions must hold; without one the rule matches every letter", () => {
    const yes: Condition = { field: "errorCode", is: "present" };
    const no: Condition = { field: "errorCode", is: "equals", value: "other" };
    const matched = (when: Condition[]) => admit(letter, [rule(when, { group: "g" })], body).matched.length;
    expect([matched([yes, yes]), matched([yes, no]), matched([])]).toEqual([1, 0, 1]);
  });
});

describe("rules are applied in their order", () => {
  test("each to the letter as the rules before it left it, and the later one decides", () => {
    const admitted = admit(
      letter,
      [
        rule([], { errorCode: { value: "STOCK" }, group: "one" }, { id: "a" }),
        rule([{ field: "errorCode", is: "equals", value: "STOCK" }], { group: "two", park: "confirm" }, { id: "b" }),
        rule([{ field: "errorCode", is: "equals", value: "UNKNOWN" }], { group: "three" }, { id: "c" }),
      ],
      body,
    );
    expect(admitted).toMatchObject({ group: "two", mark: "confirm", letter: { errorCode: "STOCK" } });
    expect(admitted.matched.map(({ id }) => id)).toEqual(["a", "b"]);
  });

  test("early stays early when a later rule asks for a confirmation", () => {
    const mark = (...parks: ("early" | "confirm")[]) =>
      admit(
        letter,
        parks.map((park) => rule([], { park })),
        body,
      ).mark;
    expect([mark("early", "confirm"), mark("confirm", "early")]).toEqual(["early", "early"]);
  });

  test("a drop ends them", () => {
    const admitted = admit(letter, [rule([], { drop: true }), rule([], { park: "early" }, { id: "b" })], body);
    expect(admitted).toMatchObject({ dropped: { id: "r-1", name: "first", version: 3 }, mark: null, matched: [] });
  });

  test("one that fails is reported, and the others go on", () => {
    const broken = rule([{ field: "body", pointer: "/kind", is: "present" }], { drop: true }, { id: "broken" });
    const admitted = admit(letter, [broken, rule([], { park: "early" })], () => {
      throw new Error("the reader broke");
    });
    expect(admitted).toMatchObject({
      dropped: null,
      mark: "early",
      failed: [{ id: "broken", fault: "the reader broke" }],
    });
  });
});

describe("the error code", () => {
  test.each<[RuleEffect["errorCode"], string]>([
    [{ value: "STOCK" }, "STOCK"],
    [{ from: "errorType" }, "Empty"],
    [{ from: "header", name: "x-tenant" }, "north"],
    [{ from: "body", pointer: "/kind" }, "refund"],
    // Without a value the letter keeps its own.
    [{ from: "header", name: "x-raw" }, "UNKNOWN"],
    [{ from: "header", name: "x-none" }, "UNKNOWN"],
    [{ from: "body", pointer: "/order" }, "UNKNOWN"],
    [{ from: "body", pointer: "/absent" }, "UNKNOWN"],
  ])("%j gives %s", (errorCode, expected) => {
    expect(admit(letter, [rule([], { errorCode })], body).letter.errorCode).toBe(expected);
  });

  test.each([
    ["com.acme.StockException", "StockException"],
    ["Acme::Stock::Empty", "Empty"],
    ["ValidationError", "ValidationError"],
    ["App\\Exceptions\\Failed", "Failed"],
    ["...", "UNKNOWN"],
  ])("of the type %s is %s", (type, expected) => {
    const typed = { ...letter, error: { ...letter.error, type } };
    expect(admit(typed, [rule([], { errorCode: { from: "errorType" } })], body).letter.errorCode).toBe(expected);
  });

  test("that is too long or cannot be stored is made storable", () => {
    const long: BodyReader = () => ({ found: true, text: `${"x".repeat(5_000)}\0` });
    const { errorCode } = admit(letter, [rule([], { errorCode: { from: "body", pointer: "/kind" } })], long).letter;
    expect(errorCode.length).toBeLessThanOrEqual(256);
    expect(errorCode).not.toContain("\0");
  });

  test("payload, headers and origin stay as they arrived", () => {
    const rules = [rule([], { errorCode: { value: "X" }, group: "g", park: "early" })];
    const { errorCode: _code, ...rest } = admit(letter, rules, body).letter;
    const { errorCode: _arrived, ...arrived } = letter;
    expect(rest).toEqual(arrived);
  });
});

describe("a glob", () => {
  test.each([
    ["", "", true],
    ["abc", "abc", true],
    ["abc", "ab", false],
    ["abc", "*", true],
    ["", "*", true],
    ["abc", "a*c", true],
    ["ac", "a*c", true],
    ["a", "a*a", false],
    ["aXbXc", "a*X*c", true],
    ["aXc", "a*X*X*c", false],
    ["abcabc", "*abc", true],
    ["a.c", "a.c", true],
    ["abc", "a.c", false],
  ])("%j against %j: %s", (text, glob, expected) => {
    expect(matchesGlob(text, glob)).toBe(expected);
  });

  test("agrees with the regular expression of the same meaning", () => {
    const part = fc.string({ unit: fc.constantFrom("a", "b", "."), maxLength: 3 });
    fc.assert(
      fc.property(
        fc.array(part, { minLength: 1, maxLength: 5 }),
        fc.string({ unit: fc.constantFrom("a", "b", "."), maxLength: 12 }),
        (parts, text) => {
          const expression = new RegExp(`^${parts.map((each) => each.replaceAll(".", "\\.")).join("[^]*")}$`);
          return matchesGlob(text, parts.join("*")) === expression.test(text);
        },
      ),
    );
  });

  test("with a hundred stars against a text that almost matches ends in an answer", () => {
    // A matcher that goes back tries about 10^40 ways to share the letters out among the stars.
    const hostile = deadLetter({ error: { type: null, message: `${"a".repeat(60_000)}b`, stack: null } });
    const when: Condition[] = [{ field: "errorMessage", is: "glob", value: `${"*a".repeat(99)}*c` }];
    expect(admit(hostile, [rule(when, { drop: true })], body).dropped).toBeNull();
    expect(matchesGlob(`${"a".repeat(8_000)}b`, `${"*a".repeat(99)}*c*`)).toBe(false);
  });

  test("reads the first part of a long text", () => {
    const long = deadLetter({ error: { type: null, message: `${"a".repeat(TESTED_CHARS_MAX)}needle`, stack: null } });
    const found = (value: string) =>
      admit(long, [rule([{ field: "errorMessage", is: "contains", value }], { park: "early" })], body).mark;
    expect([found("a"), found("needle")]).toEqual(["early", null]);
  });
});

test("the record says what the rules did, and is null when they did nothing", () => {
  const record = (...rules: AdmissionRule[]) => admissionRecord(letter, admit(letter, rules, body));
  expect(record()).toBeNull();
  expect(record(rule([], { errorCode: { value: "STOCK" }, group: "g" }))).toEqual({
    rules: [{ id: "r-1", name: "first", version: 3 }],
    arrivedAs: "UNKNOWN",
    group: "g",
  });
});
