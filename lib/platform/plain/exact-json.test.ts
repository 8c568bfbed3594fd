import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ExactNumber, parseExact } from "./exact-json.pure";

const printed = (text: string) => JSON.stringify(parseExact(text));

describe("parseExact", () => {
  it.each(["12345678901234567890", "1.0", "-0", "1e400", "1E+2", "0.10"])("keeps the digits of %s", (digits) => {
    expect(parseExact(digits)).toEqual(new ExactNumber(digits));
    expect(String(parseExact(digits))).toBe(digits);
    expect(printed(`{"a":[${digits},{"b":${digits}}]}`)).toBe(`{"a":[${digits},{"b":${digits}}]}`);
  });

  it("gives a name that JavaScript treats specially as an ordinary member", () => {
    const text = '{"__proto__":{"a":1.0},"toJSON":"x","constructor":2.0}';
    expect(printed(text)).toBe(text);
    expect(({} as { a?: unknown }).a).toBeUndefined();
  });

  it.each([
    '{"a":1,"a":2}',
    '{"a":1,"a":1}',
    '[{"x":{"a":1,"b":2,"\\u0061":{}}}]',
    '{"a":{"b":1},"a":{}}',
    '{"":1,"":2}',
  ])("refuses a name that stands twice: %s", (text) => {
    expect(() => parseExact(text)).toThrow(SyntaxError);
  });

  it("does not take colons and quotes within strings for names", () => {
    for (const text of ['{"a":":\\":","b\\\\":"\\\\","c:":[":"]}', '"\\":\\""', '{":":{}}'])
      expect(printed(text)).toBe(text);
  });

  it("refuses a nesting that the stack cannot hold with an error that can be caught", () => {
    const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
    expect(printed(nested(1_000))).toBe(nested(1_000));
    expect(() => parseExact(nested(1_000_000))).toThrow(RangeError);
  });

  it("prints what it read, whatever it is", () => {
    const same = fc.property(fc.json(), (text) => printed(text) === text);
    fc.assert(same);
  });

  it.each(["", "{", "01", "NaN", '{"a":}', "[1,]"])("refuses %j, which is not JSON", (text) => {
    expect(() => parseExact(text)).toThrow(SyntaxError);
  });
});
