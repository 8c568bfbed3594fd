import { sourcePath } from "./source-path.pure";

/** One frame: the name without the parts that a compiler or a proxy adds. */
export type Frame = { name: string | null; path: string | null; library: boolean };

/** A line is truncated before it is read, and no expression here backtracks: the sender controls the stack. */
export const LINE_CHARS_MAX = 1_000;

/** The text of a line without the bars that a Python exception group draws before it. */
export function lineAt(lines: readonly string[], index: number): string {
  const line = lines[index];
  if (line === undefined) return "";
  const text = line.slice(0, LINE_CHARS_MAX).trim();
  return text.charCodeAt(0) === 124 ? text.replace(/^(?:\| *)+/, "") : text;
}

/** The name, and the part of the path that is the same in every build. */
export function frameText({ name, path }: Frame): string | null {
  const file = path === null ? null : sourcePath(path);
  if (name === null) return file;
  return file === null ? name : `${name} (${file})`;
}

/** The text without a trailing `:12:5`, and what was cut. */
export function withoutPosition(text: string): [place: string, line: number, column: number] {
  let end = text.length;
  const numbers: number[] = [];
  for (let at = end - 1; at >= 0; at--) {
    const code = text.charCodeAt(at);
    if (code === 58 && at < end - 1 && numbers.length < 2) {
      numbers.unshift(Number(text.slice(at + 1, end)));
      end = at;
    } else if (code < 48 || code > 57) break;
  }
  return [text.slice(0, end), numbers[0] ?? 0, numbers[1] ?? 0];
}
