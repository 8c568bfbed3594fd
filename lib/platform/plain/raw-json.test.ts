import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  elementsInSteps,
  elementsOf,
  endOfValue,
  JsonSyntax,
  membersInSteps,
  membersOf,
  sizeOf,
} from "@/lib/platform/plain/raw-json.pure";

const bytesOf = (text: string) => new TextEncoder().encode(text);
const textOf = (bytes: Uint8Array, { start, end }: { start: number; end: number }) =>
  new TextDecoder().decode(bytes.subarray(start, end));

/** JSON with white space anywhere it may be. */
const spaced = (value: unknown, space: string): string => {
  if (Array.isArray(value))
    return `[${space}${value.map((one) => spaced(one, space)).join(`${space},${space}`)}${space}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([key, one]) => `${JSON.stringify(key)}${space}:${space}${spaced(one, space)}`,
  );
  return `{${space}${members.join(`${space},${space}`)}${space}}`;
};
const space = fc.constantFrom("", " ", "\n\t", "\r\n  ");

function walked<Found>(steps: Generator<Found | null, number>) {
  const found: Found[] = [];
  let waits = 0;
  for (;;) {
    const { value, done } = steps.next();
    if (done) return waits > 0 ? { found, end: value, waits } : { found, end: value };
    if (value === null) waits++;
    else found.push(value);
  }
}

describe("the scanner", () => {
  test("finds every element of any array, as JSON.parse would", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), space, (values, gap) => {
        const bytes = bytesOf(spaced(values, gap));
        expect(walked(elementsInSteps(bytes, 0)).end).toBe(bytes.length);
        expect(elementsOf(bytes, 0).map((span) => JSON.parse(textOf(bytes, span)))).toEqual(
          JSON.parse(new TextDecoder().decode(bytes)),
        );
      }),
    );
  });

  test("finds every member of any object", () => {
    const keys = fc.string({ unit: "binary", maxLength: 12 }).filter((key) => key !== "__proto__");
    fc.assert(
      fc.property(fc.dictionary(keys, fc.jsonValue(), { maxKeys: 8, noNullPrototype: true }), space, (object, gap) => {
        const bytes = bytesOf(spaced(object, gap));
        const members = membersOf(bytes, 0, 8)!;
        expect(walked(membersInSteps(bytes, 0))).toEqual({ found: members, end: bytes.length });
        const found = Object.fromEntries(members.map((member) => [member.key, JSON.parse(textOf(bytes, member))]));
        expect(found).toEqual(JSON.parse(new TextDecoder().decode(bytes)));
      }),
    );
  });

  test("never runs away on any bytes: it finds an end or says where it stopped", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 200 }), (bytes) => {
        try {
          expect(endOfValue(bytes, 0)).toBeLessThanOrEqual(bytes.length);
        } catch (error) {
          expect(error).toBeInstanceOf(JsonSyntax);
        }
      }),
    );
  });

  test.each(['{"a":1', '["a', '"a\\"', "[1,", '{"a"', '{"a" 1}', "[1 2]", "{a:1}", "[", "{", "[,]"])(
    "refuses %s",
    (text) => {
      const bytes = bytesOf(text);
      const scan = () => {
        if (text.startsWith("{")) membersOf(bytes, 0, 8);
        else if (text.startsWith("[")) elementsOf(bytes, 0);
        else endOfValue(bytes, 0);
      };
      expect(scan).toThrow(JsonSyntax);
    },
  );

  test("takes a million brackets without a stack", () => {
    const bytes = bytesOf("[".repeat(1_000_000) + "]".repeat(1_000_000));
    expect(endOfValue(bytes, 0)).toBe(bytes.length);
    expect(sizeOf(bytes, { start: 0, end: bytes.length }).depth).toBe(1_000_000);
    expect(sizeOf(bytesOf('"[[["'), { start: 0, end: 5 })).toEqual({ depth: 0, values: 1 });
  });

  const long = 1_000_000;
  test.each([
    ["one long text", `["${"x".repeat(long)}"]`],
    ["escapes up to the edge of a step", `["${'\\"'.repeat(long / 2)}"]`],
    ["one long number", `[${"1".repeat(long)}]`],
    ["one wide element", `[[${"1,".repeat(long / 2)}1]]`],
    ["white space everywhere", `[${" ".repeat(long)}1${" ".repeat(long)},2${" ".repeat(long)}]`],
  ])("stops on its way through %s, and finds the same", (_, text) => {
    const bytes = bytesOf(text);
    const { found, end, waits } = walked(elementsInSteps(bytes, 0));
    expect(end).toBe(bytes.length);
    expect(waits).toBeGreaterThanOrEqual(3);
    expect(found.map((span) => endOfValue(bytes, span.start))).toEqual(found.map((span) => span.end));
  });

  test("gives up on more members than an event can have, and keeps the start of a long name", () => {
    const many = `{${Array.from({ length: 65 }, (_, n) => `"${n}":1`).join(",")}}`;
    expect(membersOf(bytesOf(many), 0, 64)).toBeNull();
    const [member] = membersOf(bytesOf(`{"${"k".repeat(long)}":1}`), 0, 64)!;
    expect(member!.key.length).toBeLessThan(100);
  });
});
