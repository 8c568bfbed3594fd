import type { DeadLetter, DeadLetterError } from "@/lib/intake/dead-letter.pure";
import { hash64 } from "@/lib/platform/plain/hash.pure";

/**
 * Two failures are the same when these are equal: error code, exception type, first stack frame of the application's
 * own code, and message without ids, numbers and quoted text.
 */
export type Fingerprint = {
  /** 16 hex digits. */
  fingerprint: string;
  exceptionType: string | null;
  /** The message with ids, numbers and quoted text replaced: `order-<n> not found in <text>`. */
  pattern: string;
  firstFrame: string | null;
  /** What the groups of a storm have in common: hash of error code, exception type and first frame, without the message. */
  family: string;
};

/** The rules below. A group that an earlier version made is examined again in the background, see `aliases/regroup-events.ts`. */
export const GROUPING_VERSION = 2;

/** The first words of a message say most; the rest is often a dump of the very values that are removed here. */
const MESSAGE_CHARS = 600;
const PATTERN_CHARS_MAX = 300;
const FRAME_CHARS_MAX = 300;
/**
 * The frames of the failed code are near the top (in Python: the bottom); a recursion has thousands of frames. The
 * sender of a failure chooses its stack, so reading must take time in proportion to its length: a line is cut before it
 * is read, and no expression here backtracks.
 */
export const STACK_CHARS = 32_768;
const LINE_CHARS_MAX = 1_000;
const TYPE_CHARS_MAX = 512;

export function fingerprintOf(letter: Pick<DeadLetter, "errorCode" | "error">): Fingerprint {
  const exceptionType = exceptionTypeOf(letter.error);
  const pattern = messagePattern(letter.error.message ?? "");
  const firstFrame = letter.error.stack === null ? null : firstOwnFrame(letter.error.stack);
  const identity = [letter.errorCode, exceptionType ?? "", firstFrame ?? "", pattern].join("\u0001");
  const family = hash64([letter.errorCode, exceptionType ?? "", firstFrame ?? ""].join("\u0001"));
  return { fingerprint: hash64(identity), exceptionType, pattern, firstFrame, family };
}

/**
 * The group that an admission rule names, whatever the failure says. The error code is part of it, as of every group:
 * a filter by error code finds its events by their groups.
 */
export function labelledGroup(errorCode: string, label: string): Fingerprint {
  const fingerprint = hash64([errorCode, "label", label].join("\u0001"));
  return { fingerprint, exceptionType: null, pattern: label, firstFrame: null, family: fingerprint };
}

/** The given type, else the text before the colon in the first line of the stack. */
function exceptionTypeOf(error: DeadLetterError): string | null {
  if (error.type) return error.type;
  const start = error.stack?.slice(0, STACK_CHARS).trimStart().slice(0, TYPE_CHARS_MAX) ?? "";
  const first = /^([A-Za-z_][\w.$]*(?:Exception|Error|Fault|Failure))\b/.exec(start);
  return first?.[1] ?? null;
}

/**
 * One pass, most specific first. A quote opens only after a non-word character, so that the apostrophe of "can't" is
 * none. A token that mixes letters and digits over 15 characters is an id, whatever it spells; behind a prefix
 * (`req_9a81c3f04e`) from 10 characters on, when two of them are digits. An underscore ends a token: `\b` would not.
 */
const FACTS = new RegExp(
  [
    /(?<uuid>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})/,
    /(?<time>\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?)/,
    /(?<text>(?<!\w)"(?:[^"\\]|\\.)*"|(?<!\w)'[^']*'(?!\w)|`[^`]*`|\u201c[^\u201d]*\u201d)/,
    /(?<email>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)/,
    /(?<addr>\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b)/,
    /(?<hex>\b0x[0-9a-f]+\b|(?<![a-z0-9])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,}(?![a-z0-9]))/,
    /(?<id>(?<![a-z0-9])(?=[a-z]*\d)(?=\d*[a-z])[a-z0-9]{16,}(?![a-z0-9])|(?<=[a-z]_)(?=[a-z]*\d[a-z]*\d)(?=\d*[a-z])[a-z0-9]{10,}(?![a-z0-9]))/,
    /(?<n>\d+(?:[.,]\d+)*)/,
  ]
    .map((part) => part.source)
    .join("|"),
  "gi",
);

/** The message without ids, numbers and quoted text. At most 300 characters. */
export function messagePattern(message: string): string {
  const stripped = message.slice(0, MESSAGE_CHARS).replace(FACTS, (...match) => {
    const groups = match.at(-1) as Record<string, string | undefined>;
    for (const name in groups) if (groups[name] !== undefined) return `<${name}>`;
    return "";
  });
  return stripped.replace(/\s+/g, " ").trim().slice(0, PATTERN_CHARS_MAX);
}

/** Runtimes and frameworks: their frames say how the failing code was called, not which code failed. */
const FOREIGN = [
  /^(?:java|javax|jakarta|jdk|sun|com\.sun|kotlin|kotlinx|scala|akka|groovy|reactor|io\.netty|io\.micrometer)\./,
  /^(?:org\.springframework|org\.hibernate|org\.apache|org\.eclipse|org\.jboss|com\.fasterxml|com\.rabbitmq|com\.zaxxer)\./,
  /^(?:System|Microsoft|MassTransit|NServiceBus|Rebus|EasyNetQ|Newtonsoft|Npgsql|Polly)\./,
  /node_modules|node:|^internal\/|site-packages|dist-packages|lib\/python\d|\/gems\/|\/vendor\/|^runtime\.|\/usr\/(?:local\/)?(?:lib|go)\//,
];

