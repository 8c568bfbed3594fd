import { foldPointer } from "./addresses.pure";
import { speaksOfError } from "./announce.pure";

/**
 * JSON in a message, also cut off, of Python, Ruby, JavaScript or the `toString` of a class, read by its members: a body that
 * says which error it is (`code`, `error`, `message`) is reduced to what it says, any other one is data.
 */

/** A member that says which error it is. */
const TELLING = new Set(
  "error errors err code errorcode errcode errortype errorname errormessage errordescription reason message msg detail details exception fault faultcode faultstring cause statuscode exitcode extensions developermessage usermessage subcode suberrors violations sqlstate interpolatedmessage".split(
    " ",
  ),
);
/** A member that is part of what a telling one beside it says. */
const BESIDE = new Set(
  "type kind title description status path field fields missing param params parameter property keyword expected received target name instancepath schemapath pointer datapath propertypath constraint rule severity column loc location resource service".split(
    " ",
  ),
);
/** Members whose own members are named after invalid fields: `"errors": {"Email": ["..."]}`. */
const OF_FIELDS = new Set("errors fielderrors validationerrors violations modelstate invalidparams".split(" "));
/** Their value is a JSON pointer. */
const POINTS = /^(?:instancepath|schemapath|datapath|pointer|instancelocation|keywordlocation)$/;
const NUMBER_SAYS = /^(?:code|errcode|errorcode|status|statuscode|subcode|exitcode|sqlstate|faultcode)$/;

/** The `type` of a problem of RFC 9457 says which error it is, on every host. */
const PROBLEM_TYPE = /^(?:https?:\/\/[^/]*\/|urn:)(?=\S+$)/;

