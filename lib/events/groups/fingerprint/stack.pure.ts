import { type Frame, frameText, lineAt } from "./frame.pure";
import { frameAt, phpFunction, phpPosition } from "./frames.pure";

/**
 * The frames of the failed code are near the top (in Python: the bottom); a recursion has thousands of frames. Reading takes time
 * in proportion to what is read.
 */
export const STACK_CHARS = 32_768;
const FRAME_CHARS_MAX = 300;

export type Thrown = { type: string | null; message: string };

export type StackRead = {
  /** What the deepest cause says; null = the stack names no cause. */
  cause: Thrown | null;
  /** The first frame of the application's own code, looked for from the deepest cause on; the first of all when none is its own. */
  frame: string | null;
};

/** Lines of a stack in the order in which its frames are looked at. */
type Part = { from: number; to: number; lastFirst: boolean };
type Chain = { cause: Thrown | null; parts: Part[] };

/** Failures of one kind repeat their stack: the last ones are not read again. Those that are longer would hold too much memory. */
const known = new Map<string, StackRead>();
const KNOWN_MAX = 200;
const KNOWN_CHARS_MAX = 16_384;

export function readStack(stack: string): StackRead {
  if (stack.length > KNOWN_CHARS_MAX) return readAnew(stack);
  let read = known.get(stack);
  if (read === undefined) {
    read = readAnew(stack);
    if (known.size === KNOWN_MAX) known.clear();
    known.set(stack, read);
  }
  return read;
}

function readAnew(stack: string): StackRead {
  const read = stack.slice(0, STACK_CHARS);
  const unix = read.includes("\r") ? read.replaceAll("\r\n", "\n") : read;
  // Erlang prints all frames of a term on one line.
  const text = unix.includes("[{") ? unix.replaceAll("}]},{", "}]},\n{") : unix;
  const lines = text.split("\n");
  const { cause, parts } = chainOf(text, lines);
  return { cause, frame: firstOwnFrame(lines, parts) ?? panicPlace(lines) };
}

function firstOwnFrame(lines: readonly string[], parts: readonly Part[]): string | null {
  const foreign: [frame: Frame, index: number][] = [];
  for (const { from, to, lastFirst } of parts) {
    for (let step = 0; step < to - from; step++) {
      const index = lastFirst ? to - 1 - step : from + step;
      const frame = frameAt(lines, index);
      if (frame === null) continue;
      if (frame.library) foreign.push([frame, index]);
      else {
        const text = wholeFrame(frame, lines, index);
        if (text !== null) return text;
      }
    }
  }
  for (const [frame, index] of foreign) {
    const text = wholeFrame(frame, lines, index);
    if (text !== null) return text;
  }
  return null;
}

function wholeFrame(frame: Frame, lines: readonly string[], index: number): string | null {
  const name = frame.name ?? phpName(lines, index);
  if (name === undefined) return null;
  return frameText({ ...frame, name })?.slice(0, FRAME_CHARS_MAX) ?? null;
}

/** The name of a frame without one: of PHP the function that the next line calls; undefined = the next line is the same frame. */
function phpName(lines: readonly string[], index: number): string | null | undefined {
  const text = lineAt(lines, index);
  const position = phpPosition(text);
  if (position === null) return null;
  for (let next = index + 1; next <= index + 2; next++) {
    const below = lineAt(lines, next);
    if (!below.startsWith("#")) continue;
    if (!text.startsWith("#") && phpPosition(below) === position) return undefined;
    return phpFunction(below);
  }
  return null;
}

/** A panic of Rust without a backtrace has a place alone. */
function panicPlace(lines: readonly string[]): string | null {
  for (let index = 0; index < Math.min(lines.length, 4); index++) {
    const match = /panicked at (?:'.{0,400}', )?([\w./\\-]+\.rs):[0-9]+/.exec(lines[index]!.slice(0, 1_000));
    if (match) return match[1]!;
  }
  return null;
}