/** The first frame of the application's own code without line numbers; the first of all when none is its own. */
export function firstOwnFrame(stack: string): string | null {
  const lines = stack.slice(0, STACK_CHARS).split("\n");
  // Python prints the most recent call last.
  if (lines.some((line) => line.trimStart().startsWith('File "'))) lines.reverse();
  let first: string | null = null;
  for (const line of lines) {
    const frame = frameOf(line);
    if (frame === null) continue;
    if (!isForeign(frame)) return frame.slice(0, FRAME_CHARS_MAX);
    first ??= frame;
  }
  return first?.slice(0, FRAME_CHARS_MAX) ?? null;
}

const isForeign = (frame: string) => FOREIGN.some((pattern) => pattern.test(frame));

type StackLine = { text: string; kind: "own" | "foreign" | "text" };

/**
 * The first STACK_CHARS of a stack, line by line: frames of the application, frames of runtimes and frameworks, and
 * other lines.
 */
export function stackLines(stack: string): StackLine[] {
  return stack
    .slice(0, STACK_CHARS)
    .split("\n")
    .map((text) => {
      const frame = frameOf(text);
      return { text, kind: frame === null ? "text" : isForeign(frame) ? "foreign" : "own" };
    });
}

/** One line of a Java, .NET, JavaScript, Python, Go, Ruby or PHP stack as `function (file)`, null for any other line. */
function frameOf(line: string): string | null {
  const text = line.slice(0, LINE_CHARS_MAX).trim();
  if (text.startsWith("at ")) return atFrame(text.slice(3));
  const python = /^File "([^"]+)", line \d+(?:, in (.+))?$/.exec(text);
  if (python) return withFile(python[2], python[1]!);
  const ruby = /^(?:from )?(\/?[\w./-]+\.rb):\d+:in [`'](.+)'$/.exec(text);
  if (ruby) return withFile(ruby[2], ruby[1]!);
  const php = /^#\d+ (\S+)\(\d+\): (.+)$/.exec(text);
  if (php) return withFile(php[2]!.split("(", 1)[0], php[1]!);
  return goFrame(text);
}

/**
 * `package.function(arguments)`: the longest name of letters, digits and `_./*()-` before a bracket, with a dot behind
 * its last slash. Brackets belong to names as well: `main.(*Stock).Reserve(0xc000)`.
 */
function goFrame(text: string): string | null {
  if (!text.endsWith(")")) return null;
  const named = /^[\w./*()-]*/.exec(text)![0].length;
  let open = text.lastIndexOf("(", Math.min(named - 1, text.length - 2));
  let dot = Number.POSITIVE_INFINITY;
  while (open > 2) {
    if (dot > open - 2) dot = text.lastIndexOf(".", open - 2);
    if (dot < 1) return null;
    const slash = text.lastIndexOf("/", open - 1);
    if (slash < dot) return text.slice(0, open);
    open = text.lastIndexOf("(", slash);
  }
  return null;
}

/**
 * Each language is recognised by a short text before its pattern runs: a stack is read for every event, and most lines
 * of a stack are not frames.
 */
function atFrame(text: string): string {
  const source = text.lastIndexOf(" in ");
  if (source > 0 && text.includes(":line ", source)) return stable(text.slice(0, source));
  const file = text.lastIndexOf(" (");
  if (file > 0 && text.endsWith(")")) {
    return withFile(text.slice(0, file).replace(/^(?:async|new) /, ""), withoutPosition(text.slice(file + 2, -1)));
  }
  return stable(javaName(text) ?? withoutPosition(text));
}

/** The frame `name` of `module@version/name(file)`; the module is optional. Null when the line is not a Java frame. */
function javaName(text: string): string | null {
  const open = text.indexOf("(");
  if (open < 1 || text.indexOf(")", open) < 0) return null;
  const slash = text.lastIndexOf("/", open) < 0 ? -1 : text.indexOf("/");
  const name = text.slice(slash + 1, open);
  if (isModule(text.slice(0, Math.max(slash, 0))) && isJavaName(name)) return name;
  const whole = text.slice(0, open);
  return isJavaName(whole) ? whole : null;
}

const isJavaName = (text: string) => /^[\w.$<>/]+$/.test(text);

/** `java.base` or `app@1.2`. */
function isModule(text: string): boolean {
  const at = text.indexOf("@");
  const letters = at < 0 ? text : text.slice(0, at) + text.slice(at + 1);
  return at !== 0 && /^[\w.-]+$/.test(letters);
}

/** `file:12:5` -> `file`. */
function withoutPosition(text: string): string {
  let end = text.length;
  for (let at = end - 1; at >= 0; at--) {
    if (text[at] === ":" && at < end - 1) end = at;
    else if (text[at]! < "0" || text[at]! > "9") break;
  }
  return text.slice(0, end);
}

function withFile(name: string | undefined, file: string): string {
  return stable(name ? `${name} (${file})` : file);
}

/** Removes the parts that change from build to build or run to run: lambda numbers, proxies, addresses. */
function stable(frame: string): string {
  return frame
    .replace(/\$\$(?:Lambda|EnhancerBy\w+|FastClassBy\w+|SpringCGLIB)[\w$./]*/g, "$$$$")
    .replace(/0x[0-9a-f]+/gi, "0x")
    .replace(/\$\d+/g, "$");
}
