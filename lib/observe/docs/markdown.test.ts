import { globSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type Block, blocksOf, hrefOf, spansOf } from "./markdown.pure";

test("blocks", () => {
  const text = [
    "# A title, with `code`",
    "",
    "One line",
    "and its next.",
    "",
    "1. First",
    "   of two lines:",
    "",
    "   ```sh",
    "   # no heading",
    "   ```",
    "2. Second",
    "   - inner",
    "",
    "| a    | b     |",
    "| ---- | ----- |",
    "| `x`  | y \\| z |",
  ].join("\n");
  expect(blocksOf(text)).toEqual([
    { kind: "heading", level: 1, text: "A title, with `code`", id: "a-title-with-code" },
    { kind: "paragraph", text: "One line and its next." },
    {
      kind: "list",
      ordered: true,
      items: [
        [
          { kind: "paragraph", text: "First of two lines:" },
          { kind: "code", text: "# no heading" },
        ],
        [
          { kind: "paragraph", text: "Second" },
          { kind: "list", ordered: false, items: [[{ kind: "paragraph", text: "inner" }]] },
        ],
      ],
    },
    { kind: "table", head: ["a", "b"], rows: [["`x`", "y | z"]] },
  ]);
});

test("spans: what stands in code is no mark", () => {
  expect(spansOf("a `**b** [c](d)` **e `f`** _g_ snake_case_name [`h` i](../j.md#k)")).toEqual([
    { kind: "text", text: "a " },
    { kind: "code", text: "**b** [c](d)" },
    { kind: "text", text: " " },
    { kind: "strong", text: "e `f`" },
    { kind: "text", text: " " },
    { kind: "em", text: "g" },
    { kind: "text", text: " snake_case_name " },
    { kind: "link", text: "`h` i", to: "../j.md#k" },
  ]);
});

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
  const blocks = blocksOf(readFileSync(file, "utf8"));
  const path = file.slice("docs/".length, -".md".length).split("/");
  const spans = textsOf(blocks).flatMap((text) => inner(text));

  test("has one title, leaves no mark unread, and links to pages and headings that exist", () => {
    expect(blocks.filter((block) => block.kind === "heading" && block.level === 1)).toHaveLength(1);
    const left = spans.filter((span) => span.kind === "text" && /`|\*\*|\]\(|^\s*(#|>|\|)/.test(span.text));
    expect(left).toEqual([]);
    for (const span of spans) {
      const href = span.kind === "link" ? hrefOf(span.to, path) : null;
      if (href === null || href.startsWith("http")) continue;
      const [page, anchor] = href.split("#");
      const named = page === "" ? file : `docs/${page!.replace(/^\/(docs\/)?/, "")}.md`;
      const ids = blocksOf(readFileSync(named, "utf8")).flatMap((block) => (block.kind === "heading" ? block.id : []));
      if (anchor !== undefined) expect(ids, href).toContain(anchor);
    }
  });
});

function textsOf(blocks: readonly Block[]): string[] {
  return blocks.flatMap((block) => {
    if (block.kind === "list") return block.items.flatMap(textsOf);
    if (block.kind === "table") return [block.head, ...block.rows].flat();
    return block.kind === "code" ? [] : block.text;
  });
}

function inner(text: string): ReturnType<typeof spansOf> {
  return spansOf(text).flatMap((span) =>
    span.kind === "text" || span.kind === "code"
      ? span
      : span.kind === "link"
        ? [span, ...inner(span.text)]
        : inner(span.text),
  );
}
