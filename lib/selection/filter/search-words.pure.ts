import { REDACTED } from "@/lib/guard/redaction/redact.pure";

/**
 * The different words of a search, the longest first: few events hold it. Quotes, slashes and all other signs belong to a word; a
 * mask does not, since it is copied with the words around it.
 */
export function wordsOf(q: string): string[] {
  const words = q.split(/\s+/).flatMap((word) => word.split(REDACTED));
  return [...new Set(words)].filter((word) => word !== "").sort((a, b) => b.length - a.length);
}

/** The pattern of LIKE for a text that holds the word. */
export function likePattern(word: string): string {
  return `%${word.replace(/[\\%_]/g, "\\$&")}%`;
}

/** Whether each word occurs in a text, whatever its case. */
export function holdsWords(text: string, words: readonly string[]): boolean {
  const lower = text.toLowerCase();
  return words.every((word) => lower.includes(word.toLowerCase()));
}
