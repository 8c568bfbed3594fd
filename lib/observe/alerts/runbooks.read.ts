import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DomainError } from "@/lib/platform/plain/problem.pure";

const NAME = /^[a-z][a-z0-9-]{0,60}$/;

/** The text of a runbook, Markdown, as it lies in docs/runbooks. Throws DomainError `unknown-runbook`. */
export async function readRunbook(name: string): Promise<string> {
  try {
    if (NAME.test(name)) return await readFile(join(process.cwd(), "docs", "runbooks", `${name}.md`), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  throw new DomainError("unknown-runbook", `There is no runbook ${JSON.stringify(name)}`, {
    fields: [{ field: "name", detail: "the documentation lists the runbooks" }],
  });
}

/** The rows of docs/glossary.md, whose emphasis and code are plain text here. */
export async function readGlossary(): Promise<{ word: string; meaning: string }[]> {
  const text = await readFile(join(process.cwd(), "docs", "glossary.md"), "utf8");
  const rows = text.matchAll(/^\| \*\*(?<word>[^*]+)\*\* +\| (?<meaning>.*?) +\|$/gm);
  return Array.from(rows, ({ groups }) => ({
    word: groups!.word!,
    meaning: groups!.meaning!.replaceAll(/[`_]/g, ""),
  }));
}
