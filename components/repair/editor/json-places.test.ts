import { describe, expect, it } from "vitest";
import { placeOf, readJson } from "./json-places";

/** The part of the text that a pointer underlines. */
function shown(text: string, pointer: string): string {
  const { from, to } = placeOf(readJson(text).root!, pointer);
  return text.slice(from, to);
}

const marked = (text: string) =>
  readJson(text).problems.map(({ from, to, message }) => [text.slice(from, to), message]);

describe("the place of a JSON pointer", () => {
  const text =
    '{ "order": { "id": 12345678901234567890, "lines": [{ "qty": -1 }, 7] }, "a/b": { "m~n": true }, "": 3 }';

  it("is the scalar, the name of an object or array, or an opening bracket", () => {
    expect(shown(text, "/order/id")).toBe("12345678901234567890");
    expect(shown(text, "/order/lines/0/qty")).toBe("-1");
    expect(shown(text, "/order/lines/1")).toBe("7");
    expect(shown(text, "/order/lines")).toBe('"lines"');
    expect(shown(text, "/order/lines/0")).toBe("{");
    expect(shown(text, "")).toBe("{");
  });

  it("reads the escapes of RFC 6901 and the empty name", () => {
    expect(shown(text, "/a~1b/m~0n")).toBe("true");
    expect(shown(text, "/")).toBe("3");
  });

  it("is the nearest enclosing value when there is none at the pointer", () => {
    expect(shown(text, "/order/total")).toBe('"order"');
    expect(shown(text, "/order/lines/9/qty")).toBe('"lines"');
    expect(shown(text, "/order/lines/qty")).toBe('"lines"');
    expect(shown(text, "/missing")).toBe("{");
  });
});

describe("the problems of a JSON text", () => {
  it("has none for JSON", () => {
    expect(marked('{"a": [1, 2.5e3, "x", null]}')).toEqual([]);
    expect(marked(' "text" ')).toEqual([]);
  });

  it("says what is missing and where", () => {
    expect(marked('{"a": 1 "b": 2}')).toEqual([['"b"', "A comma is missing here"]]);
    expect(marked('{"a": oops}')[0]).toEqual(["oops", "This is not a JSON value: strings need double quotes"]);
    expect(marked('{"a": 1')[0]![1]).toBe("A } is missing here");
  });

  it.each(["", "{} {}", "01", "[1,]", "{'a': 1}", "// note\n{}", '"tab\there"', '"\\x"', "\u00a0{}", "NaN", "1."])(
    "refuses what JSON.parse refuses: %j",
    (text) => {
      expect(() => JSON.parse(text)).toThrow();
      expect(readJson(text).problems.filter(({ severity }) => severity === "error")).not.toEqual([]);
    },
  );

  it("warns of a name that stands twice", () => {
    const { problems } = readJson('{"a": 1, "b": {"c": 1, "c": 2}, "a": 3}');
    expect(problems.map(({ from, severity }) => [from, severity])).toEqual([
      [32, "warning"],
      [23, "warning"],
    ]);
  });

  it("does not end the page on a text that is nested 100,000 deep", () => {
    expect(readJson("[".repeat(100_000)).problems.length).toBeGreaterThan(0);
  });
});
