import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

/**
 * Checks SECURITY.md, docs/threat-model.md and docs/asvs.md against the tree: each file that they name exists, and each test that they
 * quote is in the file before it.
 */
const TREE = execFileSync("git", ["ls-files"], { encoding: "utf8" }).split("\n");
const PAGES = ["SECURITY.md", "docs/threat-model.md", "docs/asvs.md"];

const TEST_FILE = /\.(?:test|itest|soak|e2e)\.tsx?$/;

/** The path itself and, of a test, its sibling in the gate or in the soak: a test moves between them without its pages. */
function filesAt(path: string): string[] {
  const stem = path.replace(/\.(?:itest|soak)\.ts$/, "");
  return stem === path ? [path] : [`${stem}.itest.ts`, `${stem}.soak.ts`];
}

function isThere(path: string): boolean {
  return filesAt(path).some((at) => TREE.some((file) => file === at || file.startsWith(`${at}/`)));
}

/** The text of what `path` names, as far as it is there. */
function textAt(path: string): string {
  return filesAt(path)
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file, "utf8"))
    .join("\n");
}

/** In backticks, with a folder: `lib/outgoing.test.ts`, `lib/retry`. Routes, addresses and variables begin otherwise. */
function filesIn(text: string): string[] {
  return [
    ...text.matchAll(
      /`((?:app|bench|components|docs|e2e|lib|prisma|scripts|workers)\/[^`\s]+|Dockerfile|[\w-]+\.(?:ya?ml|json|ts))`/g,
    ),
  ].map(([, file]) => file!);
}

/** Of [text](file.md#heading), from the folder of the page. Addresses of other sites and headings of the same page are left out. */
function linksIn(text: string, page: string): { file: string; heading: string }[] {
  const folder = page.includes("/") ? "docs/" : "";
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, to]) => {
    if (/^https?:/.test(to!)) return [];
    const [path = "", heading = ""] = to!.split("#");
    const file = path === "" ? page : path.startsWith("../") ? path.slice(3) : `${folder}${path}`;
    return [{ file: file.replace(/\/$/, ""), heading }];
  });
}

/** As GitHub makes them. */
function headingsOf(page: string): string[] {
  const titles = [...readFileSync(page, "utf8").matchAll(/^#{1,6} (.+)$/gm)].map(([, title]) => title!);
  return titles.map((title) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

type Quote = { file: string; title: string };

/** `file`: "title", "title" */
function quotesIn(text: string): Quote[] {
  return [...text.matchAll(/`([^`]+)`: ((?:"[^"]+"(?:, )?)+)/g)].flatMap(([, file, titles]) =>
    [...titles!.matchAll(/"([^"]+)"/g)].map(([, title]) => ({ file: file!, title: title! })),
  );
}

/** Whether a call has this title as its first argument, as those of `test`, `describe` and `test.step` have. */
function hasTest(source: string, title: string): boolean {
  return ['"', "'", "`"].some((mark) => {
    const before = source.split(`${mark}${title}${mark}`).slice(0, -1);
    return before.some((text) => text.trimEnd().endsWith("("));
  });
}

/** The cells of a table's rows, without heads and lines. */
function rowsOf(text: string): string[][] {
  return text.split("\n").flatMap((line) => {
    const row = /^\| (.+) \|$/.exec(line)?.[1];
    if (row === undefined || /^[-| ]+$/.test(row)) return [];
    return [row.split(" | ").map((cell) => cell.trim())];
  });
}

describe.each(PAGES)("%s", (page) => {
  const text = readFileSync(page, "utf8");

  test("names files that are there", () => {
    expect(filesIn(text).filter((file) => !isThere(file))).toEqual([]);
  });

  test("leads to pages and headings that are there", () => {
    const broken = linksIn(text, page).filter(
      ({ file, heading }) => !isThere(file) || (heading !== "" && !headingsOf(file).includes(heading)),
    );
    expect(broken).toEqual([]);
  });

  test("quotes tests that are there", () => {
    const missing = quotesIn(text).filter(
      ({ file, title }) => !TEST_FILE.test(file) || !isThere(file) || !hasTest(textAt(file), title),
    );
    expect(missing).toEqual([]);
  });
});

describe("the threat model", () => {
  const page = readFileSync("docs/threat-model.md", "utf8");
  const boundaries = page
    .split(/^### (?=\d\. )/m)
    .slice(1)
    .map((part) => part.split(/^## /m)[0]!);
  const threats = boundaries.flatMap(rowsOf).filter(([threat]) => threat !== "threat");

  test("has a table for each boundary, and tests for each control", () => {
    expect(boundaries.map((part) => part.slice(0, 1))).toEqual(["1", "2", "3", "4", "5", "6", "7", "8"]);
    expect(boundaries.filter((part) => rowsOf(part).length < 3)).toEqual([]);
    expect(threats.length).toBeGreaterThan(60);
    const untested = threats.filter((row) => {
      const [, control = "", where = "", tests = ""] = row;
      const open = control.includes("#residual-risks");
      return (
        row.length !== 4 ||
        (!open && (filesIn(where).length === 0 || !filesIn(tests).some((file) => TEST_FILE.test(file))))
      );
    });
    expect(untested).toEqual([]);
  });
});

describe("these tests find", () => {
  test("a file, a heading and a test that are not there", () => {
    expect(filesIn("see `lib/nowhere.ts`, `PARKADE_URL` and `/api/v1/events`")).toEqual(["lib/nowhere.ts"]);
    expect(isThere("lib/nowhere.ts")).toBe(false);
    expect(isThere("lib/guard")).toBe(true);
    expect(linksIn("[a](api.md#no) [b](https://x.example) [c](../README.md)", "docs/asvs.md")).toEqual([
      { file: "docs/api.md", heading: "no" },
      { file: "README.md", heading: "" },
    ]);
    expect(headingsOf("docs/threat-model.md")).toContain("what-the-operator-does");
    expect(quotesIn('`a.test.ts`: "one", "two: 2"; `b.test.ts`: "three"')).toEqual([
      { file: "a.test.ts", title: "one" },
      { file: "a.test.ts", title: "two: 2" },
      { file: "b.test.ts", title: "three" },
    ]);
    expect(hasTest('test("one (1)", () => {})', "one (1)")).toBe(true);
    expect(hasTest('const title = "one"; // test(two)', "one")).toBe(false);
  });
});
