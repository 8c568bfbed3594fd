import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { STATE_MEANINGS } from "./state-badge";

test("a state means on the screen what the glossary says", () => {
  const rows = readFileSync("docs/glossary.md", "utf8").matchAll(
    /^\| \*\*(?<word>[A-Z]+)\*\* +\| (?<meaning>.*?) +\|$/gm,
  );
  expect(Object.fromEntries(Array.from(rows, ({ groups }) => [groups!.word, groups!.meaning]))).toEqual(STATE_MEANINGS);
});
