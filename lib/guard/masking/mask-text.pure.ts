import { detect, type Found, maskParts, withoutOverlaps } from "./detectors.pure";
import { type MaskSet, NOTHING_MASKED, ruleOfTextName } from "./mask-rule.pure";

/** A name before `=` or `:`. Backslashes before a quotation mark: the text of a JSON string that holds JSON. */
const NAME_BEFORE_VALUE =
  /(?<![\p{L}\p{N}_-])[\p{L}\p{N}_][\p{L}\p{N}_-]{0,99}(?=((?:\\{0,7}["'])?\s{0,3}(?:=|:(?!\/\/))\s{0,3}))/gu;
const QUOTED = /(\\{0,7})(["'])/y;
const WORD = /[^\s,;&}"']+/y;
const SCHEME = /^(?:Bearer|Basic)$/i;

/** What a text must hold for anything in it to be masked. Most strings of a payload have none of it. */
const CLUE = /[=:@%\\<_]|\d[ -]?\d|eyJ|bearer|basic|A[KS]IA|AIza|-----B|xox|glpat/i;

/** What is masked in a text of any kind: values after names that a rule masks, and what the detectors find. */
export function findInText(text: string, set: MaskSet): Found[] {
  if (!CLUE.test(text)) return [];
  const found = detect(text, set);
  const names = new RegExp(NAME_BEFORE_VALUE);
  for (let name = names.exec(text); name; name = names.exec(text)) {
    const by = ruleOfTextName(set, name[0]);
    if (by === null) continue;
    const start = names.lastIndex + name[1]!.length;
    const end = endOfValue(text, start);
    const value = text.slice(start, end);
    if (value === "" || SCHEME.test(value)) continue;
    if (value !== "null") found.push({ start, end, by });
    names.lastIndex = end;
  }
  return withoutOverlaps(/^\s{0,100}</.test(text) ? found.concat(findInXml(text, set)) : found);
}

/** The end of the value that begins here: of a quotation, or of a word. What no quotation mark ends, as in a text that was cut, goes to the end. */
function endOfValue(text: string, start: number): number {
  const opening = matchAt(QUOTED, text, start);
  if (opening === null) return start + (matchAt(WORD, text, start)?.[0].length ?? 0);
  const [{ length }, escapes, mark] = opening as unknown as [string, string, string];
  const from = start + length;
  for (let at = text.indexOf(mark, from); at >= 0; at = text.indexOf(mark, at + 1)) {
    let escaped = at;
    while (escaped > from && text[escaped - 1] === "\\") escaped--;
    const more = at - escaped - escapes.length;
    // Fewer: the string around it ends. More: an escaped mark, unless they are escaped backslashes before the end.
    if (more < 0) return escaped;
    // SQL doubles a mark that it escapes.
    if (escapes === "" && text[at + 1] === mark) at++;
    else if (more % (2 * escapes.length + 2) === 0) return at + 1;
  }
  return text.length;
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** Characters of a text that are searched, which takes a few milliseconds. The rest of a longer text is masked. */
export const SEARCHED_MAX = 262_144;
/** Characters behind them that are looked at, so that half of what stands there is not shown. */
const BEYOND = 4_096;

/** The same in a text of any length: what is not searched is masked. */
export function findInLongText(text: string, set: MaskSet): Found[] {
  if (text.length <= SEARCHED_MAX || set === NOTHING_MASKED) return findInText(text, set);
  const found = findInText(text.slice(0, SEARCHED_MAX + BEYOND), set);
  found.push({ start: SEARCHED_MAX, end: text.length, by: "too long" });
  return withoutOverlaps(found.filter(({ start }) => start <= SEARCHED_MAX));
}

/** The text with what the rules mask replaced. */
export function maskText(text: string, set: MaskSet): string {
  return maskParts(text, findInLongText(text, set));
}

const CREDENTIALS: MaskSet = { ...NOTHING_MASKED, detectors: new Set(["secret-names", "token"]) };

/** An error's text with what looks like a credential masked, whatever the rules: `password=...`, `"token": "..."`, `Bearer ...`, `//user:pass@`. */
export function redactText(text: string): string {
  return maskText(text, CREDENTIALS);
}

const DEPTH_MAX = 1_000;

/** The text of elements whose name, or the name of one around them, a rule masks. */
function findInXml(text: string, set: MaskSet): Found[] {
  const found: Found[] = [];
  const open: (string | null)[] = [];
  for (const { kind, start, end } of xmlTokens(text)) {
    if (kind === "text") {
      const by = open.at(-1) ?? null;
      if (by !== null && text.slice(start, end).trim() !== "") found.push({ start, end, by });
    } else if (text[start + 1] === "/") open.pop();
    else if (text[end - 2] !== "/" && text[start + 1] !== "!" && text[start + 1] !== "?" && open.length < DEPTH_MAX)
      open.push(open.at(-1) ?? ruleOfTextName(set, elementName(text.slice(start, start + TAG_NAME_MAX))));
  }
  return found;
}

const TAG_NAME_MAX = 202;

function elementName(tag: string): string {
  return /^<(?:[\p{L}\p{N}_.-]{1,100}:)?([\p{L}\p{N}_.-]{1,100})/u.exec(tag)?.[1] ?? "";
}

type XmlToken = { kind: "tag" | "text"; start: number; end: number };

/**
 * The tags and texts of a text that looks like XML; a section of CDATA is a text. A `<` that nothing closes is left out. By `indexOf`:
 * a pattern would search the rest of the text again after each `<`.
 */
function* xmlTokens(text: string): Generator<XmlToken> {
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
