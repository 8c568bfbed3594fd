import { describe, expect, it } from "vitest";
import { type Column, factsText, tableText, wrapped } from "./table";

const COLUMNS: Column<string[]>[] = [
  ["event", ([event]) => event!],
  ["error", ([, error]) => error!],
];

describe("a table", () => {
  it("is aligned under its titles for a terminal", () => {
    expect(
      tableText(
        [
          ["o-1", "503 from stock"],
          ["order-22", "x"],
        ],
        COLUMNS,
        80,
      ),
    ).toBe("EVENT     ERROR\no-1       503 from stock\norder-22  x\n");
  });

  it("is as wide as the terminal: the widest column is cut", () => {
    const text = tableText([["o-1", "503 from stock for order 1"]], COLUMNS, 20);
    expect(text).toBe("EVENT  ERROR\no-1    503 from sto…\n");
    expect(Math.max(...text.split("\n").map((line) => line.length))).toBe(20);
  });

  it("never cuts a value that another command takes", () => {
    expect(tableText([["order-22-of-77", "503 from stock"]], COLUMNS, 10).split("\n")[1]).toBe(
      "order-22-of-77  503 f…",
    );
  });

  it("stays readable in a terminal that is too narrow", () => {
    expect(tableText([["order-22", "503 from stock"]], COLUMNS, 3).split("\n")[1]).toBe("order-22  503 f…");
  });

  it("is whole, with tabs and without titles, for a pipe", () => {
    expect(tableText([["o-1", "a\tb\nc"]], COLUMNS, null)).toBe("o-1\ta b c\n");
  });

  it.each([
    ["an emoji", "🎉"],
    ["a letter and its combining accent", "e\u0301"],
    ["emojis that are joined to one", "👩\u200d🚒"],
    ["a flag, which is two code points", "🇵🇹"],
  ])("cuts between characters, never within %s", (_, character) => {
    const line = tableText([["x", character.repeat(7)]], COLUMNS, 12).split("\n")[1];
    expect(line).toBe(`x      ${character.repeat(5)}…`);
  });

  it("lets no control character of a producer reach the terminal", () => {
    const text = tableText([["\u001b[2J\u202eorder", "a\rb\u0007"]], COLUMNS, 80);
    expect(text.split("\n")[1]).toBe("⟨001B⟩[2J⟨202E⟩order  a b⟨0007⟩");
    expect(factsText([["error", "\u001b]0;x"]])).toBe("error  ⟨001B⟩]0;x\n");
  });
});

it("leaves out facts that there are not", () => {
  expect(
    factsText([
      ["id", 7],
      ["trace", null],
      ["error", "x"],
    ]),
  ).toBe("id     7\nerror  x\n");
});

it("breaks lines between words", () => {
  expect(wrapped("one two three four", 10, "  ")).toBe("  one two\n  three\n  four");
});
