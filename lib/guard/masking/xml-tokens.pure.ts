export type XmlToken = { kind: "tag" | "text"; start: number; end: number };

/**
 * The tags and texts of a text that looks like XML; a section of CDATA is a text. A `<` that nothing closes is left out. By `indexOf`:
 * a pattern would search the rest of the text again after each `<`.
 */
export function* xmlTokens(text: string): Generator<XmlToken> {
  const tags = endOf(text, ">");
  const sections = endOf(text, "]]>");
  for (let at = 0; at < text.length; ) {
    if (text[at] !== "<") {
      const next = text.indexOf("<", at);
      const end = next < 0 ? text.length : next;
      yield { kind: "text", start: at, end };
      at = end;
      continue;
    }
    const isSection = text.startsWith(CDATA, at);
    const end = (isSection ? sections(at + CDATA.length) : null) ?? tags(at);
    if (end !== null) yield { kind: isSection ? "text" : "tag", start: at, end };
    at = end ?? at + 1;
  }
}

const CDATA = "<![CDATA[";

/** Where the next `mark` after a place ends; null = there is none, and none is looked for any more. */
function endOf(text: string, mark: string): (from: number) => number | null {
  let isLeft = true;
  return (from) => {
    const found = isLeft ? text.indexOf(mark, from) : -1;
    isLeft = found >= 0;
    return isLeft ? found + mark.length : null;
  };
}
