import { foldChunk, foldPointer } from "./addresses.pure";
import { amountAt, ibanEnd, isAlphanumeric, namedDateEnd, phoneAt, pythonTimeEnd } from "./amounts.pure";
import {
  announcedCodeEarlier,
  announcedToken,
  announcesBrackets,
  announcesCode,
  announcesVersion,
  isStatus,
  saysOfPointer,
} from "./announce.pure";
import { bracketsEnd, membersAt, printedAt } from "./members.pure";
import { CLOSING, closingQuote, foldQuoted, isApostrophe } from "./quotes.pure";
import { COUNTED, isDigit, SPECIAL, SPECIAL_CHARS_MAX, type Special } from "./words.pure";

/** What is read of a message. Behind it there are dumps of the values that are replaced here. */
const MESSAGE_CHARS = 2_000;
/** A quoted text, a URL or a token that is longer is read as its first part. */
const TOKEN_CHARS = 400;
const NESTED_MAX = 3;

/** The words of a message: ids, numbers, names of persons and hosts, times and data are replaced by `<n>`, `<id>`, ... */
export function messagePattern(message: string): string {
  const start = message.slice(0, MESSAGE_CHARS);
  const dump = start.includes("\n") || start.startsWith("Timeout ") ? start.search(DUMP) : -1;
  const read = dump < 0 ? start : start.slice(0, dump);
  const whole = read[5] === " " ? read.replace(/^[IWEF][0-9]{4} (?=[0-9]{2}:)/, "") : read;
  const text = whole.endsWith(")") || whole.includes("[") ? withoutInput(whole) : whole;
  // The whole text was escaped; after an unescaped quote, only the quoted text was.
  const escaped = text.indexOf('\\"');
  return wordsOf(escaped >= 0 && escaped < text.indexOf('"') ? text.replaceAll('\\"', '"') : text, 0);
}

/** Where a parser prints its input, Elixir the arguments, or a client of Redis its counters. */
const DUMP =
  /\nJSON input: |\n\nThe following arguments were given to |(?<=\(at character [0-9]{1,9}\))\n|(?<=^FormatException: [^\n]{1,80})\n|(?:, next: [^,]{1,120})?, inst: [0-9]/;