/** `Type: message`, `Type`, or a message alone. */
function thrownOf(line: string): Thrown {
  const text = line.trim().slice(0, 2_000);
  const match =
    /^(?:\([^)]{1,60}\) )?([\p{L}_$][\p{L}\p{N}_.$\\:/#-]{0,400}?)(?:\([^)]{0,40}\))?(?:: ([\s\S]*))?$/u.exec(text);
  if (match === null) return { type: null, message: text };
  return { type: match[1]!, message: match[2] ?? "" };
}

/** What the first line of a stack says. */
export function thrownAtTop(stack: string): Thrown | null {
  const first = stack.slice(0, STACK_CHARS).trimStart().split("\n", 1)[0];
  return first === undefined || first === ""
    ? null
    : thrownOf(first.replace(/^Exception in thread "[^"]{0,200}" |^(?:PHP )?(?:Fatal error: {1,2})?Uncaught /, ""));
}

const whole = (lines: readonly string[], lastFirst = false): Part[] => [{ from: 0, to: lines.length, lastFirst }];

/** The causes of a stack, the deepest first. */
function chainOf(text: string, lines: readonly string[]): Chain {
  // A rare character is found many times faster than a word.
  const has = (char: string, word: string) => text.includes(char) && text.includes(word);
  if (has('"', 'File "') && text.includes(", line ")) return pythonChain(text, lines);
  if (text.includes("Caused by:")) return causedBy(lines);
  if (has(">", "---> ")) return innerException(lines);
  if (has("]", "cause]: ") || has("{", "  cause: ")) return nodeChain(lines);
  if (has("[", "[previous exception]")) return lastHeader(lines, /^\[previous exception\] \[object\] \((.+)$/);
  if (text.includes("\nNext ")) return firstHeader(lines);
  if (has("W", "Wrapped by:")) return firstHeader(lines);
  if (has("*", "** (")) return lastHeader(lines, /^\*\* (\(.+)$/, 1);
  if (has("'", ":in ") && text.includes("(")) return rubyChain(lines);
  return { cause: null, parts: whole(lines) };
}

/** `Caused by: type: message`, as deep as the first line; suppressed exceptions have their own causes, which are deeper. */
function causedBy(lines: readonly string[]): Chain {
  const indent = lines[0]!.length - lines[0]!.trimStart().length;
  const parts: Part[] = [];
  let to = lines.length;
  let cause: Thrown | null = null;
  for (let index = lines.length - 1; index >= 0; index--) {
    const line = lines[index]!;
    const at = line.indexOf("Caused by:");
    if (at < 0 || at > indent || line.slice(0, at).trim() !== "") continue;
    const header = line.slice(at + 10).trim();
    cause ??= header === "" ? listedCause(lines, index + 1) : thrownOf(header);
    parts.push({ from: index, to, lastFirst: false });
    to = index;
  }
  parts.push({ from: 0, to, lastFirst: false });
  return { cause, parts };
}

/** anyhow lists the causes below the words, the deepest last. */
function listedCause(lines: readonly string[], from: number): Thrown | null {
  let last: string | null = null;
  for (let index = from; index < lines.length && /^\s+\S/.test(lines[index]!); index++) last = lines[index]!;
  return last === null ? null : { type: null, message: last.replace(/^\s*(?:[0-9]+: )?/, "") };
}

/** .NET writes the inner exceptions and then the frames, the innermost first. */
function innerException(lines: readonly string[]): Chain {
  let found = -1;
  let header = "";
  for (let index = 0; index < lines.length; index++) {
    const arrow = lines[index]!.lastIndexOf(" ---> ");
    if (arrow >= 0 && !(found >= 0 && lines[index]!.includes("(Inner Exception #"))) {
      found = index;
      header = lines[index]!.slice(arrow + 6);
      // `... can be invoked with the available services:`: the sentence continues on the next line.
      if (header.endsWith(":")) header += ` ${lineAt(lines, index + 1)}`;
    } else if (found >= 0 && frameAt(lines, index) !== null) break;
  }
  if (found < 0) return { cause: null, parts: whole(lines) };
  const cause = thrownOf(header.replace(/^\(Inner Exception #[0-9]+\) /, ""));
  return {
    cause,
    parts: [
      { from: found + 1, to: lines.length, lastFirst: false },
      { from: 0, to: found + 1, lastFirst: false },
    ],
  };
}

/** The cause that a line names last; its frames follow. `least` = how many such lines there are without any cause. */
function lastHeader(lines: readonly string[], pattern: RegExp, least = 0): Chain {
  let found = -1;
  let count = 0;
  let header = "";
  for (let index = 0; index < lines.length; index++) {
    const match = pattern.exec(lines[index]!.slice(0, 1_000).trim());
    if (match === null) continue;
    found = index;
    count++;
    header = match[1]!;
  }
  if (count <= least) return { cause: null, parts: whole(lines) };
  const elixir = /^\(([\w.]+)\) (.*)$/.exec(header);
  const cause = elixir
    ? { type: elixir[1]!, message: elixir[2]! }
    : thrownOf(header.replace(/ at \/\S+:[0-9]+\)$/, ""));
  return {
    cause,
    parts: [
      { from: found, to: lines.length, lastFirst: false },
      { from: 0, to: found, lastFirst: false },
    ],
  };
}

/** `[cause]: Error: ...`, whose `code` explains an AggregateError without a message. */
function nodeChain(lines: readonly string[]): Chain {
  const { cause, parts } = lastHeader(lines, /^(?:\[cause\]|cause): (.+)$/);
  if (cause === null || cause.message !== "") return { cause, parts };
  const { from, to } = parts[0]!;
  const code = lines.slice(from, to).find((line) => line.trimStart().startsWith("code: '"));
  return { cause: { ...cause, message: code?.trim().slice(6).replace(/[',]/g, "") ?? "" }, parts };
}

/** PHP, and the JVM with the root cause first, begin with the deepest. */
function firstHeader(lines: readonly string[]): Chain {
  const first = lines.find((line) => line.trim() !== "") ?? "";
  return {
    cause: thrownOf(first.replace(/ in \/\S+:[0-9]+$/, "").replace(/^(?:PHP )?(?:Fatal error: {1,2})?Uncaught /, "")),
    parts: whole(lines),
  };
}

/** Ruby: `file:12:in 'perform': message (Type)`, and once more for each cause. */
function rubyChain(lines: readonly string[]): Chain {
  let found = -1;
  let count = 0;
  let cause: Thrown | null = null;
  for (let index = 0; index < lines.length; index++) {
    const match = /:[0-9]+:in [`'][^']+': (.*) \(([A-Z][\w:]*)\)$/.exec(lines[index]!.slice(0, 1_000));
    if (match === null) continue;
    count++;
    found = index;
    cause = { type: match[2]!, message: match[1]! };
  }
  if (count < 2) return { cause: null, parts: whole(lines) };
  return {
    cause,
    parts: [
      { from: found, to: lines.length, lastFirst: false },
      { from: 0, to: found, lastFirst: false },
    ],
  };
}

const PYTHON_LINK = /direct cause of the following|During handling of the above/;

/** Python prints the cause first and, in each traceback, the most recent call last. */
function pythonChain(text: string, lines: readonly string[]): Chain {
  const ends: number[] = [];
  const linked = text.includes("direct cause of the following") || text.includes("During handling of the above");
  const group = text.includes("+---------------- 1 ---");
  if (!linked && !group) return { cause: null, parts: whole(lines, true) };
  const parts: Part[] = [];
  let outer = 0;
  if (group) {
    const from = lines.findIndex((line) => line.includes("+---------------- 1 ---"));
    const next = lines.findIndex((line, index) => index > from && /\+-{4,}/.test(line));
    parts.push({ from, to: next < 0 ? lines.length : next, lastFirst: true });
    outer = 0;
    parts.push({ from: 0, to: from, lastFirst: true });
    return { cause: pythonThrown(lines, parts[0]!), parts };
  }
  for (let index = 0; index < lines.length; index++)
    if (PYTHON_LINK.test(lines[index]!.slice(0, 200))) ends.push(index);
  for (const end of [...ends, lines.length]) {
    parts.push({ from: outer, to: end, lastFirst: true });
    outer = end + 1;
  }
  return { cause: pythonThrown(lines, parts[0]!), parts };
}

/** The line behind the frames of a traceback. */
function pythonThrown(lines: readonly string[], { from, to }: Part): Thrown | null {
  let last = from;
  for (let index = from; index < to; index++) if (lineAt(lines, index).startsWith('File "')) last = index;
  for (let index = last + 1; index < to; index++) {
    const text = lineAt(lines, index);
    if (/^[A-Za-z_][\w.]*(?:: |$)/.test(text) && !/^\s{4,}/.test(lines[index]!.replace(/^[\s|]*\| /, "")))
      return thrownOf(text);
  }
  return null;
}

type StackLine = { text: string; kind: "own" | "foreign" | "text" };

/**
 * The first STACK_CHARS of a stack, line by line: frames of the application, frames of runtimes and libraries, and other
 * lines.
 */
export function stackLines(stack: string): StackLine[] {
  const lines = stack.slice(0, STACK_CHARS).split("\n");
  return lines.map((text, index) => {
    const frame = frameAt(lines, index);
    return { text, kind: frame === null ? "text" : frame.library ? "foreign" : "own" };
  });
}
