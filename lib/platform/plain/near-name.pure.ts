/** The known name that was probably meant: it differs in case, or in at most two letters left out, added or mistaken. */
export function nearName(name: string, known: readonly string[]): string | undefined {
  return known.find((one) => isNear(name.toLowerCase(), one.toLowerCase()));
}

/** `a, b and c`. */
export function listOf(names: readonly string[], word: "and" | "or"): string {
  return names.length <= 1 ? (names[0] ?? "") : `${names.slice(0, -1).join(", ")} ${word} ${names.at(-1)}`;
}

/** Letters of a wrong name that are compared. */
const LETTERS_MAX = 64;

function isNear(name: string, known: string): boolean {
  return (
    Math.abs(name.length - known.length) <= 2 &&
    editDistance(name.slice(0, LETTERS_MAX), known.slice(0, LETTERS_MAX)) <= Math.min(2, known.length >> 1)
  );
}

/** Levenshtein's distance: insertions, deletions and substitutions. */
function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, at) => at);
  for (const [at, letter] of [...left].entries()) {
    const next = [at + 1];
    for (let to = 0; to < right.length; to++) {
      next.push(Math.min(next[to]! + 1, row[to + 1]! + 1, row[to]! + (letter === right[to] ? 0 : 1)));
    }
    row = next;
  }
  return row.at(-1)!;
}
