type TextPart = { at: number; text: string; match: boolean };

/** A text, cut at the first `max` occurrences of the searched text, in any case. All parts are kept. */
export function splitByMatches(text: string, words: string, max: number): TextPart[] {
  const lower = text.toLowerCase();
  const wanted = words.toLowerCase();
  // Some letters have a longer lower case, and the offsets would then be wrong.
  if (wanted === "" || lower.length !== text.length) return [{ at: 0, text, match: false }];
  const parts: TextPart[] = [];
  let from = 0;
  for (let found = 0; found < max; found += 1) {
    const at = lower.indexOf(wanted, from);
    if (at === -1) break;
    if (at > from) parts.push({ at: from, text: text.slice(from, at), match: false });
    parts.push({ at, text: text.slice(at, at + wanted.length), match: true });
    from = at + wanted.length;
  }
  if (from < text.length) parts.push({ at: from, text: text.slice(from), match: false });
  return parts;
}
