import { foldChunk } from "./addresses.pure";
import { amountAt, ibanEnd, isAlphanumeric, namedDateEnd, phoneAt, pythonTimeEnd } from "./amounts.pure";
import { membersAt } from "./members.pure";
import { isDigit } from "./words.pure";

/** What is read of a message. Behind it there are dumps of the values that are replaced here. */
const MESSAGE_CHARS = 2_000;
/** A quoted text, a URL or a token that is longer is read as its first part. */
const TOKEN_CHARS = 400;
const NESTED_MAX = 3;

/** The words of a message: ids, numbers, names of persons and hosts, times and data are replaced by `<n>`, `<id>`, ... */
export function messagePattern(message: string): string {
  const text = message.slice(0, MESSAGE_CHARS);
  return wordsOf(text.includes('\\"') ? text.replaceAll('\\"', '"') : text, 0);
}

/**
 * What two patterns must have in common to be of one error: the kind of a value does not count (a short commit may hold
 * digits alone), nor the length of a list of values.
 */
export function patternKey(pattern: string): string {
  if (!pattern.includes("<") && !pattern.includes("[]")) return pattern;
  return pattern.replace(KIND_OF_VALUE, "<>").replace(LIST_OF_VALUES, "$1").replace(EMPTY_LIST, "[<>]");
}

