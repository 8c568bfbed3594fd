import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

/**
 * Checks docs/invariants.md against the tree. A line is `- name — guards — tests`: guards are `file: symbol, symbol`, tests are
 * `file`: title; title, where `...` stands for a value or for the words of the enclosing `describe`.
 */
const LINES = readFileSync("docs/invariants.md", "utf8")
  .split("\n")
  .filter((line) => line.startsWith("- "));
// Files that are not committed yet count, too: a test may be on its way to another file.
const TREE = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { encoding: "utf8" })
  .split("\n")
  .filter((file) => file !== "" && existsSync(file));

const named = (name: string) => TREE.filter((file) => file === name || file.endsWith(`/${name}`));
/** A name without a suffix is a test of any kind: tests move between the gate and the soak without their lines. */
const KINDS = ["itest", "soak", "test", "e2e", "conformance"];
const testFiles = (name: string) =>
  /\.tsx?$/.test(name)
    ? named(name)
    : KINDS.flatMap((kind) => [...named(`${name}.${kind}.ts`), ...named(`${name}.${kind}.tsx`)]);
/** Without quotes and line breaks, which the page writes otherwise. */
const plain = (text: string) => text.replaceAll(/["'`\\]/g, "").replaceAll(/\s+/g, " ");
const texts = new Map<string, string>();
function textOf(files: readonly string[]): string {
  for (const file of files) if (!texts.has(file)) texts.set(file, plain(readFileSync(file, "utf8")));
  return files.map((file) => texts.get(file)).join(" ");
}

function partsOf(line: string) {
  const [, guards = "", tests = ""] = line.split(" — ");
  return { guards, tests };
}

/** The titles of a line, each with the files before it. */
function titlesOf(tests: string): { name: string; files: string[]; title: string }[] {
  let name = "";
  return tests.split("; ").map((part) => {
    const [, file, title = ""] = /^`([\w./()[\]-]+)`(?:: (.*))?$/.exec(part) ?? [];
    if (file !== undefined) name = file;
    return { name, files: testFiles(name), title: file === undefined ? part : title };
  });
}

test("there is a line for each invariant, with its guard and its test", () => {
  expect(LINES.length).toBeGreaterThan(380);
  expect(LINES.filter((line) => partsOf(line).tests === "")).toEqual([]);
});

test("each guard is in one file, with its symbols", () => {
  const missing = LINES.flatMap((line) =>
    [...partsOf(line).guards.matchAll(/`([\w./[\]-]+\.(?:tsx?|mjs))(?:: ([^`]*))?`/g)].flatMap(
      ([, file, symbols = ""]) => {
        const files = named(file!);
        if (files.length !== 1) return [`${file}, which ${files.length} files are: ${line}`];
        const text = textOf(files);
        return symbols
          .split(", ")
          .filter((word) => /^#?\w+$/.test(word) && !text.includes(word))
          .map((word) => `${word} in ${file}`);
      },
    ),
  );
  expect(missing).toEqual([]);
});

test("each test is there, by its title", () => {
  const missing = LINES.flatMap((line) =>
    titlesOf(partsOf(line).tests).flatMap(({ name, files, title }) => {
      if (name !== "" && files.length === 0) return [`${name} of: ${line}`];
      const text = textOf(files);
      const words = plain(title)
        .split("...")
        .map((part) => part.trim());
      return words.every((part) => text.includes(part)) ? [] : [`${name}: ${title}`];
    }),
  );
  expect(missing).toEqual([]);
});
