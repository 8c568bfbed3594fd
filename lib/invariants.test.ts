import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

/**
 * Holds docs/invariants.md to the tree: each file that it names is there, with the names behind the colon in it; each test
 * that it quotes is there, where `...` stands for what is left out (a value, or the words of the enclosing `describe`).
 */
const PAGE = readFileSync("docs/invariants.md", "utf8").split("\n");
const TREE = execFileSync("git", ["ls-files"], { encoding: "utf8" }).split("\n");
const TEST_FILE = /`([\w./-]+\.(?:test|itest|soak|e2e|conformance)\.tsx?)`/g;

const filesOf = (name: string) => TREE.filter((file) => file === name || file.endsWith(`/${name}`));
/** Without quotes and line breaks, which the page writes otherwise. */
const plain = (text: string) => text.replaceAll(/["'`\\]/g, "").replaceAll(/\s+/g, " ");
const textOf = (files: readonly string[]) => files.map((file) => readFileSync(file, "utf8")).join("\n");

/** The column of the tests. Prose names files alone. */
function testsOf(line: string): string {
  return line.startsWith("| ") ? (line.split(" | ")[1] ?? "") : "";
}

type Quote = { files: string[]; title: string };

/** Titles follow the name of their file, with semicolons between them. Words before the name are no title. */
function quotesOf(cell: string): Quote[] {
  const quotes: Quote[] = [];
  let files: string[] = [];
  for (const part of cell.replaceAll("_new_", "").split("; ")) {
    const named = [...part.matchAll(TEST_FILE)];
    if (named.length > 0) files = named.flatMap(([, name]) => filesOf(name!));
    const last = named.at(-1);
    const said = last === undefined ? part : part.slice(last.index + last[0].length).replace(/^[^:]*(: |$)/, "");
    const title = said.replaceAll(/\((?:postgres|redis)[ /\w]*\)/g, "").trim();
    if (title !== "" && files.length > 0 && !title.includes("`*")) quotes.push({ files, title });
  }
  return quotes;
}

const LINES = PAGE.map((line, index) => ({ line, number: index + 1 })).filter(({ line }) => /\.tsx?[:`]/.test(line));

test("there are lines to look at", () => expect(LINES.length).toBeGreaterThan(200));

describe.each(LINES)("line $number", ({ line }) => {
  const named = [...line.matchAll(/`([\w./[\]-]+\.tsx?)(?:: ([^`]*))?`/g)];
  test.each(named.map(([, file, symbols = ""]) => [file!, symbols]))("%s is there, with %s", (file, symbols) => {
    const files = filesOf(file);
    expect(files).not.toEqual([]);
    const text = textOf(files);
    const missing = symbols.split(", ").filter((word) => /^#?\w+$/.test(word) && !text.includes(word));
    expect(missing).toEqual([]);
  });
  const quotes = quotesOf(testsOf(line));
  test.each(quotes.map(({ files, title }) => [title, files] as const))("the test is there: %s", (title, files) => {
    const text = plain(textOf(files));
    expect(
      plain(title)
        .split("...")
        .map((part) => part.trim())
        .filter((part) => !text.includes(part)),
    ).toEqual([]);
  });
});
