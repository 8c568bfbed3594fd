import { globSync, readFileSync } from "node:fs";
import { type MarkedToken, walkTokens } from "marked";
import { describe, expect, test } from "vitest";
import { tokensOf } from "./docs.read";
import { anchorOf, hrefOf } from "./markdown.pure";

test.each([
  ["store-lost.md#before", ["runbooks", "disk-full"], "/runbooks/store-lost#before"],
  ["../sources.md", ["runbooks", "disk-full"], "/docs/sources"],
  ["kit/park.md", ["integrate"], "/docs/kit/park"],
  ["#below", ["operate"], "#below"],
  ["https://example.com/x.md", ["operate"], "https://example.com/x.md"],
  ["adr/0001-x.md", ["operate"], null],
  ["../SECURITY.md", ["operate"], null],
  ["javascript:alert(1)", ["operate"], null],
])("a link to %s on the page %j leads to %s", (to, from, href) => {
  expect(hrefOf(to, from)).toBe(href);
});

describe.each(globSync("docs/{,runbooks/,kit/}*.md"))("%s", (file) => {
  const path = file.slice("docs/".length, -".md".length).split("/");
  const tokens = everyTokenOf(file);

  test("has one title, only what the console shows, and links to pages and headings that exist", () => {
    expect(tokens.filter((token) => token.type === "heading" && token.depth === 1)).toHaveLength(1);
    const html = tokens.filter((token) => token.type === "html" && !token.text.startsWith("<img"));
    expect([...html, ...tokens.filter(({ type }) => !SHOWN.has(type))]).toEqual([]);
    for (const token of tokens) {
      const href = token.type === "link" ? hrefOf(token.href, path) : null;
      if (href === null || href.startsWith("http")) continue;
      const [page, anchor] = href.split("#");
      const named = page === "" ? file : `docs/${page!.replace(/^\/(docs\/)?/, "")}.md`;
      const ids = everyTokenOf(named).flatMap((own) => (own.type === "heading" ? anchorOf(own.text) : []));
      if (anchor !== undefined) expect(ids, href).toContain(anchor);
    }
  });
});

/** Those of app/(observe)/docs/markdown.tsx, and those that it leaves out. */
const SHOWN = new Set(
  "heading paragraph code list list_item table strong em codespan link text escape space html".split(" "),
);

function everyTokenOf(file: string): MarkedToken[] {
  const tokens: MarkedToken[] = [];
  walkTokens(tokensOf(readFileSync(file, "utf8")), (token) => void tokens.push(token as MarkedToken));
  return tokens;
}
