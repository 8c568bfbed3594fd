import { elixirFrame, erlangCall, erlangFrame } from "./beam-frames.pure";
import { type Frame, lineAt, withoutPosition } from "./frame.pure";
import { isLibraryName, isLibraryPath } from "./libraries.pure";
import { goFrame, nativeFrame, rustOrSwiftFrame } from "./native-frames.pure";
import { hasDigit, isDigit } from "./words.pure";

/**
 * The frame that a line of a stack holds, null for any other line. Some languages write a frame on two lines: then the first
 * holds the frame, and the second is read with it.
 */
export function frameAt(lines: readonly string[], index: number): Frame | null {
  const text = lineAt(lines, index);
  const first = text.charCodeAt(0);
  if (Number.isNaN(first)) return null;
  if (text.startsWith("at ")) return atFrame(text.slice(3), lines, index);
  if (first === 35) return numberedFrame(text);
  if (first === 70 && text.startsWith('File "')) return pythonFrame(text);
  if (first === 40) return elixirFrame(text);
  if (first === 123 || first === 91) return erlangFrame(text);
  if (first >= 48 && first <= 57)
    return /^[0-9]+: from /.test(text) ? rubyFrame(text) : rustOrSwiftFrame(text, lines, index);
  // glog, the C++ logger.
  if (first === 64 && /^@ +0x/.test(text)) return nativeFrame(text.slice(1).trimStart());
  const valgrind = first === 61 ? VALGRIND.exec(text)?.[1] : undefined;
  if (valgrind !== undefined) return nativeFrame(valgrind.replace(/ \((?:in )?([^\s()]+)\)$/, " at $1"));
  // `backtrace_symbols` of C++.
  const symbol = text.endsWith("]") ? /^(\S+)\((\w+)\+0x[0-9a-f]+\) \[0x[0-9a-f]+\]$/.exec(text) : null;
  if (symbol !== null) return nativeFrame(`${symbol[2]} from ${symbol[1]}`);
  if (text.startsWith("package:") || text.startsWith("dart:")) return dartFrame(text);
  return (
    rubyFrame(text) ??
    phpThrown(text) ??
    localizedFrame(text) ??
    goFrame(text, lines, index) ??
    erlangCall(text) ??
    placedFrame(text)
  );
}

const VALGRIND = /^==[0-9]+==\s+(?:at|by) 0x[0-9A-F]+: (.+)$/;

/** A frame of a function in a file. */
const named = (name: string | null, path: string): Frame => ({ name, path, library: isLibraryPath(path) });

/** A frame of JavaScript in a package or in Node itself: most lines of a stack are, and need no expression. */
function packageFrame(text: string): Frame | null {
  const open = text.indexOf(" (");
  if (open < 0 || !(text.includes("node_modules", open) || text.startsWith("node:", open + 2))) return null;
  const name = text.slice(text.startsWith("async ") ? 6 : 0, open);
  const end = text.lastIndexOf(":", text.lastIndexOf(":") - 1);
  return { name, path: text.slice(open + 2, end), library: true };
}

