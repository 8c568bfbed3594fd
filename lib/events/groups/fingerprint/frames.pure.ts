import { isLibraryApplication, isLibraryName, isLibraryPath } from "./libraries.pure";
import { sourcePath } from "./source-path.pure";

/** One frame: what a compiler or a proxy writes is left out of the name. */
export type Frame = { name: string | null; path: string | null; library: boolean };

/** A line is cut before it is read, and no expression here backtracks: the sender of a failure chooses its stack. */
const LINE_CHARS_MAX = 1_000;

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
  if (first >= 48 && first <= 57) return rustOrSwiftFrame(text, lines, index);
  // glog, the C++ logger.
  if (first === 64 && /^@ +0x/.test(text)) return nativeFrame(text.slice(1).trimStart());
  return (
    rubyFrame(text) ??
    phpThrown(text) ??
    localizedFrame(text) ??
    goFrame(text, lines, index) ??
    erlangCall(text) ??
    placedFrame(text)
  );
}

/** The text of a line without the bars that a Python exception group draws before it. */
export function lineAt(lines: readonly string[], index: number): string {
  const line = lines[index];
  if (line === undefined) return "";
  const text = line.slice(0, LINE_CHARS_MAX).trim();
  return text.charCodeAt(0) === 124 ? text.replace(/^(?:\| *)+/, "") : text;
}

/** The name and the part of the path that is the same in every build. */
export function frameText({ name, path }: Frame): string | null {
  const file = path === null ? null : sourcePath(path);
  if (name === null) return file;
  return file === null ? name : `${name} (${file})`;
}

/** A frame of a function in a file; a library's is told by either. */
function named(name: string | null, path: string | null): Frame {
  const library = (path !== null && isLibraryPath(path)) || (name !== null && isLibraryName(name));
  return { name, path, library };
}

/** The text without `:12:5` behind it, and what was cut. */
function withoutPosition(text: string): [place: string, line: number, column: number] {
  let end = text.length;
  const numbers: number[] = [];
  for (let at = end - 1; at >= 0; at--) {
    const code = text.charCodeAt(at);
    if (code === 58 && at < end - 1 && numbers.length < 2) {
      numbers.unshift(Number(text.slice(at + 1, end)));
      end = at;
    } else if (code < 48 || code > 57) break;
  }
  return [text.slice(0, end), numbers[0] ?? 0, numbers[1] ?? 0];
}

