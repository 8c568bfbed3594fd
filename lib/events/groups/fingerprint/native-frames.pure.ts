import { type Frame, LINE_CHARS_MAX, lineAt, withoutPosition } from "./frame.pure";
import { isLibraryName, isLibraryPath } from "./libraries.pure";

/** Frames of compiled programs: C++, Rust, Swift and Go. */

/** A function of C++, Swift or Rust, its arguments, and a trailing `at file:line`, `from library` or file. */
export function nativeFrame(text: string): Frame | null {
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
  const library = isLibraryName(symbol, "native") || (path !== null && isLibraryPath(path));
  return { name: symbol, path: file, library };
}

/** `_ZN4acme5Stock7reserveEi` -> `acme::Stock::reserve`. */
function demangled(name: string): string {
  const parts: string[] = [];
  let rest = name.slice(3);
  for (let length = Number.parseInt(rest, 10); length > 0; length = Number.parseInt(rest, 10)) {
    rest = rest.slice(String(length).length);
    parts.push(rest.slice(0, length));
    rest = rest.slice(length);
  }
  return parts.length === 0 ? name : parts.join("::");
}

/** The qualified name without arguments, templates, addresses and the trailing hash of a compiler. */
function nativeName(text: string): string | null {
  let name = text
    .replace(/\((\w+) in _[0-9A-F]+\)/, "$1")
    .replace(/^0x[0-9a-fA-F]+ (?:- |in )?/, "")
    .replace(/ [+@] (?:0x)?[0-9a-f]+.*$/, "")
    .replace(/ (?:async )?(?:throws )?-> .*$/, "");
  if (!name.startsWith("<") && !name.startsWith("(")) {
    const open = name.indexOf("(");
    if (open > 0 && !name.startsWith("operator()")) name = name.slice(0, open);
  }
  name = (name.startsWith("_ZN") ? demangled(name) : name)
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
export function rustOrSwiftFrame(text: string, lines: readonly string[], index: number): Frame | null {
  if (text.startsWith("0x")) {
    const native = /^0x[0-9a-f]+,? (.+)$/i.exec(text);
    return native === null ? null : nativeFrame(native[1]!);
  }
  const rust = /^[0-9]+[:#.]\s+(?:0x[0-9a-f]+ - )?(.+)$/.exec(text);
  if (rust) {
    if (/^0x[0-9a-f]+$/.test(rust[1]!)) return null;
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

/**
 * `package.function(arguments)` or, of pkg/errors, `package.function` above a line that begins with the file: the longest name of
 * letters, digits and `_./*()-` before a bracket, with a dot behind its last slash. Brackets belong to names as well:
 * `main.(*Stock).Reserve(0xc000)`.
 */
export function goFrame(text: string, lines: readonly string[], index: number): Frame | null {
  if (!text.endsWith(")") && text.includes(" ")) return null;
  const next = lines[index + 1] ?? "";
  const place =
    next.includes(".go:") || next.includes(".s:")
      ? /^\s+(\S+\.(?:go|s)):[0-9]+/.exec(next.slice(0, LINE_CHARS_MAX))?.[1]
      : undefined;
  // An indented line with a call is code quoted by a traceback, unless its file follows.
  const plain = place !== undefined || text.charCodeAt(0) === lines[index]!.charCodeAt(0);
  const called = plain && text.endsWith(")") ? goName(text) : null;
  const name = called ?? (place !== undefined && text.includes(".") && /^[\w./*()@~[\]-]+$/.test(text) ? text : null);
  if (name === null) return null;
  const library = isLibraryName(name, "go") || (place !== undefined && isLibraryPath(place));
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