/** `at ...`: the JVM, .NET, JavaScript, and the second line of a frame of Rust. */
function atFrame(text: string, lines: readonly string[], index: number): Frame | null {
  const package_ = packageFrame(text);
  if (package_ !== null) return package_;
  if (text.startsWith("[Source") || text.startsWith("Source:")) return null;
  const closed = text.indexOf(")");
  const source = closed < 0 || closed === text.length - 1 ? -1 : text.lastIndexOf(" in ");
  if (source > 0 && text[source - 1] === ")") return dotnetFrame(text.slice(0, source));
  const open = text.indexOf("(");
  if (open > 0 && text.indexOf(")", open) > 0 && (text[open - 1] !== " " || JVM_FILE.test(text.slice(open)))) {
    const java = javaFrame(text, open);
    if (java !== null) return java;
    if (
      /^[^\s(]*[\w>\]`]$/.test(text.slice(0, open).replace(/^async (?:\S+ )?/, "")) &&
      text.endsWith(")") &&
      /[.+]/.test(text.slice(0, open))
    )
      return dotnetFrame(text);
  }
  const file = text.indexOf(" (");
  if (file > 0 && text.includes(", Version=", file)) return dotnetFrame(text.slice(0, file));
  if (file > 0 && text.endsWith(")")) return scriptFrame(text.slice(0, file), text.slice(file + 2, -1));
  if (/ line [0-9]+\.?$/.test(text)) return placedFrame(text);
  const [place, line] = withoutPosition(text);
  // Rust names the function on the line before.
  if (line > 0 && /^\s*[0-9]+: /.test(lines[index - 1] ?? "")) return null;
  if (line > 0 && /\.(?:swift|rs|cpp|cc|c|h)$/.test(place) && !place.includes(" ")) return null;
  return scriptFrame(null, text.replace(/^async /, ""));
}

/** In each build R8 and ProGuard assign new names of up to three letters. */
const OBFUSCATED = /^(?!com\.|org\.|net\.|io\.|dev\.)(?:[A-Za-z][A-Za-z0-9]{0,2}\.)+[\w$<>]+$/;
const WITHOUT_FILE = /^(?:Unknown Source|SourceFile|PG:|r8-map)/;

/** Some tools write a space before the file. */
const JVM_FILE = /^\(\w+\.(?:java|kt|scala|groovy)(?::[0-9]+)?\)$/;

/** `loader//module@version/com.acme.Stock.reserve(Stock.java:42) ~[orders.jar:1.4]`. */
function javaFrame(text: string, open: number): Frame | null {
  const slash = text.includes("/") ? text.lastIndexOf("/", open) : -1;
  const dollar = slash < 0 ? -1 : text.indexOf("$$Lambda");
  const from = slash < 0 || (dollar >= 0 && dollar < slash) ? 0 : slash + 1;
  const start =
    from === 0 && slash >= 0 && text.lastIndexOf("/", dollar) >= 0 ? text.lastIndexOf("/", dollar) + 1 : from;
  const name = text.slice(start, open).trimEnd();
  // Most names are of ASCII, and an expression with the properties of Unicode is slow.
  if (!/^[\w.$<>/-]+$/.test(name) && !/^[\p{L}\p{N}_.$<>/-]+$/u.test(name)) return null;
  if (start > 0 && !/^[\w.@/-]*$/.test(text.slice(0, start))) return null;
  const inside = text.slice(open + 1, text.indexOf(")", open));
  const java =
    /^(?:[\w$.-]+\.\w+(?::[0-9]+)?|Unknown Source(?::[0-9]+)?|Native Method|<generated>|<unknown>|[\w$-]+(?:\.dex)?:[0-9]+|SourceFile(?::[0-9]+)?|)$/.test(
      inside,
    );
  if (!java || !name.includes(".")) return null;
  if (inside === "" && !/^[a-z_$]/.test(name)) return null;
  if ("USPr".includes(inside.charAt(0)) && WITHOUT_FILE.test(inside) && OBFUSCATED.test(name)) {
    const method = name.slice(name.lastIndexOf(".") + 1);
    return { name: method, path: null, library: method.length < 4 };
  }
  return {
    name: name.includes("$") || name.includes("_") ? jvmName(name) : name,
    path: null,
    library: isLibraryName(name, "jvm"),
  };
}

/** Without what compilers and proxies number: lambdas, anonymous classes, CGLIB, ByteBuddy. A removal ends at the dot. */
function jvmName(name: string): string {
  if (!name.includes("$"))
    return name.replace(/\/0x[0-9a-f]+/gi, "").replace(/_(?:ClientProxy|Subclass|Bean)(?=\.)/g, "");
  return name
    .replace(/\/0x[0-9a-f]+/gi, "")
    .replace(/\$\$(?:Lambda|EnhancerBy\w*|FastClassBy\w*|SpringCGLIB|FastClass|KeyFactory\w*)[\w$/]*/g, "")
    .replace(
      /\$(?:ByteBuddy|HibernateProxy|MockitoMock|Proxy|HibernateBasicProxy)\$?[\w$]*|_\$\$_[\w$]*|_(?:ClientProxy|Subclass|Bean)(?=\.)/g,
      "",
    )
    .replace(/lambda\$(\w+?)\$[0-9]+/g, "$1")
    .replace(/\$adapted$|access\$/g, "")
    .replace(/\$anonfun\$/g, "$")
    .replace(/\$[0-9]+(?=[.$]|$)/g, "")
    .replace(/\$(?=\.)|\$$/g, "");
}

const RETURNED = /^(?:async |static |void |Task(?:<[^>]{0,80}>)? |ValueTask(?:<[^>]{0,80}>)? )+/;

/** `Acme.Shop.Handler.<Handle>d__5.MoveNext()`: the compiler's class of an async method bears the name of the method, as `reserve@20-1` of F# does. */
function dotnetFrame(text: string): Frame {
  const signature = "asvTV".includes(text.charAt(0)) ? text.replace(RETURNED, "") : text;
  const open = signature.indexOf("(");
  const name = (open < 0 ? signature : signature.slice(0, open))
    .trim()
    .replace(/<>c__DisplayClass[0-9_]*(?:`[0-9]+)?[.+]?|<>c(?:`[0-9]+)?[.+]/g, "")
    .replace(
      /<<?(\w{1,120})>[a-z]__(\w{0,60}?)\|?[0-9_]{0,12}(?:>d)?(?:__?[0-9]{1,6})?(?:`[0-9]{1,3})?(?:\[[^\]]{0,80}\])?(?:\.MoveNext)?$/,
      (_, method, local) => (local && !/^[0-9_]*$/.test(local) ? `${method}.${local}` : method),
    )
    .replace(/@[0-9]{1,6}(?:-[0-9]{1,6})?(?:\.(?:Invoke|MoveNext|GenerateNext)$)?/, "")
    .replaceAll("+", ".")
    .replace(/[0-9a-f]{16,}/g, "");
  return { name, path: null, library: isLibraryName(name, "dotnet") };
}

/** Receivers and functions of at most three letters. */
const MINIFIED = /^(?:[\w$]{1,3}\.)*(?:[\w$]{0,3}$)?/;
const ANYTHING = /^(?:Object|Function|Module|exports|global|window|e|t|n|r)\./;

function scriptFrame(called: string | null, at: string): Frame | null {
  const [place, line, column] = withoutPosition(at.startsWith("eval at ") ? (/\(([^()]+)\)/.exec(at)?.[1] ?? at) : at);
  if (called === null && (place.includes(" ") || !/[\w>]/.test(place) || !/[/\\:.<]/.test(place))) return null;
  let name = called;
  if (name !== null) {
    name = name.replace(/^(?:async |new |get |set |static )+/, "").replace(/ \[as [^\]]*\]$/, "");
    if (name.startsWith("Promise.") || place.startsWith("index "))
      return { name: "Promise.all", path: null, library: true };
    if (place === "<anonymous>" || place === "native") return { name, path: null, library: true };
    if (name.includes(" ") || !/[/\\:.]/.test(place)) return null;
    name = name.replace(ANYTHING, "").replace(/(?:^|\.)<(?:anonymous|computed)>/g, "");
    // A minifier gives names anew in each build.
    if (column > 500 || (line < 4 && column > 99)) name = name.replace(MINIFIED, "");
  }
  const library = isLibraryPath(place) || (name !== null && isLibraryName(name, "script"));
  return { name: name === "" ? null : name, path: place, library };
}

function pythonFrame(text: string): Frame | null {
  const match = /^File "([^"]+)", line [0-9]+(?:, in (.+))?$/.exec(text);
  if (match === null) return null;
  const name = match[2] ?? null;
  return named(name === null || name.startsWith("<") ? null : name.slice(name.lastIndexOf(".") + 1), match[1]!);
}

/** 3.3 writes `block in perform', 3.4 writes 'block in PayJob#perform'. */
const RUBY =
  /^(?:from |[0-9]+: from )?((?:\/|[A-Za-z]:|<)?[\w./@ +-]+(?:\.rb|\.erb|\.rake|\.ru|>)|[\w./-]*bin\/[\w-]+|\(eval[^)]*\)):[0-9]+:in [`'\u2018]([^']+)'/;

/** The method of a template contains numbers of the process: `_app_views_orders_index_html_erb___1632188526481433934_70310`. */
const GENERATED = /(?:_+[0-9]{4,})+$/;

function rubyFrame(text: string): Frame | null {
  if (!text.includes("'") || !text.includes(":in ")) return null;
  const match = RUBY.exec(text);
  if (match === null) return null;
  const method = match[2]!.slice(match[2]!.lastIndexOf(" ") + 1);
  const name = method.slice(Math.max(method.lastIndexOf("#"), method.lastIndexOf(".")) + 1).replace(GENERATED, "");
  return named(name.startsWith("<") || name.endsWith(">") ? null : name, match[1]!);
}

const dartName = (name: string) => name.replace(/\.<(?:anonymous closure|fn)>/g, "").replace(/^new /, "");

/** `package:shop/pay.dart 12:5  Pay.charge`, as printed by the package stack_trace. */
function dartFrame(text: string): Frame | null {
  const match = /^(\S+) [0-9]{1,7}:[0-9]{1,7} +(\S.*)$/.exec(text);
  return match === null ? null : named(dartName(match[2]!), match[1]!);
}

/** `#0 ...`: PHP, Dart, gdb and sanitizers. */
function numberedFrame(text: string): Frame | null {
  const colon = text.indexOf(": ");
  const called = colon < 0 ? "" : text.slice(text.indexOf(" ") + 1, colon).replace(/\([0-9]{1,9}\)$/, "");
  if (/\.(?:php|phtml|inc|phar)\b|^\[internal function\]$/.test(called)) return named(null, called);
  const body = text.replace(/^#[0-9]+\s+/, "");
  const dart = /^(.+) \(((?:package|dart|file|org-dartlang)[^()]*)\)$/.exec(body);
  if (dart) return named(dartName(dart[1]!), withoutPosition(dart[2]!)[0]);
  return nativeFrame(body.replace(/^0x[0-9a-fA-F]+ (?:in )?/, ""));
}

/** The words of .NET for `at` in its languages. */
const LOCALIZED =
  /^(?:at|bei|\u0432|\u043f\u0440\u0438|\u5834\u6240|\u00e0|en|in|a|em|w|v|v\u00e9|vid|ved|i|p\u00e5|bij|konum:|\u5728|\u65bc|\uc704\uce58:|\u062a|\u03c3\u03c4\u03bf|la|u|na|kohteessa|hos|helyen|a k\u00f6vetkez\u0151 helyen:|at:)\s+(?=[\w.<>`+$[\], ]+\()/u;

/** Another word, before a method and a position. */
const ANY_WORD = /^\S{1,24}\s+(?=[\w.<>`+$]+\([^()]*\) )/u;

function localizedFrame(text: string): Frame | null {
  if (!text.includes("(")) return null;
  const start = LOCALIZED.exec(text) ?? (/[0-9]\.?$/.test(text.slice(-2)) ? ANY_WORD.exec(text) : null);
  if (start === null) return null;
  const called = text.slice(start[0].length);
  const open = called.indexOf("(");
  const close = called.indexOf(")", open);
  const name = called.slice(0, open);
  if (!/^[\w.<>`+$[\],]+$/.test(name) || !/\w\.[\w<]/.test(name) || close < 0) return null;
  const rest = called.slice(close + 1);
  return rest === "" || rest.includes(":") ? dotnetFrame(called) : null;
}

/** The line that names what was thrown: ` ... in /srv/src/Pay.php:12`. It is where the function of frame #0 failed. */
const PHP_THROWN = / in ((?:[A-Za-z]:)?[^\s:]+\.(?:php|phtml|inc)):([0-9]+)$/;

function phpThrown(text: string): Frame | null {
  if (!isDigit(text.charCodeAt(text.length - 1))) return null;
  const match = PHP_THROWN.exec(text);
  return match === null ? null : named(null, match[1]!);
}

/** The function that runs in a file of a PHP stack is the one that the next frame calls. */
export function phpFunction(text: string): string | null {
  const called = /^#[0-9]+ (?:\[internal function\]|.+?\([0-9]+\)): ([^\s(]+)/.exec(text)?.[1];
  if (called === undefined || called.includes("{closure")) return null;
  return called.replace(/\\\\/g, "\\");
}

export const phpPosition = (text: string) => {
  const match = /^#[0-9]+ (.+?)\(([0-9]+)\): /.exec(text) ?? PHP_THROWN.exec(text);
  return match === null ? null : `${match[1]}:${match[2]}`;
};

const SOURCE_ENDING =
  /[\w)\]>-]\.(?:c|cc|cpp|cxx|h|hpp|m|mm|rs|go|py|rb|php|[cm]?[jt]sx?|java|kts?|scala|groovy|clj|cs|fs|vb|exs?|erl|dart|swift|lua|p[lm]|t|hs|mli?|jl|cr|nim|zig|d|pas|r|R|tcl|sql|vue|svelte)"?(?::|, line | line |\()[0-9]+(?:[:.,][0-9]+)?\)?(?:, (?:characters|column|position).*|[:.]|: in .*|:in .*| in \S+)?$/;

/** Any other line that ends in a position of a source file and holds a name besides. */
function placedFrame(text: string): Frame | null {
  if (!text.includes(".") || !hasDigit(text)) return null;
  const ending = SOURCE_ENDING.exec(text);
  if (ending === null) return null;
  // What Rust and Perl say of the error itself.
  if (text.includes(" panicked at ") || (/ line [0-9]{1,9}\.$/.test(text) && !text.includes("called at"))) return null;
  const end = ending.index + ending[0].search(/"?(?::|, line | line |\()[0-9]/);
  let from = end;
  while (from > 0 && !/[\s("'@]/.test(text[from - 1]!)) from--;
  const path = text.slice(from, end);
  const before = text.slice(0, from).replace(/(?:0x)?[0-9a-f]{8,}/gi, " ");
  const after =
    / in (?:function |method |field |local |upvalue )?['"`<]?([\w.:$]+)/.exec(ending[0])?.[1] ??
    /:in ['"`<]?([\w.:$#]+)/.exec(ending[0])?.[1];
  const name = after ?? nameBefore(before);
  if (name === null) return null;
  return named(name, path);
}

/** The last name of a program in a text that is no sentence: `Foo.bar`, `ns::f`, `charge`, not `Error: cannot read`. */
function nameBefore(text: string): string | null {
  const words = text
    .replace(/\([^()]{0,200}\)/g, " ")
    .split(/[\s(@,]+/)
    .filter(
      (word) =>
        /[\p{L}_]/u.test(word) &&
        !/^(?:at|in|from|called|Called|file|line|by|raised|re-raised|within|\[[0-9]+\]|[a-z]{1,3}:|~?\[.*)$/.test(word),
    );
  if (words.length === 0 || words.length > 3) return null;
  const name = words[0]!;
  return /^[\p{L}_$<~][\p{L}\p{N}_$.:#<>~!?'/-]*$/u.test(name) && !name.endsWith(":") ? name : null;
}
