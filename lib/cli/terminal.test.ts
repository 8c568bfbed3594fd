import { expect, test } from "vitest";
import { harmless } from "@/lib/cli/terminal";

test.each(["\u001b", "\u009b", "\u007f", "\b", "\u202e", "\u2066"])(
  "what a producer wrote moves no cursor and turns no text round, and stays the same JSON: %j",
  (obeyed) => {
    const wrote = { stack: `at${obeyed}[2Jline`, kept: "tab\tline\nümlaut 山" };
    const shown = harmless(`${JSON.stringify(wrote)}\n`);
    expect(shown).not.toContain(obeyed);
    expect(JSON.parse(shown)).toEqual(wrote);
  },
);

test("tabs, line ends and letters of any script stay as they are", () => {
  expect(harmless("id\tcode\nümlaut 山\n")).toBe("id\tcode\nümlaut 山\n");
});