const KIND_OF_VALUE = /<[a-z]{1,12}>/g;
const LIST_OF_VALUES = /((?:["'`]|\b[\w.]{1,40}[-_:])?<>["'`]?)(?:(?:\s*[,;|:/+x.-]\s*|\s+(?:and\s+)?)\1)+/g;
const EMPTY_LIST = /(?<![\w\])])\[\s*\]|\[(?:(["'`]?)<>\1)\]/g;

/** Whether a pattern has no word of its own. */
export const isBare = (pattern: string) => !/\p{L}/u.test(pattern.replace(KIND_OF_VALUE, ""));

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

/** Quotes of every script with the one that closes them. */
const CLOSING: Record<string, string> = {
  '"': '"',
  "'": "'",
  "`": "`",
  "\u201c": "\u201d",
  "\u201e": "\u201c\u201d",
  "\u2018": "\u2019",
  "\u201a": "\u2018\u2019",
  "\u00ab": "\u00bb",
  "\u00bb": "\u00ab",
  "\u2039": "\u203a",
  "\u300c": "\u300d",
  "\u300e": "\u300f",
  "\u300a": "\u300b",
};

/** Words that are values, or may begin one, wherever they stand alone. */
const SPECIAL = new Map<string, "bool" | "null" | "date" | "time">([
  ...["true", "false", "True", "False", "TRUE", "FALSE"].map((word) => [word, "bool"] as const),
  ...["null", "None", "nil", "NULL", "undefined", "NaN"].map((word) => [word, "null"] as const),
  ...(
    "Jan Feb Mar Apr May Jun Jul Aug Sep Sept Oct Nov Dec January February March April June July August September October November December " +
    "Mon Tue Wed Thu Fri Sat Sun Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
  )
    .split(" ")
    .map((word) => [word, "date"] as const),
  ["datetime.datetime", "time"],
  ["datetime.date", "time"],
  ["datetime.time", "time"],
  ["datetime.timedelta", "time"],
]);

/** Words behind a number that are counted: one attempt and three attempts are one error. */
const COUNTED = new Set(
  "attempt time retry try row item byte record message argument error event second minute hour day char character element entry column field parameter param request failure node replica partition line task job connection file part chunk match result page".split(
    " ",
  ),
);

class MessageReader {
  readonly #text: string;
  readonly #nested: number;
  #at = 0;
  #out = "";
  /** Where a word ended that announces a secret, 0 = the last word did not. */
  #secretEnd = 0;
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
      if (!this.#out.endsWith(" ")) this.#out += " ";
      this.#at++;
    } else if (kind === TOKEN) this.#token();
    else if (kind === JOINER) this.#joiner(code);
    else if (code === 40 && this.#values()) return;
    else if (kind === BRACKET && this.#structure()) return;
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
    const word = /^ ([a-z]{3,12})\b/.exec(this.#text.slice(this.#at, this.#at + 16))?.[1];
    if (word === undefined || !COUNTED.has(word)) return;
    this.#out += ` ${word.endsWith("y") && word !== "day" ? `${word.slice(0, -1)}ies` : /(?:ch|s)$/.test(word) ? `${word}es` : `${word}s`}`;
    this.#at += word.length + 1;
  }

  #chunk(from: number, end: number, plain: boolean) {
    const text = this.#text;
    const chunk = text.slice(from, end);
    const special = SPECIAL.get(chunk);
    if (special !== undefined && this.#special(special, chunk, from, end)) return;
    this.#at = end;
    const secret = SECRETS.has(chunk.toLowerCase());
    if (this.#secretEnd > 0 && from - this.#secretEnd < 4 && !secret && !STARTS_PHRASE.test(chunk)) {
      this.#secretEnd = 0;
      this.#out += "<secret>";
      return;
    }
    this.#secretEnd = secret ? end : 0;
    if (plain) {
      this.#out +=
        chunk.length < 7 ? chunk : /^[a-f]+$/.test(chunk) ? "<id>" : chunk.length < 16 ? chunk : foldChunk(chunk);
      return;
    }
    const iban = /^[A-Z]{2}[0-9]{2}/.test(chunk) ? ibanEnd(text, from) : -1;
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

  #special(kind: "bool" | "null" | "date" | "time", chunk: string, from: number, end: number): boolean {
    const text = this.#text;
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
    this.#out += "<time>";
    this.#at = to;
    return true;
  }

  /** SQLSTATE and other codes of letters and digits behind the word that announces them. */
  #isCode(chunk: string): boolean {
    return /^(?:[0-9A-Z]{4,8}|0x[0-9a-fA-F]{1,8}|-?[0-9]{1,10})$/.test(chunk) && announcesCode(this.#out.slice(-40));
  }

  /** Whether a number is the error itself: a status, an exit code, an errno. */
  #saysWhich(token: string, end: number): boolean {
    if (!/^-?[0-9]{1,10}$/.test(token)) return VERSION_OF.test(this.#out.slice(-12)) && /^[0-9]\.[0-9]$/.test(token);
    const before = this.#out.slice(-40);
    if ((token.length <= 6 || token.startsWith("-")) && announcesCode(before)) return true;
    if (token.length <= 4 && end === this.#text.length && CODE_EARLIER.test(this.#out.slice(-80))) return true;
    if (
      /(?:^|[Ee]rror)\($/.test(before) &&
      this.#nested === 0 &&
      /^(?:, ?["'b]|\))/.test(this.#text.slice(end, end + 3))
    )
      return true;
    if (!isStatus(token)) return false;
    const after = this.#text.slice(end, end + 24);
    if (REASON_AFTER.test(after) || ANSWERED_BEFORE.test(before)) return !COUNTED_AFTER.test(after);
    if (this.#nested > 0 && before === "") return false;
    if (/(?:^|\s)[([]$/.test(before)) return /^[)\]]/.test(after) && !NUMBER_OF.test(before);
    return /(?:^|: ?|- |=> ?|-> ?|")$/.test(before) && /^(?:\s*$|\s*[,;:)"\]]|\s+-)/.test(after);
  }

  /** `Key (email)=(...)`, `values (...)`: what a row holds. */
  #values(): boolean {
    if (!VALUES_BEFORE.test(this.#out.slice(-24))) return false;
    let depth = 0;
    let at = this.#at;
    do {
      if (this.#text[at] === "(") depth++;
      else if (this.#text[at] === ")") depth--;
      at++;
    } while (depth > 0 && at < this.#text.length);
    this.#out += "(<data>)";
    this.#at = at;
    return true;
  }

  #structure(): boolean {
    if (this.#nested >= NESTED_MAX) return false;
    const text = this.#text;
    if (text[this.#at] === "(" && !/[\w)]$/.test(this.#out)) return false;
    const ofError = /(?:Err|Error|Exception|Failure|Fault) ?$/.test(this.#out);
    const members = membersAt(text, this.#at, ofError, (value) => wordsOf(value, this.#nested + 1));
    if (members === null) return false;
    this.#out += members.said === null ? "<data>" : `{${members.said}}`;
    this.#at = members.end;
    return true;
  }

  #quoted(open: string): boolean {
    const closing = CLOSING[open];
    if (closing === undefined || this.#unclosed.includes(open)) return false;
    const apostrophe = open === "'" || open === "\u2019" || open === '"';
    if (
      apostrophe &&
      /[\p{L}\p{N}]$/u.test(this.#out.slice(-1)) &&
      !/(?:^|[^\p{L}\p{N}])[bruf]$/u.test(this.#out.slice(-2))
    )
      return false;
    if (this.#quotedStructure(open, closing)) return true;
    const close = this.#closing(open, closing);
    if (close < 0) return false;
    const inner = this.#text.slice(this.#at + 1, close).trim();
    this.#out += `${open}${this.#inQuotes(inner, this.#text.slice(close + 1, close + 30))}${this.#text[close]}`;
    this.#at = close + 1;
    return true;
  }

  /** A quoted structure is read as one, whatever quotes are in it: `(String)"{"id": 17, ...`. */
  #quotedStructure(open: string, closing: string): boolean {
    const next = this.#text[this.#at + 1];
    if (next !== "{" && next !== "[") return false;
    this.#at++;
    if (!this.#structure()) {
      this.#at--;
      return false;
    }
    if (closing.includes(this.#text[this.#at] ?? " ")) this.#at++;
    return open !== "";
  }

  #closing(open: string, closing: string): number {
    const text = this.#text;
    for (let at = this.#at + 1; at < text.length; at++) {
      const char = text[at]!;
      if (char === "\\" && open !== "`") at++;
      else if (closing.includes(char) && !(open === "'" && /[\p{L}\p{N}]/u.test(text[at + 1] ?? " "))) return at;
    }
    this.#unclosed += open;
    return -1;
  }

  /**
   * One word is the name of a column, a field, a topic, a code, unless the words before it announce a value. Of several words
   * a passage that speaks of an error is read; others are the names of persons and things.
   */
  #inQuotes(inner: string, after: string): string {
    const before = this.#out.slice(-40);
    if (inner === "") return "<text>";
    if (SECRET_BEFORE.test(before)) return "<secret>";
    if (this.#nested >= NESTED_MAX) return "<text>";
    if (/^-?[0-9]+$/.test(inner)) return announcesCode(before) ? inner : "<text>";
    if (/^[[{<]/.test(inner)) return wordsOf(inner, this.#nested + 1);
    if (PATH.test(inner)) return wordsOf(inner.replace(/\s+/g, "_"), this.#nested + 1);
    if (/\s/.test(inner)) return this.#passage(inner, before);
    if (NAMES_THING.test(before) && isIdentifier(inner)) return inner;
    if (ANNOUNCES_VALUE.test(before) || SAYS_OF_VALUE.test(after)) return "<text>";
    if (inner.length > 80 || /[^\x20-\x7e]/.test(inner) || SIGN.test(inner)) return "<text>";
    const folded = wordsOf(inner, this.#nested + 1);
    return /^(?:<[a-z]+>)$/.test(folded) ? "<text>" : folded;
  }

  #passage(inner: string, before: string): string {
    const whole = before === "" && this.#text.length - this.#at < inner.length + 4;
    if (ARGUMENT_OF_CODE.test(before)) return wordsOf(inner, this.#nested + 1);
    if (TYPE_NAME.test(inner) || SIGNATURE.test(inner)) return wordsOf(inner, this.#nested + 1);
    if (whole || DESCRIBES.test(before) || SPEAKS_OF_ERROR.test(inner)) return wordsOf(inner, this.#nested + 1);
    return "<text>";
  }
}

const VALUES_BEFORE = /(?:\)=|(?:^|[^A-Za-z])(?:key value is|row contains|values)) ?$/i;

const CODE_WORD =
  /(?:^|[^A-Za-z])(?:\w*status|\w*code|\w*errno|exit(?:ed)?|sql ?state|signal|https?(?:\/[0-9](?:\.[0-9])?)?|rc|hresult|winerror|ntstatus|sqlcode|error|err|faultcode|os error|retval|reply-code)[\s:=#([\]"'-]{0,3}(?:(?:of|is|was|with|code|status|number|no\.?|:|=)[\s:=(["']{1,3}){0,2}$/i;
const OTHER_CODE =
  /(?:postal|zip|product|promo|coupon|country|verification|discount|voucher|area|item|tracking|booking|access|sms|bar|qr|currency|article|gift|reset|confirmation|activation|security|invite|referral|customer|order)[\s_-]?(?:code|status)\W{0,4}$/i;

const CODE_EARLIER = /(?:exit|error|status) code\b[^0-9]{0,60}: ?$/i;
const announcesCode = (before: string) =>
  /\bMsg $/.test(before) ||
  (CODE_WORD.test(before) && !OTHER_CODE.test(before) && !/error: ?$/i.test(before.replace(/\w+error: ?$/, "error: ")));

/** What a number in brackets counts or names. */
const NUMBER_OF = /(?:number|count|size|length|index|row|line|id|port|total|items?|offset) [([]$/i;
const VERSION_OF = /(?:HTTP|TLS|SSL)[ /]?v?$/;
const STATUS = /^(?:4(?:0[0-9]|1[0-9]|2[0-6]|28|29|31|44|51|99)|5(?:0[0-8]|10|11|2[0-9]|30|98|99))$/;
const isStatus = (token: string) => STATUS.test(token);

const REASON_AFTER =
  /^[\s:,-]{1,3}(?:Bad|Unauthori|Payment Req|Forbidden|Not |Method|Proxy|Request|Conflict|Gone|Length|Precond|Payload|URI|Unsupported|Range|Expectation|Unprocess|Locked|Too |Internal|Service |Gateway|HTTP|Client Err|Server Err|errors?\b|responses?\b|from |status|by upstream|returned|received|\(|\{|<)/i;
const ANSWERED_BEFORE =
  /(?:return(?:ed|s)|respon[ds]\w*|repl(?:y|ied)|answer\w*|received?|got|fail(?:ed|ure)|gateway|upstream|server|http|api|with|because of|gave|saw)[\s:=]{1,3}(?:(?:an?|with|by|error|status|code|of) ){0,3}$/i;
const COUNTED_AFTER =
  /^ ?(?:%|items?\b|rows?\b|records?\b|messages?\b|times?\b|attempts?\b|bytes?\b|events?\b|retries\b|requests?\b)/i;

const SECRETS = new Set("password passwd passphrase secret apikey api-key api_key bearer credentials".split(" "));
const SECRET_BEFORE = /(?:passw(?:or)?d|passphrase|secret|api[-_ ]?key|bearer|pin|credentials?)(?: ?[=:] ?| )["'`]?$/i;
/** What a sentence about a password goes on with: `password authentication failed`. */
const STARTS_PHRASE = /^[a-z]+$/;

/** One character of a text that could not be read: `Unexpected token 'Z'`. */
const SIGN = /^[^a-z/]$/;
/** What is said of a value and not of a name. */
const SAYS_OF_VALUE =
  /^ (?:is not (?:an? )?(?:valid|number|integer|date|allowed value|well)|is (?:an )?invalid|(?:could not|cannot|can't) be (?:parsed|converted|cast|decoded)|is too |exceeds |is out of )/i;

/** Words before a quoted name of a database or a program, whose digits belong to it: a generated constraint, `address1`. */
const NAMES_THING =
  /(?:constraint|column|relation|table|index|field|property|attribute|for key|parameter|argument|variable|sequence|trigger|class|bean|setting|option|extension|function|procedure|method|module|element|enum|type)[\s=:(]{0,3}$/i;
/** A part of four digits or more is a year or a number of a partition. */
const isIdentifier = (text: string) =>
  text.length <= 64 &&
  /^[\w.$:-]*[A-Za-z][\w.$:-]*$/.test(text) &&
  !/(?:^|[^A-Za-z0-9])[0-9]{4,}|-[0-9a-f]{4}-/.test(text.replaceAll("_", " "));

/** Words before a quoted word that announce a value and not the name of a thing. */
const ANNOUNCES_VALUE =
  /(?:^|[^A-Za-z])(?:values?|input|string|literal|entry|got|received|found|was|customer|person|user|city|street|company|parse|convert|text|number|date|datetime|timestamp|content|argument|given|actual|says|hello|dear|username|login|e-?mail|input (?:string|syntax for (?:type )?[\w ]{1,24})|base [0-9<n>]{1,3}|float|int|integer|uuid|json|decimal|enum [\w.]{1,24})[\s:=(]{0,3}$/i;
/** The path of a file, whose name may have spaces. */
const PATH = /^(?:\/|\.{1,2}[/\\]|[A-Za-z]:[/\\])\S/;
/** `(2006, '...')`: the arguments of an error of a database driver of Python. */
const ARGUMENT_OF_CODE = /(?:^|[Ee]rror)\((?:-?[0-9]+|<n>), ?$/;
const DESCRIBES =
  /(?:desc|description|message|msg|reason|error|errors|detail|details|cause|err|title|exception|says?|said|text|reported|because|failed|response|body)["']?[\s:=(]{1,4}$/i;
const SPEAKS_OF_ERROR =
  /(?:^|[^A-Za-z])(?:not|no|fail\w*|errors?|invalid|denied|declined|refused|time(?:d )?out|missing|expired?|exceed\w*|unknown|cannot|can't|could|unable|unavailable|closed|required|must|unexpected|exists?|forbidden|unauthori[sz]ed|rejected|insufficient|already|too|unsupported|aborted|reset|broken|duplicate|illegal|lost|gone|dead|full|busy|stopped|interrupted|cancell?ed|disconnected|unreachable|terminated|killed|truncated|malformed|unrecogni[sz]ed|undefined|incorrect|wrong|empty|mismatch\w*|blocked|locked|disabled|unhandled|limit|quota|does|too many|violat\w*|conflict|deadlock|overflow|corrupt\w*)(?![A-Za-z])/i;
/** The signature of a method. */
const SIGNATURE = /^(?:public|private|protected|internal|static|final|abstract|async|void|function|def|fn|func|fun) /;
const TYPE_NAME = /^(?:class |interface |type |struct )?[\w.$]+(?:<[\w.$<>, ?]+>|\[\])?$/;
