import { visible } from "@/lib/platform/plain/format.pure";

type Cell = string | number | null;
type CellField<Row> = { [Field in keyof Row & string]: Row[Field] extends Cell | undefined ? Field : never }[keyof Row &
  string];

/** The name of a field, or a title and what stands below it. */
export type Column<Row> = CellField<Row> | readonly [title: string, of: CellField<Row> | ((row: Row) => Cell)];

const GAP = "  ";
/** No column becomes narrower than this, however narrow the terminal is. */
const WIDTH_MIN = 6;

/**
 * Rows as text. For a terminal of `columns` characters: aligned, with titles, the widest columns cut until a row fits, but never the
 * first: another command takes its value. For a pipe (null): whole values with tabs between them, without titles.
 */
export function tableText<Row>(rows: readonly Row[], shown: readonly Column<Row>[], columns: number | null): string {
  const cells = rows.map((row) =>
    shown.map((column) => {
      const of = typeof column === "string" ? column : column[1];
      return oneLine(typeof of === "function" ? of(row) : (row[of] as Cell));
    }),
  );
  if (columns === null) return cells.map((row) => `${row.join("\t")}\n`).join("");
  const lines = [shown.map((column) => (typeof column === "string" ? column : column[0]).toUpperCase()), ...cells];
  const widths = shown.map((_, at) => Math.max(...lines.map((line) => lengthOf(line[at]!))));
  const available = columns - GAP.length * (shown.length - 1);
  for (let excess = sum(widths) - available; excess > 0; excess--) {
    const cut = widths.map((width, at) => (at === 0 ? 0 : width));
    const widest = cut.indexOf(Math.max(...cut));
    if (cut[widest]! <= WIDTH_MIN) break;
    widths[widest]!--;
  }
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, at) => fitted(cell, widths[at]!))
          .join(GAP)
          .trimEnd()}\n`,
    )
    .join("");
}

/** `name  value` lines, the values aligned; what is null is left out. */
export function factsText(facts: readonly (readonly [string, string | number | null])[]): string {
  const given = facts.filter(([, value]) => value !== null);
  const width = Math.max(...given.map(([label]) => label.length));
  return given.map(([label, value]) => `${label.padEnd(width)}${GAP}${oneLine(value)}\n`).join("");
}

/** Text of a producer on one line: a control character in it would reach the terminal. */
function oneLine(value: string | number | null): string {
  return visible(
    String(value ?? "")
      .replaceAll(/\s+/g, " ")
      .trim(),
  );
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

/** A letter with its accents, or a joined emoji, is one character. */
const SEGMENTER = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const charactersOf = (text: string) => Array.from(SEGMENTER.segment(text), ({ segment }) => segment);
const lengthOf = (text: string) => charactersOf(text).length;

function fitted(text: string, width: number): string {
  const characters = charactersOf(text);
  const missing = width - characters.length;
  return missing >= 0 ? text + " ".repeat(missing) : `${characters.slice(0, width - 1).join("")}…`;
}

/** Words in lines of at most `width` characters, each after `indent`. */
export function wrapped(text: string, width: number, indent = ""): string {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1)!;
    if (line !== "" && indent.length + line.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines.map((line) => indent + line).join("\n");
}