/** A frame of JavaScript in a package or in Node itself: most lines of a stack are, and need no expression. */
function packageFrame(text: string): Frame | null {
  const open = text.lastIndexOf(" (");
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
  const source = text.lastIndexOf(" in ");
  if (source > 0 && text.includes(":line ", source)) return dotnetFrame(text.slice(0, source));
  const open = text.indexOf("(");
  if (open > 0 && text.indexOf(")", open) > 0 && text[open - 1] !== " ") {
    const java = javaFrame(text, open);
    if (java !== null) return java;
    if (
      /^[^\s(]*[\w>\]`]$/.test(text.slice(0, open).replace(/^async (?:\S+ )?/, "")) &&
      text.endsWith(")") &&
      /[.+]/.test(text.slice(0, open))
    )
      return dotnetFrame(text);
  }
  const file = text.lastIndexOf(" (");
  if (file > 0 && text.includes(", Version=", file)) return dotnetFrame(text.slice(0, file));
  if (file > 0 && text.endsWith(")")) return scriptFrame(text.slice(0, file), text.slice(file + 2, -1));
  if (/ line [0-9]+\.?$/.test(text)) return placedFrame(text);
  const [place, line] = withoutPosition(text);
  // Rust names the function on the line before.
  if (line > 0 && /^\s*[0-9]+: /.test(lines[index - 1] ?? "")) return null;
  if (line > 0 && /\.(?:swift|rs|cpp|cc|c|h)$/.test(place) && !place.includes(" ")) return null;
  return scriptFrame(null, text.replace(/^async /, ""));
}

/** `loader//module@version/com.acme.Stock.reserve(Stock.java:42) ~[orders.jar:1.4]`. */
function javaFrame(text: string, open: number): Frame | null {
  const slash = text.lastIndexOf("/", open);
  const dollar = text.indexOf("$$Lambda");
  const from = slash < 0 || (dollar >= 0 && dollar < slash) ? 0 : slash + 1;
  const start =
    from === 0 && slash >= 0 && text.lastIndexOf("/", dollar) >= 0 ? text.lastIndexOf("/", dollar) + 1 : from;
  const name = text.slice(start, open);
  if (!/^[\p{L}\p{N}_.$<>/-]+$/u.test(name) || !/^[\w.@/-]*$/.test(text.slice(0, start))) return null;
  const inside = text.slice(open + 1, text.indexOf(")", open));
  const java =
    /^(?:[\w$.-]+\.\w+(?::[0-9]+)?|Unknown Source|Native Method|<generated>|<unknown>|[\w$-]+(?:\.dex)?:[0-9]+|SourceFile(?::[0-9]+)?|)$/.test(
      inside,
    );
  if (!java || !name.includes(".")) return null;
  if (inside === "" && !/^[a-z_$]/.test(name)) return null;
  return {
    name: name.includes("$") || name.includes("_") ? jvmName(name) : name,
    path: null,
    library: isLibraryName(name),
  };
}

/** Without what compilers and proxies number: lambdas, anonymous classes, CGLIB, ByteBuddy. A removal ends at the dot. */
function jvmName(name: string): string {
  return name
    .replace(/\/0x[0-9a-f]+/gi, "")
    .replace(/\$\$(?:Lambda|EnhancerBy\w*|FastClassBy\w*|SpringCGLIB|FastClass|KeyFactory\w*)[\w$/]*/g, "")
    .replace(
      /\$(?:ByteBuddy|HibernateProxy|MockitoMock|Proxy|HibernateBasicProxy)\$?[\w$]*|_\$\$_[\w$]*|_(?:ClientProxy|Subclass|Bean)(?=\.)/g,
      "",
    )
    .replace(/lambda\$(\w+?)\$[0-9]+/g, "$1")
    .replace(/\$(?:anonfun|adapted)\$/g, "$")
    .replace(/\$[0-9]+(?=[.$]|$)/g, "")
    .replace(/\$(?=\.)|\$$/g, "");
}

/** `Acme.Shop.Handler.<Handle>d__5.MoveNext()`: the compiler's class of an async method bears the name of the method. */
function dotnetFrame(text: string): Frame {
  const signature = text.replace(/^(?:async |static |void |Task(?:<[^>]{0,80}>)? |ValueTask(?:<[^>]{0,80}>)? )+/, "");
  const open = signature.indexOf("(");
  const name = (open < 0 ? signature : signature.slice(0, open))
    .trim()
    .replace(/<>c__DisplayClass[0-9_]*(?:`[0-9]+)?[.+]?|<>c(?:`[0-9]+)?[.+]/g, "")
    .replace(
      /<<?(\w{1,120})>[a-z]__(\w{0,60}?)\|?[0-9_]{0,12}(?:>d)?(?:__?[0-9]{1,6})?(?:`[0-9]{1,3})?(?:\[[^\]]{0,80}\])?(?:\.MoveNext)?$/,
      (_, method, local) => (local && !/^[0-9_]*$/.test(local) ? `${method}.${local}` : method),
    )
    .replaceAll("+", ".")
    .replace(/[0-9a-f]{16,}/g, "");
  return { name, path: null, library: isLibraryName(name) };
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
  return named(name === "" ? null : name, place);
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

function rubyFrame(text: string): Frame | null {
  if (!text.includes(":in ")) return null;
  const match = RUBY.exec(text);
  if (match === null) return null;
  const method = match[2]!.slice(match[2]!.lastIndexOf(" ") + 1);
  const name = method.slice(Math.max(method.lastIndexOf("#"), method.lastIndexOf(".")) + 1);
  return named(name.startsWith("<") || name.endsWith(">") ? null : name, match[1]!);
}

/** `#0 ...`: PHP, Dart, gdb and sanitizers. */
function numberedFrame(text: string): Frame | null {
  const colon = text.indexOf(": ");
  const called = colon < 0 ? "" : text.slice(text.indexOf(" ") + 1, colon).replace(/\([0-9]{1,9}\)$/, "");
  if (/\.(?:php|phtml|inc|phar)\b|^\[internal function\]$/.test(called)) return named(null, called);
  const body = text.replace(/^#[0-9]+\s+/, "");
  const dart = /^(.+) \(((?:package|dart|file|org-dartlang)[^()]*)\)$/.exec(body);
  if (dart) {
    const [place] = withoutPosition(dart[2]!);
    return named(dart[1]!.replace(/\.<(?:anonymous closure|fn)>/g, "").replace(/^new /, ""), place);
  }
  return nativeFrame(body.replace(/^0x[0-9a-fA-F]+ (?:in )?/, ""));
}

/** A function of C++, Swift or Rust, its arguments, and `at file:line`, `from library` or a file behind it. */
function nativeFrame(text: string): Frame | null {
  const space = text.lastIndexOf(" ");
  const place = text.slice(space + 1);
  const before = text.slice(0, Math.max(space, 0)).trimEnd();
  const worded = /(?:^| )(?:at|in|from)$/.exec(before);
  const placed = worded === null ? place.startsWith("/") && /:[0-9]{1,9}$/.test(place) : !/[()]/.test(place);
  const called = worded === null ? before : before.slice(0, worded.index).trimEnd();
  const symbol = nativeName(placed ? called : text);
  if (symbol === null) return null;
  const [path] = placed ? withoutPosition(place) : [null];
  const file = path !== null && /\.\w{1,5}$/.test(path) && !/\.so(?:\.|$)/.test(path) ? path : null;
  const library = isLibraryName(symbol) || (path !== null && isLibraryPath(path));
  return { name: symbol, path: file, library };
}

/** The qualified name without arguments, templates, addresses and the hash that a compiler puts behind it. */
function nativeName(text: string): string | null {
  let name = text
    .replace(/\((\w+) in _[0-9A-F]+\)/, "$1")
    .replace(/^0x[0-9a-fA-F]+ (?:- |in )?/, "")
    .replace(/ \+ (?:0x)?[0-9a-f]+.*$/, "")
    .replace(/ (?:async )?(?:throws )?-> .*$/, "");
  if (!name.startsWith("<") && !name.startsWith("(")) {
    const open = name.indexOf("(");
    if (open > 0 && !name.startsWith("operator()")) name = name.slice(0, open);
  }
  name = name
    .replace(
      /^(?:static |async |implicit |specialized |partial apply (?:forwarder )?for |closure #[0-9]+ in |thunk for |virtual |void |int |bool )+/,
      "",
    )
    .replace(/::h[0-9a-f]{16}$/, "")
    .replace(/::\{\{?closure\}?\}|::\{impl#[0-9]+\}|\{lambda.*$/g, "")
    .trim();
  return /^[<A-Za-z_$~?][^\s]*(?: as [^\s]+)?$/.test(name) && name.length > 1 && !/^[\w-]+:$/.test(name) ? name : null;
}

/** `3: acme_pay::orders::reserve::h574be...`, `0# shop::charge(Order const&) at ...`, `2 Shop 0x... Shop.Pay.charge() + 124`. */
function rustOrSwiftFrame(text: string, lines: readonly string[], index: number): Frame | null {
  if (text.startsWith("0x")) {
    const native = /^0x[0-9a-f]+,? (.+)$/i.exec(text);
    return native === null ? null : nativeFrame(native[1]!);
  }
  const rust = /^[0-9]+[:#]\s+(?:0x[0-9a-f]+ - )?(.+)$/.exec(text);
  if (rust) {
    if (/^(?:from|0x[0-9a-f]+$)/.test(rust[1]!)) return rubyFrame(text);
    const frame = nativeFrame(rust[1]!);
    if (frame === null || (text.includes(" ") && !/[:<(]/.test(rust[1]!) && !/^\w+$/.test(rust[1]!))) return frame;
    const [path] = withoutPosition(/^at (.+)$/.exec(lineAt(lines, index + 1))?.[1] ?? "");
    return { ...frame, library: frame.library || isLibraryPath(path) };
  }
  const swift = /^[0-9]+\s+(?:\[[a-z]+\]\s+)?(?:([\w.?-]+)\s+)?0x[0-9a-fA-F]+\s+(.+)$/.exec(text);
  if (swift === null) return null;
  const frame = nativeFrame(
    swift[2]!
      .replace(/^\[[a-z]+\] /, "")
      .replace(/ \+ [0-9]+ in \S+ at /, " at ")
      .replace(/ \+ [0-9]+(?: in \S+)?$/, ""),
  );
  return frame === null ? null : { ...frame, library: frame.library || isLibraryPath(swift[1] ?? "") };
}

/** `(shop 0.4.12) lib/shop/pay.ex:41: Shop.Pay.charge/2`. */
function elixirFrame(text: string): Frame | null {
  const match = /^\(([\w]+)(?: [^)\s]+)?\) (.+)$/.exec(text);
  if (match === null) return null;
  const frame = beamPlace(match[2]!);
  return frame === null ? null : { ...frame, library: frame.library || isLibraryApplication(match[1]!) };
}

/** `lib/shop/pay.ex:41: anonymous fn/1 in Shop.Pay.charge/2`, with or without the file. */
function beamPlace(text: string): Frame | null {
  const match = /^(?:([\w./@-]+\.(?:exs?|erl|eex|heex|hrl)):[0-9]+: )?(\S.*)$/.exec(text);
  if (match === null || !/\/[0-9]+$/.test(match[2]!)) return null;
  const function_ = match[2]!
    .replace(/^(?:anonymous )?fn\/[0-9]+ in /, "")
    .replace(/\.?"?-(?:fun\.)?([\w!?]+)\/[0-9]+-[^"]{0,80}"?\/[0-9]+$/, ".$1/0");
  const library = isLibraryName(function_) || (match[1] !== undefined && isLibraryPath(match[1]));
  return { name: function_.replace(/\/[0-9]+$/, ""), path: null, library };
}

/** `{shop_pay,charge,2,[{file,"src/shop_pay.erl"},{line,41}]}`. */
function erlangFrame(text: string): Frame | null {
  const match = /^\[?\{'?([a-z][\w.@]*)'?,'?([\w!?/-]+)'?,\s?(?:[0-9]+|\[.*?),\s?\[/.exec(text);
  if (match === null) return null;
  const name = `${match[1]}:${match[2]!.replace(/^-([\w!?]+)\/.*$/, "$1")}`;
  return { name, path: null, library: isLibraryName(name) };
}

/** `in function  shop_pay:charge/2 (src/shop_pay.erl, line 41)`, `shop_pay:charge/2 (...)`, `lib/shop/pay.ex:41: Shop...`. */
function erlangCall(text: string): Frame | null {
  const call = /^(?:\*\* |=)?(?:in (?:function|call from)\s+)?([a-z]\w*):('?[\w!?/-]+'?)\/[0-9]+(?:\s+\(|,|$)/.exec(
    text,
  );
  if (call) {
    const name = `${call[1]}:${call[2]!.replace(/^'?-?([\w!?]+).*$/, "$1")}`;
    return { name, path: null, library: isLibraryName(name) };
  }
  return text.includes(".ex") || text.includes(".erl:") ? beamPlace(text) : null;
}

/** The words of .NET for `at` in its languages. */
const LOCALIZED =
  /^(?:at|bei|\u0432|\u043f\u0440\u0438|\u5834\u6240|\u00e0|en|in|a|em|w|v|v\u00e9|vid|ved|i|p\u00e5|bij|konum:|\u5728|\u65bc|\uc704\uce58:|\u062a|\u03c3\u03c4\u03bf|la|u|na|kohteessa|hos|helyen|a k\u00f6vetkez\u0151 helyen:|at:)\s+(?=[\w.<>`+$[\], ]+\()/u;

/** Another word, before a method and a position. */
const ANY_WORD = /^\S{1,24}\s+(?=[\w.<>`+$]+\([^()]*\) )/u;

function localizedFrame(text: string): Frame | null {
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

/**
 * `package.function(arguments)` or, of pkg/errors, `package.function` above a line that begins with the file: the longest name of
 * letters, digits and `_./*()-` before a bracket, with a dot behind its last slash. Brackets belong to names as well:
 * `main.(*Stock).Reserve(0xc000)`.
 */
function goFrame(text: string, lines: readonly string[], index: number): Frame | null {
  const place = /^\s+(\S+\.(?:go|s)):[0-9]+/.exec(lines[index + 1]?.slice(0, LINE_CHARS_MAX) ?? "")?.[1];
  // An indented line with a call is code that a traceback quotes, unless its file follows.
  const plain = place !== undefined || text.charCodeAt(0) === lines[index]!.charCodeAt(0);
  const called = plain && text.endsWith(")") ? goName(text) : null;
  const name = called ?? (place !== undefined && text.includes(".") && /^[\w./*()@~[\]-]+$/.test(text) ? text : null);
  if (name === null) return null;
  const library = isLibraryName(name) || (place !== undefined && isLibraryPath(place));
  const stable = name
    .replace(/\[\.\.\.\]/g, "")
    .replace(/\.(?:func|gowrap|deferwrap)[0-9]+(?:\.[0-9]+)*/g, "")
    .replace(/\.[0-9]+$/, "");
  return { name: stable, path: null, library };
}

function goName(text: string): string | null {
  const named = /^[\w./*()[\]~@%-]*/.exec(text)![0].length;
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

/** The line that names what was thrown: ` ... in /srv/src/Pay.php:12`. It is where the function of frame #0 failed. */
const PHP_THROWN = / in (\/?[^\s:]+\.(?:php|phtml|inc)):([0-9]+)$/;

function phpThrown(text: string): Frame | null {
  if (!text.includes(".php:") && !text.includes(".inc:")) return null;
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
  // What Rust and Perl say of the error itself.
  if (text.includes(" panicked at ") || (/ line [0-9]{1,9}\.$/.test(text) && !text.includes("called at"))) return null;
  const ending = SOURCE_ENDING.exec(text);
  if (ending === null) return null;
  const end = ending.index + ending[0].search(/"?(?::|, line | line |\()[0-9]/);
  let from = end;
  while (from > 0 && !/[\s("'@]/.test(text[from - 1]!)) from--;
  const path = text.slice(from, end);
  const before = text.slice(0, from).replace(/(?:0x)?[0-9a-f]{8,}/gi, " ");
  const after =
    / in (?:function )?['"`<]?([\w.:$]+)/.exec(ending[0])?.[1] ?? /:in ['"`<]?([\w.:$#]+)/.exec(ending[0])?.[1];
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