const START =
  /[{[(]\s{0,20}(?:[{[]\s{0,20}){0,4}(?:(?:["'][^"'\n]{1,64}["']|:?[A-Za-z_@$][\w.$@-]{0,40})\s*(?:=>|=(?!=))|["'][^"'\n]{1,64}["']\s*:(?!:))/y;
/** A bare name before a colon begins an object in braces alone: `[orders: 3]` is no list of members. */
const BARE_START = /(?:%?\{|\[\s{0,20}\{)\s{0,20}(?:[A-Za-z_$][\w$]{0,40}\s*:(?![:\w])|: )/y;

export type Members = { end: number; said: string | null };

const DEPTH_MAX = 12;
const SAID_MAX = 12;
const BRACKETS_MAX = 80;

/**
 * The structure that begins at a bracket; null when what follows is no member. `ofError` = the name of an error stands before it.
 * `fold` reduces a text to its words.
 */
export function membersAt(text: string, at: number, ofError: boolean, fold: (text: string) => string): Members | null {
  START.lastIndex = at;
  BARE_START.lastIndex = at;
  if (!START.test(text) && !BARE_START.test(text)) return null;
  const reader = new MemberReader(text, at, fold);
  return { end: reader.read(), said: reader.said(ofError) };
}

/** `{17 Zoe}`, `&{17 Zoe}`: a struct printed by Go. */
const STRUCT_OF_GO = /\{-?[0-9]+ /y;
/** `<Order 17: Zoe>`, `#<Order id: 17>`: an object printed by Python or Ruby. */
const OBJECT = /<((?:[A-Z]\w{0,60}(?:::|\.)){0,6}[A-Z]\w{0,60})(?::? (?=[^<>\n]{0,80}[0-9:])|:)[^<>\n]{0,300}>/y;

/** `<RequestId>...</RequestId>`: an XML element that identifies one thing. */
const ELEMENT = /<([A-Za-z][\w:.-]{0,40})>[^<>]{1,400}<\/\1>/y;
const OF_ONE = /(?:id|key|resource|path|url|user|email|host\w*|arn|time\w*|date|token)$/i;

/** The placeholder for an object printed without readable members; null = not an object. */
export function printedAt(text: string, at: number, out: string): { end: number; as: string } | null {
  const open = text[at];
  if (open === "<") {
    OBJECT.lastIndex = at;
    const name = OBJECT.exec(text)?.[1];
    if (name !== undefined) return { end: OBJECT.lastIndex, as: `<${name} <data>>` };
    ELEMENT.lastIndex = at;
    const element = ELEMENT.exec(text)?.[1];
    return element !== undefined && OF_ONE.test(element)
      ? { end: ELEMENT.lastIndex, as: `<${element}><data></${element}>` }
      : null;
  }
  STRUCT_OF_GO.lastIndex = at;
  const ofGo = open === "[" ? out.endsWith("map") : open === "{" && (out.endsWith("&") || STRUCT_OF_GO.test(text));
  return ofGo ? { end: bracketsEnd(text, at), as: "<data>" } : null;
}

/** The position after the matching closing bracket, or the end of the text. */
export function bracketsEnd(text: string, from: number): number {
  const open = text[from];
  const close = open === "(" ? ")" : open === "[" ? "]" : "}";
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if (text[at] === open) depth++;
    else if (text[at] === close && --depth === 0) return at + 1;
  }
  return text.length;
}

const plainKey = (key: string) => key.replace(/[-_ :@.]/g, "").toLowerCase();

class MemberReader {
  readonly #text: string;
  #at: number;
  readonly #whole: boolean;
  readonly #fold: (text: string) => string;
  #key = "";
  readonly #keys: string[] = [];
  readonly #telling: { key: string; value: string; alone: boolean }[] = [];

  constructor(text: string, at: number, fold: (text: string) => string) {
    this.#text = text;
    this.#at = at;
    this.#whole = at === 0;
    this.#fold = fold;
  }

  said(ofError: boolean): string | null {
    if (this.#telling.length === 0 || !(ofError || this.#isProblem() || this.#telling.some(({ alone }) => alone)))
      return null;
    return this.#telling.map(({ key, value }) => `${key}: ${value}`).join(", ");
  }

  /** A problem of RFC 9457 that has a title and a status alone. */
  #isProblem(): boolean {
    const has = (name: string) => this.#telling.some(({ key }) => key === name);
    return has("title") && has("status");
  }

  /** The position behind the bracket that closes the structure, or the end of the text. */
  read(): number {
    while (this.#at < this.#text.length) {
      const char = this.#text[this.#at]!;
      if (char === "{" || char === "[" || char === "(") this.#open();
      else if (char === "}" || char === "]" || char === ")") {
        this.#at++;
        this.#key = this.#keys.pop() ?? "";
        if (this.#keys.length === 0) return this.#at;
      } else if (char === '"' || char === "'") this.#quoted(char);
      else if (char === "," || char <= " " || char === ":" || char === "=" || char === ">" || char === ";") this.#at++;
      else this.#bare();
    }
    return this.#at;
  }

  #open() {
    this.#at++;
    this.#keys.push(this.#key);
    if (this.#keys.length > DEPTH_MAX) this.#at = this.#text.length;
  }

  #quoted(quote: string) {
    const from = this.#at + 1;
    let to = from;
    while (to < this.#text.length && this.#text[to] !== quote) to += this.#text[to] === "\\" ? 2 : 1;
    this.#at = Math.min(to + 1, this.#text.length);
    this.#keyOrValue(this.#text.slice(from, to));
  }

  /** A word, or words up to the next member: `name=Zoë Müller, id=17`. */
  #bare() {
    const from = this.#at;
    while (this.#at < this.#text.length) {
      const char = this.#text[this.#at]!;
      if (char === "," || char === "}" || char === "]" || char === ")" || char === "{" || char === "[" || char === "=")
        break;
      if (char === "\n" || (char === ":" && this.#at > from && /[\s"'[{]|$/.test(this.#text[this.#at + 1] ?? "")))
        break;
      if (char === "(") {
        if (this.#text[this.#at - 1] !== " ") break;
        // `name=orders (retry)`: the brackets are part of the value.
        const close = this.#text.indexOf(")", this.#at);
        if (close > 0 && close - this.#at < BRACKETS_MAX) this.#at = close;
      }
      this.#at++;
    }
    if (this.#at === from) this.#at++;
    this.#keyOrValue(this.#text.slice(from, this.#at).trim());
  }

  #keyOrValue(text: string) {
    let next = this.#at;
    while (this.#text[next] === " ") next++;
    const char = this.#text[next];
    if (char === ":" || char === "=") {
      this.#key = text;
      this.#at = next + 1;
      return;
    }
    this.#record(text);
  }

  /** The error of a field: below `errors`, or in a list of a message that is a structure as a whole: `{"email": ["..."]}`. */
  #isOfField(value: string): boolean {
    if (this.#keys.some((parent) => OF_FIELDS.has(plainKey(parent)))) return true;
    return this.#whole && this.#keys.length > 1 && speaksOfError(value);
  }

  #record(value: string) {
    if (value === "" || this.#telling.length >= SAID_MAX) return;
    const key = plainKey(this.#key);
    const ofField = /\s/.test(value) && this.#isOfField(value);
    const alone = TELLING.has(key) || ofField;
    if (!alone && !BESIDE.has(key)) return;
    const bare = value.replaceAll("\\", "");
    if (key === "type" && bare === "about:blank") return;
    if (key === "type" && PROBLEM_TYPE.test(bare)) {
      this.#telling.push({ key: this.#key, value: bare.replace(PROBLEM_TYPE, ""), alone });
      return;
    }
    const kept = NUMBER_SAYS.test(key) && /^-?[0-9A-Z.]{1,8}$/.test(bare);
    const parent = ofField ? this.#keys.at(-1)! : "";
    const name = parent === "" || parent === this.#key ? this.#key : `${parent}.${this.#key}`;
    const folded = kept ? bare : POINTS.test(key) && /^#?\//.test(bare) ? foldPointer(bare) : this.#fold(bare);
    this.#telling.push({ key: name, value: folded, alone });
  }
}
