import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { lexer, type MarkedToken } from "marked";

const SEGMENT = /^[a-z][a-z0-9-]{0,60}$/;

/** A page of docs/ as Markdown, by its path, with or without `.md`. null = there is none. */
export async function readDocsPage(asked: readonly string[]): Promise<string | null> {
  const path = asked.map((segment) => segment.replace(/\.md$/, ""));
  if (path.length > 2 || !path.every((segment) => SEGMENT.test(segment))) return null;
  try {
    return await readFile(join(process.cwd(), "docs", `${path.join("/")}.md`), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return null;
  }
}

/** The Markdown of the pages in docs/, which has no HTML but pictures. markdown.test.ts reads every page. */
export const tokensOf = (text: string): MarkedToken[] => lexer(text) as MarkedToken[];

/** The rows of docs/glossary.md, whose emphasis and code are plain text here. */
export async function readGlossary(): Promise<{ word: string; meaning: string }[]> {
  const text = await readDocsPage(["glossary"]);
  return tokensOf(text!).flatMap((token) =>
    token.type === "table"
      ? token.rows.map(([word, meaning]) => ({
          word: word!.text.replaceAll("*", ""),
          meaning: meaning!.text.replaceAll(/[`_]/g, ""),
        }))
      : [],
  );
}
