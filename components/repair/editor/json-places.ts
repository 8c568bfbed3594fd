import { type Node, type ParseError, type ParseErrorCode, parseTree, printParseErrorCode } from "jsonc-parser";

/** A finding about a payload, at a JSON pointer (RFC 6901). */
export type PointedProblem = { pointer: string; message: string };

/** A finding at a range of the text, in UTF-16 units. */
export type PlacedProblem = { from: number; to: number; message: string; severity: "error" | "warning" };

export type JsonText = { root: Node | null; problems: PlacedProblem[] };

/** A longer text is not parsed after each change: typing would stutter. The server checks it when it is saved. */
export const CHECKED_CHARS_MAX = 2_000_000;

/** Errors of a broken text beyond this number say nothing new. */
const ERRORS_MAX = 20;

const STRICT = { disallowComments: true, allowTrailingComma: false, allowEmptyContent: false };

const MESSAGES: Partial<Record<ReturnType<typeof printParseErrorCode>, string>> = {
  InvalidSymbol: "This is not a JSON value: strings need double quotes",
  InvalidNumberFormat: "This is not a JSON number",
  PropertyNameExpected: "A name in double quotes is missing here",
  ValueExpected: "A value is missing here",
  ColonExpected: "A colon is missing here",
  CommaExpected: "A comma is missing here",
  CloseBraceExpected: "A } is missing here",
  CloseBracketExpected: "A ] is missing here",
  EndOfFileExpected: "Unexpected content after the end of the JSON",
  InvalidCommentToken: "Comments are not allowed in JSON",
  UnexpectedEndOfComment: "Comments are not allowed in JSON",
  UnexpectedEndOfString: "This string has no closing double quote",
  UnexpectedEndOfNumber: "This number is not complete",
  InvalidUnicode: "\\u needs four hexadecimal digits",
  InvalidEscapeCharacter: "This escape is not allowed: use \\\\ for a backslash",
  InvalidCharacter: "A control character must be written as an escape, such as \\n",
};

/** The syntax tree of a JSON text and its problems: errors of the syntax, and names that stand twice in one object. */
export function readJson(text: string): JsonText {
  const errors: ParseError[] = [];
  try {
    const root = parseTree(text, errors, STRICT) ?? null;
    const problems = errors.slice(0, ERRORS_MAX).map((error) => placedError(error, text.length));
    if (problems.length > 0 || root === null) return { root, problems };
    return { root, problems: refusedByParse(text) ?? repeatedNames(root) };
  } catch (error) {
    // The parser recurses: a text of 10,000 open brackets ends its stack.
    if (!(error instanceof RangeError)) throw error;
    return { root: null, problems: [whole(text, "This is nested too deeply to be checked here", "warning")] };
  }
}

function placedError({ error, offset, length }: ParseError, end: number): PlacedProblem {
  const name = printParseErrorCode(error as ParseErrorCode);
  const from = Math.min(offset, Math.max(end - 1, 0));
  return {
    from,
    to: Math.min(Math.max(offset + length, from + 1), end),
    message: MESSAGES[name] ?? name,
    severity: "error",
  };
}

/** `JSON.parse` decides what JSON is: the server and most consumers use its rules. */
function refusedByParse(text: string): PlacedProblem[] | null {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return [whole(text, error instanceof Error ? error.message : "This is not valid JSON", "error")];
  }
}

const whole = (text: string, message: string, severity: PlacedProblem["severity"]): PlacedProblem => ({
  from: 0,
  to: Math.min(text.length, 1),
  message,
  severity,
});

function repeatedNames(root: Node): PlacedProblem[] {
  const problems: PlacedProblem[] = [];
  const stack = [root];
  for (let node = stack.pop(); node; node = stack.pop()) {
    const names = new Set<string>();
    for (const child of node.children ?? []) {
      if (child.type !== "property") {
        stack.push(child);
        continue;
      }
      const [key, value] = child.children ?? [];
      if (key && names.has(key.value)) {
        const message = `The name ${JSON.stringify(key.value)} appears twice in this object: most consumers read the last one`;
        problems.push({ from: key.offset, to: key.offset + key.length, message, severity: "warning" });
      }
      if (key) names.add(key.value);
      if (value) stack.push(value);
    }
  }
  return problems.slice(0, ERRORS_MAX);
}

/** The names and indexes of a JSON pointer. */
function pointerKeys(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/**
 * The place of a pointer in the text: a scalar whole, the name or the opening bracket of an object or array. A pointer
 * to a missing value gets the place of the nearest value that encloses it.
 */
export function placeOf(root: Node, pointer: string): { from: number; to: number } {
  let node = root;
  let name: Node | undefined;
  for (const key of pointerKeys(pointer)) {
    const found = childAt(node, key);
    if (found === null) break;
    ({ value: node, name } = found);
  }
  const scalar = node.type !== "object" && node.type !== "array";
  const shown = scalar ? node : (name ?? { offset: node.offset, length: 1 });
  return { from: shown.offset, to: shown.offset + shown.length };
}

/** Of a repeated name the last value: parsers keep that one, so the schema was checked against it. */
function childAt(node: Node, key: string): { value: Node; name: Node | undefined } | null {
  if (node.type === "object") {
    const member = node.children?.findLast(({ children }) => children?.[0]?.value === key);
    const value = member?.children?.[1];
    return value ? { value, name: member?.children?.[0] } : null;
  }
  const value = node.type === "array" && /^\d+$/.test(key) ? node.children?.[Number(key)] : undefined;
  return value ? { value, name: undefined } : null;
}

/** Findings of the schema as problems of the text. */
export function placeAll(root: Node, problems: readonly PointedProblem[]): PlacedProblem[] {
  return problems.map(({ pointer, message }) => ({
    ...placeOf(root, pointer),
    message: pointer === "" ? message : `${pointer} ${message}`,
    severity: "error" as const,
  }));
}
