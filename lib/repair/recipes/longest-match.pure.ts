/** Texts in order; `longestPrefix`: for each the index of the longest other text that it begins with, -1 = there is none. */
export type TextIndex = { sorted: readonly string[]; longestPrefix: readonly number[] };

export function indexTexts(texts: Iterable<string>): TextIndex {
  const sorted = [...new Set(texts)].sort();
  const longestPrefix: number[] = [];
  for (let at = 0; at < sorted.length; at++) {
    let prefix = at - 1;
    while (prefix >= 0 && !sorted[at]!.startsWith(sorted[prefix]!)) prefix = longestPrefix[prefix]!;
    longestPrefix.push(prefix);
  }
  return { sorted, longestPrefix };
}

/**
 * The beginning of a text, of a little more than `charsMax` characters; where texts of the index stand, `by` replaces the longest.
 * A payload decides how many texts there are, so each character that is shown costs one binary search among them, and the number of
 * the texts does not multiply the work.
 */
export function replaceLongestMatches(
  text: string,
  index: TextIndex,
  { by, charsMax }: { by: string; charsMax: number },
): string {
  let shown = "";
  for (let at = 0; at < text.length && shown.length <= charsMax; ) {
    const length = matchLength(text, at, index);
    shown += length === 0 ? text[at] : by;
    at += length || 1;
  }
  return shown;
}

/**
 * Length of the longest text of the index that stands at `at`; 0 = none does. Every one that does is a prefix of the text that comes
 * last in order before the rest of `text`.
 */
function matchLength(text: string, at: number, { sorted, longestPrefix }: TextIndex): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const other = sorted[middle]!;
    if (other <= text.slice(at, at + other.length)) low = middle + 1;
    else high = middle;
  }
  let found = low - 1;
  while (found >= 0 && !text.startsWith(sorted[found]!, at)) found = longestPrefix[found]!;
  return found < 0 ? 0 : sorted[found]!.length;
}