/** The excerpt of Jackson, the class loaders of a cast, and what no case of Scala matches: `Parcel(17,Ulm) (of class Parcel)`. */
function withoutInput(text: string): string {
  if (text.includes("of loader ")) return text.replace(/ \([^()]{1,400} of loader [^()]{1,200}\)/, "");
  if (text.includes("(of class ")) return text.replace(/^[\s\S]{1,800}(?= \(of class [\w.$]{1,200}\)$)/, "<data>");
  return text.includes(" [Source: ") ? text.replace(/(?<= \[Source: )[\s\S]*?(?=; line: |$)/, "<data>") : text;
}

/**
 * What two patterns must have in common to be of one error: the kind of a value does not count (a short commit may hold
 * digits alone), nor the length of a list of values.
 */
export function patternKey(pattern: string): string {
  const addresses = pattern.includes("[<addr>]") ? pattern.replace(BRACKETED_ADDRESS, "<addr>") : pattern;
  const values = addresses.includes("<") ? addresses.replace(QUOTED_VALUE, "<>") : addresses;
  const single = values.indexOf("<>") === values.lastIndexOf("<>");
  const bare = single ? values : values.replace(LIST_OF_VALUES, "<>");
  const named = !single && NAMED_VALUES.test(bare) ? bare.replace(LIST_OF_NAMED, "$1") : bare;
  const lists = named.includes("<>, ") ? named.replace(LIST_OF_PHRASES, "$1") : named;
  const filled = lists.includes("[") ? lists.replace(EMPTY_LIST, "[<>]") : lists;
  return filled.includes("{}") ? filled.replace(EMPTY_MAP, "<>") : filled;
}

const KIND_OF_VALUE = /<[a-z]{1,12}>/g;
/** IP version 6 with a port: `[::1]:443`. */
const BRACKETED_ADDRESS = /\[<addr>\](?::<n>)?/g;
const QUOTED_VALUE = /<[a-z]{1,12}>|"<[a-z]{1,12}>"|'<[a-z]{1,12}>'|`<[a-z]{1,12}>`/g;
const LIST_OF_VALUES = /<>(?:(?:\s*[,;|:/+x.-]\s*|\s+(?:and\s+)?)<>)+/g;
/** `order-<>, order-<>`: looked for where a value with a name before it does not end the text. */
const NAMED_VALUES = /[-_:]<>\s*[,;|:/+x.\s-]/;
const LIST_OF_NAMED = /(\b[\w.]{1,40}[-_:]<>)(?:(?:\s*[,;|:/+x.-]\s*|\s+(?:and\s+)?)\1)+/g;
/** `connect ECONNREFUSED <>, connect ECONNREFUSED <>`: one failure of each address. */
const LIST_OF_PHRASES = /(?<=^|[,;:([] ?)([^,;<>]{3,80}<>)(?:, \1)+/g;
const EMPTY_LIST = /(?<![\w\])])\[\s*\]/g;
const EMPTY_MAP = /(?<=[:=] ?)\{\}/g;

/** Whether a pattern has no word of its own. */
export const isBare = (pattern: string) =>
  !(pattern.includes("<") ? /^[A-Za-z]/ : /[A-Za-z]/).test(pattern) &&
  !/\p{L}/u.test(pattern.replace(KIND_OF_VALUE, ""));

const wordsOf = (text: string, nested: number) => new MessageReader(text, nested).read();

const SPACE = 1;
const TOKEN = 2;
const JOINER = 3;
const QUOTE = 4;
const BRACKET = 5;
const CLASS = new Uint8Array(128);
for (const char of " \t\n\r\f\v\0") CLASS[char.charCodeAt(0)] = SPACE;
for (let code = 48; code < 123; code++) if (isAlphanumeric(code) || code === 95) CLASS[code] = TOKEN;
for (const char of "-.:/@+~%$#\\*&^!?") CLASS[char.charCodeAt(0)] = JOINER;
for (const char of "\"'`") CLASS[char.charCodeAt(0)] = QUOTE;
for (const char of "{[(") CLASS[char.charCodeAt(0)] = BRACKET;

class MessageReader {
  readonly #text: string;
  readonly #nested: number;
  #at = 0;
  #out = "";
  /** Where a word ended that announces a secret, 0 = the last word did not. */
  #secretEnd = 0;
  /** Where a word ended that a name may follow: `user zoe`. */
  #namedEnd = 0;
  /** Quotes that nothing closes from here on: they are not looked for again. */
  #unclosed = "";

  constructor(text: string, nested: number) {
    this.#text = text;
    this.#nested = nested;
  }

  read(): string {
    while (this.#at < this.#text.length) this.#step();
    return this.#out.trim();
  }

  #step() {
    const text = this.#text;
    const code = text.charCodeAt(this.#at);
    const kind = code < 128 ? CLASS[code]! : code === 0xa0 || code === 0x3000 ? SPACE : QUOTE;
    if (kind === SPACE) {
      if (this.#at === 0 || CLASS[text.charCodeAt(this.#at - 1)] !== SPACE) this.#out += " ";
      this.#at++;
    } else if (kind === TOKEN) this.#token();
    else if (kind === JOINER) this.#joiner(code);
    else if ((code === 40 || code === 91) && this.#values(code)) return;
    else if (kind === BRACKET && this.#structure()) return;
    else if (code === 60 && this.#printed()) return;
    else if (kind === BRACKET && code === 40 && this.#phone()) return;
    else if (kind === QUOTE && this.#quoted(text[this.#at]!)) return;
    else this.#out += text[this.#at++];
  }

  /** A sign before a number, the root of a path and the `::` of an address begin a token; other marks are copied. */
  #joiner(code: number) {
    const text = this.#text;
    const next = text.charCodeAt(this.#at + 1);
    const before = text.charCodeAt(this.#at - 1);
    const inWord = this.#at > 0 && (isAlphanumeric(before) || before > 127);
    if (code === 43 && isDigit(next) && this.#phone()) return;
    const sign =
      (code === 45 || code === 43) && (isDigit(next) || (next === 46 && isDigit(text.charCodeAt(this.#at + 2))));
    if (sign && !inWord) return this.#token();
    const root = code === 47 && !inWord && (isAlphanumeric(next) || next === 46 || next === 95 || next === 36);
    const address =
      code === 58 && next === 58 && !inWord && /^::[0-9a-f]{1,4}\b/i.test(text.slice(this.#at, this.#at + 7));
    if (root || address) return this.#token();
    this.#out += text[this.#at++];
  }

  #phone(): boolean {
    const end = phoneAt(this.#text, this.#at);
    if (end < 0) return false;
    this.#out += "<n>";
    this.#at = end;
    return true;
  }

  #token() {
    const text = this.#text;
    const from = this.#at;
    if (!isAlphanumeric(text.charCodeAt(from)) || isDigit(text.charCodeAt(from))) {
      const amount = this.#amount();
      if (amount) return;
    }
    let end = from + 1;
    let plain = CLASS[text.charCodeAt(from)] === TOKEN && !isDigit(text.charCodeAt(from));
    while (end < text.length && end - from < TOKEN_CHARS) {
      const code = text.charCodeAt(end);
      const kind = code < 128 ? CLASS[code] : 0;
      if (kind === JOINER) plain = false;
      else if (kind !== TOKEN) break;
      else if (code < 65) plain = false;
      end++;
    }
    if (!plain) {
      while (end > from + 1 && CLASS[text.charCodeAt(end - 1)] === JOINER && text[end - 1] !== "/") end--;
      const chunk = text.slice(from, end);
      if (chunk.includes("://") || (chunk.startsWith("/") && chunk.includes("?"))) end = this.#urlEnd(end);
    }
    this.#chunk(from, end, plain);
  }

  #urlEnd(end: number): number {
    let to = end;
    while (to < this.#text.length && to - end < TOKEN_CHARS && !/[\s"'<>`)\]}|\\]/.test(this.#text[to]!)) to++;
    return to;
  }

  #amount(): boolean {
    const text = this.#text;
    const value = amountAt(text, this.#at);
    if (value === null) return false;
    const token = text.slice(this.#at, value.end);
    const kept = value.as === "<n>" && this.#saysWhich(token, value.end);
    this.#out += kept ? token : value.as;
    this.#at = value.end;
    if (token === "1" && !kept) this.#plural();
    return true;
  }

  /** `1 attempt` -> `<n> attempts`. */
  #plural() {
    const word = /^ ([a-z]{3,12})\b(?! [0-9]|\()/.exec(this.#text.slice(this.#at, this.#at + 18))?.[1];
    if (word === undefined || !COUNTED.has(word)) return;
    this.#out += ` ${word.endsWith("y") && word !== "day" ? `${word.slice(0, -1)}ies` : /(?:ch|s)$/.test(word) ? `${word}es` : `${word}s`}`;
    this.#at += word.length + 1;
  }

  #chunk(from: number, end: number, plain: boolean) {
    const text = this.#text;
    const chunk = text.slice(from, end);
    const special = chunk.length > SPECIAL_CHARS_MAX ? undefined : SPECIAL.get(chunk);
    if (special !== undefined && this.#special(special, chunk, from, end)) return;
    this.#at = end;
    if (this.#secretEnd > 0 && from - this.#secretEnd < 4 && special !== "secret" && !STARTS_PHRASE.test(chunk)) {
      this.#secretEnd = 0;
      this.#out += "<secret>";
      return;
    }
    this.#secretEnd = special === "secret" ? end : 0;
    if (text.charCodeAt(from - 1) === 61 && this.#out.endsWith("ame=") && this.#phraseOfMember(from)) return;
    if (this.#mayBeAnnounced(from, end)) {
      const announced = announcedToken(this.#out, chunk, plain, text.slice(end, end + 20));
      if (announced !== null) {
        this.#out += announced;
        return;
      }
    }
    if (special === "named") this.#namedEnd = end;
    if (plain) {
      this.#out +=
        chunk.length < 7
          ? chunk
          : chunk.charCodeAt(0) < 103 && /^[a-f]+$/.test(chunk)
            ? "<id>"
            : chunk.length < 16
              ? chunk
              : foldChunk(chunk);
      return;
    }
    if (
      chunk.charCodeAt(0) === 47 &&
      (NAMES_STEPS.test(this.#out.slice(-5)) || saysOfPointer(text.slice(end, end + 16)))
    ) {
      this.#out += foldPointer(chunk);
      return;
    }
    const iban = chunk.charCodeAt(1) < 91 && /^[A-Z]{2}[0-9]{2}/.test(chunk) ? ibanEnd(text, from) : -1;
    if (iban > 0) {
      this.#out += "<id>";
      this.#at = iban;
      return;
    }
    const folded = this.#isCode(chunk) ? chunk : foldChunk(chunk);
    this.#out += folded;
    if (folded !== chunk && folded.endsWith(">"))
      while (text[this.#at] === "=" && !/[\w"']/.test(text[this.#at + 1] ?? "")) this.#at++;
  }

  /** `Name=Mouse brain cells Id=17`: the value of a member extends to the next member. */
  #phraseOfMember(from: number): boolean {
    NAME_OF_WORDS.lastIndex = from;
    if (!NAME_OF_WORDS.test(this.#text)) return false;
    this.#out += "<text>";
    this.#at = NAME_OF_WORDS.lastIndex;
    return true;
  }

  /** Whether to examine the words around a token: after punctuation, after a word that a name may follow, or before a bracket. */
  #mayBeAnnounced(from: number, end: number): boolean {
    const text = this.#text;
    let before = text.charCodeAt(from - 1);
    if (before === 32) {
      if (this.#namedEnd === from - 1 && from > 1) return true;
      if (text.charCodeAt(end + 1) === 40) return true;
      before = text.charCodeAt(from - 2);
    }
    return before === 58 || before === 61 || before === 91 || before === 40;
  }

  #special(kind: Special, chunk: string, from: number, end: number): boolean {
    if (kind === "secret" || kind === "named") return false;
    const text = this.#text;
    if (kind === "sign") {
      const sign = /^ [^\s"'`<>=a] ?(?![^\s,;.])|^ [<>](?= )/.exec(text.slice(end, end + 4));
      if (sign === null) return false;
      this.#out += `${chunk} <text>`;
      this.#at = end + 2;
      return true;
    }
    if (kind === "paths") {
      // The paths where Perl looked for a module.
      const paths = / (?:contains|entries checked): [^)]*/y;
      paths.lastIndex = end;
      if (!paths.test(text)) return false;
      this.#out += "INC <path>";
      this.#at = paths.lastIndex;
      return true;
    }
    if (kind === "bool" || kind === "null") {
      const stands =
        kind === "bool" ||
        this.#out.endsWith("=") ||
        (/[:([,] ?$/.test(this.#out) && /^\s*(?:[,;)\]}]|$)/.test(text.slice(end, end + 3)));
      if (!stands || /^[-.\w]/.test(text[end] ?? "")) return false;
      this.#out += kind === "bool" ? "<bool>" : "<null>";
      this.#at = end;
      return chunk !== "";
    }
    const to = kind === "date" ? namedDateEnd(text, from) : pythonTimeEnd(text, from);
    if (to < 0) return false;
    this.#at = to;
    SYSLOG_HOST.lastIndex = to;
    if (this.#out === "" && SYSLOG_HOST.test(text)) {
      this.#out = "<time> <host>";
      this.#at = SYSLOG_HOST.lastIndex;
    } else this.#out += "<time>";
    return true;
  }

  /** SQLSTATE and other codes of letters and digits behind the word that announces them. */
  #isCode(chunk: string): boolean {
    return chunk.length < 11 && /^(?:[0-9A-Z]{4,8}|0x[0-9a-fA-F]{1,8})$/.test(chunk) && announcesCode(this.#out);
  }

  /** Whether a number is the error itself: a status, an exit code, an errno. */
  #saysWhich(token: string, end: number): boolean {
    if (!/^-?[0-9]{1,10}$/.test(token)) return /^[0-9]\.[0-9]$/.test(token) && announcesVersion(this.#out);
    if ((token.length <= 6 || token.startsWith("-")) && announcesCode(this.#out)) return true;
    const text = this.#text;
    if (token.length <= 4 && end + (text[end] === "." ? 1 : 0) === text.length && announcedCodeEarlier(this.#out))
      return true;
    if (this.#out.endsWith("(") && this.#nested === 0 && ARGUMENT_ALONE.test(this.#out.slice(-8)))
      return /^(?:, ?["'b]|\))/.test(text.slice(end, end + 3));
    return token.length === 3 && isStatus(token, this.#out, text.slice(end, end + 24), this.#nested === 0);
  }

  /** `Key (email)=(...)`, `values (...)`: what a row holds. */
  #values(open: number): boolean {
    if (!announcesBrackets(this.#out)) return false;
    this.#out += open === 40 ? "(<data>)" : "[<data>]";
    this.#at = bracketsEnd(this.#text, this.#at);
    return true;
  }

  /** An object printed by its language. */
  #printed(): boolean {
    const printed = printedAt(this.#text, this.#at, this.#out);
    if (printed === null) return false;
    this.#out += printed.as;
    this.#at = printed.end;
    return true;
  }

  #structure(): boolean {
    if (this.#nested >= NESTED_MAX) return false;
    const text = this.#text;
    if (text[this.#at] === "(" && !/[\w)]$/.test(this.#out)) return false;
    const ofError = /(?:Err|Error|Exception|Failure|Fault) ?$/.test(this.#out);
    const members = membersAt(text, this.#at, ofError, (value) => wordsOf(value, this.#nested + 1));
    if (members === null) return this.#printed();
    this.#out += members.said === null ? "<data>" : `{${members.said}}`;
    this.#at = members.end;
    return true;
  }

  #quoted(open: string): boolean {
    const text = this.#text;
    const closing = CLOSING[open];
    if (closing === undefined || this.#unclosed.includes(open) || isApostrophe(open, this.#out)) return false;
    if (this.#quotedStructure(closing)) return true;
    const close = closingQuote(text, this.#at, closing);
    if (close < 0) {
      this.#unclosed += open;
      return false;
    }
    const inner = text.slice(this.#at + 1, close).trim();
    const fold = this.#nested < NESTED_MAX ? (part: string) => wordsOf(part, this.#nested + 1) : null;
    const whole = this.#out === "" && text.length - this.#at < inner.length + 4;
    this.#out += `${open}${foldQuoted(inner, this.#out, text.slice(close + 1, close + 30), whole, fold)}${text[close]}`;
    this.#at = close + 1;
    return true;
  }

  /** A quoted structure is read as one, whatever quotes are in it: `(String)"{"id": 17, ...`. */
  #quotedStructure(closing: string): boolean {
    const next = this.#text[this.#at + 1];
    if (next !== "{" && next !== "[") return false;
    this.#at++;
    if (!this.#structure()) {
      this.#at--;
      return false;
    }
    if (closing.includes(this.#text[this.#at] ?? " ")) this.#at++;
    return true;
  }
}

const NAME_OF_WORDS =
  /[^\s=:,;"'()[\]{}]{1,40}(?: [^\s=:,;"'()[\]{}]{1,40}){1,12}?(?=(?: [A-Z][a-z]+)? [A-Za-z]{1,24}=)/y;
/** `May 28 23:21:58 mail-7 postfix/smtpd[1332]: `: the host of a syslog line. */
const SYSLOG_HOST = / [\w.-]+(?= [\w./-]+(?:\[[0-9]+\])?: )/y;
/** Before a JSON pointer or the path of an actor. */
const NAMES_STEPS = /#$|^Path\($/;
const ARGUMENT_ALONE = /(?:^|[Ee]rror)\($/;
/** What a sentence about a password goes on with: `password authentication failed`. */
const STARTS_PHRASE = /^[a-z]+$/;
