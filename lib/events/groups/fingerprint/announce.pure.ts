import { foldChunk, foldKey } from "./addresses.pure";
import { isDigit } from "./words.pure";

/** What the words around a value say about it: the error itself, the name of something in the program, a value, a secret. */

type Announcement = { word: string; gap: string; from: number };

const isLetter = (code: number) => (code >= 97 && code <= 122) || (code >= 65 && code <= 90);

const GAP_MAX = 6;

/**
 * The last word of a text in lower case (the last part of `orderId` and `order_id`), and the punctuation after it. Null when more
 * than punctuation follows it.
 */
function lastWord(text: string, end = text.length): Announcement | null {
  let to = end;
  while (to > 0 && end - to <= GAP_MAX && !isLetter(text.charCodeAt(to - 1))) {
    if (isDigit(text.charCodeAt(to - 1)) || text.charCodeAt(to - 1) === 62) return null;
    to--;
  }
  let from = to;
  while (from > 0 && isLetter(text.charCodeAt(from - 1))) {
    from--;
    // The hump of a camel-case name: a capital after a lower-case letter.
    if (from > 0 && text.charCodeAt(from) < 97 && text.charCodeAt(from - 1) >= 97) break;
  }
  return from === to ? null : { word: text.slice(from, to).toLowerCase(), gap: text.slice(to, end), from };
}

const setOf = (words: string) => new Set(words.split(" "));

/** People, goods, places and ids: a name after one is a value. */
const NAMED_BY_VALUE = setOf(
  "id ids uuid guid slug sku isbn ean vin iban username login email mail user users customer person owner author member player employee student patient recipient sender tenant merchant subscriber guest host hostname city street company country currency locale language timezone phone msisdn barcode product article variant address coupon voucher",
);

/** After these and a colon comes an input value, also without quotes: `Invalid time value: tomorrow`. */
const GIVEN_PLAIN = setOf("value input date datetime timestamp number integer float decimal");

/** After these comes an input value: `For input string: "..."`, `Duplicate entry '...'`, `got '...'`. */
const GIVEN = setOf(
  "value values input string literal entry got received found was parse parsing convert converting text number date datetime timestamp time data thread content argument given actual says hello dear referrer referer float int integer json decimal near character char token symbol byte letter bytes",
);

/** How a sentence about a member continues: `email: required`, `user must be active`. */
const PREDICATE =
  /^(?:required|invalid|missing|must|is|isn|are|was|were|be|should|shall|can|cannot|could|couldn|not|no|none|unknown|expected|already|too|has|have|had|may|might|will|does|doesn|do|did|empty|disabled|failed|failure|failing|unauthorized|unauthorised|locked|expired|error|errors|exists|exceeds|mismatch|mismatched|and|or|of|in|at|on|to|for|from|by|with|the|a|an|this|that|null|nil|field|value|length|format|only|unable|cannot|denied|refused|blocked|banned|deleted|inactive|unsupported|duplicate|duplicated|undefined|unreachable|unavailable|wrong|bad|illegal|malformed|incorrect|insufficient|access|please|did|never|still|string|number|int|integer|boolean|array|object|blank|taken)$/i;

/** `User not found: `, `customer does not exist: ` */
const NOT_THERE = /([A-Za-z]+) (?:(?:was |is |were |are )?not found|does(?: not|n't) exist|already exists)\W{0,3}$/;

/** A condition or an assignment of SQL: `WHERE name = '...'`. */
const SQL = /(?:WHERE|AND|OR|SET|ON|HAVING|,)\s{1,4}[\w.`"[\]]{1,60}\s{0,2}(?:[=<>]|!=|<>|[<>]=|I?LIKE)\s{0,2}$/i;
export const isComparedInSql = (out: string) => /[=<>eE]\s{0,2}$/.test(out.slice(-3)) && SQL.test(out.slice(-80));

/** Whether the words before a quoted word announce a value, not the name of a thing. */
export function announcesValue(before: string): boolean {
  const last = lastWord(before);
  if (last === null) return BASE_OR_SYNTAX.test(before);
  const { word, from, gap } = last;
  if (word === "found" || word === "exist" || word === "exists") {
    const thing = NOT_THERE.exec(before)?.[1];
    if (thing !== undefined) return NAMED_BY_VALUE.has(thing.toLowerCase());
  }
  if (gap.includes(")") && !gap.startsWith("()")) return false;
  if (word === "before") return gap.includes(":");
  if (word === "near") return before.slice(0, from).endsWith("use ");
  if (NAMED_BY_VALUE.has(word) || GIVEN.has(word)) return !gap.includes(",") && !gap.includes(".");
  return BASE_OR_SYNTAX.test(before);
}

const BASE_OR_SYNTAX =
  /(?:base [0-9<n>]{1,3}|input (?:string|for query argument \$<n>|syntax for (?:type )?[\w ]{1,24})|enum [\w.]{1,24})[\s:=(]{0,3}$/i;

/**
 * The placeholder for an unquoted token that its context marks as a value; null = not a value. `plain` = only
 * letters, `after` = the text after it.
 */
export function announcedToken(out: string, token: string, plain: boolean, after: string): string | null {
  const before = out.charCodeAt(out.length - 1);
  if (before === 91) return ENTITY.test(token) && after.startsWith("]") ? "<id>" : null;
  if (before !== 32 && before !== 61 && before !== 58 && before !== 40) return null;
  if (out.endsWith(" = ") && QUOTED_COLUMN.test(out.slice(-4)) && isComparedInSql(out)) return "<text>";
  if (token.length === 1 && after.startsWith(")") && out.endsWith(" (")) return "<text>";
  if (after.startsWith(" (") && ID_BEHIND.test(after) && NAME_OF_ID.test(token)) return "<id>";
  if (!plain && isObjectKey(out, token)) return foldKey(`/${token}`).slice(1);
  if (out.endsWith("enum constant ")) return `${token.slice(0, token.lastIndexOf(".") + 1)}<text>`;
  if (!plain && token.includes(".") && QUALIFIES.test(out.slice(-24)))
    return `<id>${foldChunk(token.slice(token.indexOf(".")))}`;
  return isAnnounced(out.slice(-40), token, plain, after) ? (plain ? "<text>" : "<id>") : null;
}

/** `Key: incoming/orders.json`: an object of a store. */
const KEY_BEFORE = /(?:^|[^a-z])key(?:: ?|=| ["'`]?)$/i;
const KEY = /^[^/:][^:]*\/[^/]+\.[A-Za-z][A-Za-z0-9]{1,7}$/;
export const isObjectKey = (before: string, token: string) =>
  token.includes("/") && KEY_BEFORE.test(before.slice(-8)) && KEY.test(token);
/** A quoted column is not compared with an unquoted one: the value was written into the statement. */
const QUOTED_COLUMN = /["`\]] = $/;
/** `[com.acme.Order#zoe]`: a Hibernate entity with its id. */
const ENTITY = /^\w+(?:\.\w+)+#/;
/** `serene_lalande (08bb0bd9684c...)`: a name before the id of the same thing in brackets. */
const NAME_OF_ID = /^[A-Za-z]+(?:[_-]\w+)+$/;
const ID_BEHIND = /^ \((?=[a-f]*[0-9])[0-9a-f]{12}/;
/** After these, a table or an index may be qualified by its database or schema, which names the environment. */
const QUALIFIES = /(?:constraint \(|key error (?:collection|index): )$/;

/** `id=zoe`, `Trace ID: eeee`, `User not found: zoe`, `slug red-winter-jacket`, `User zoe not found`. */
function isAnnounced(before: string, token: string, plain: boolean, after: string): boolean {
  const last = lastWord(before);
  if (last === null) return false;
  const { word, gap, from } = last;
  const joined = gap.endsWith("=") || /^ ?:/.test(gap);
  if (!plain && !joined && HAS_DIGIT.test(token)) return false;
  if (joined && (word === "found" || word === "exist" || word === "exists")) {
    const thing = NOT_THERE.exec(before)?.[1];
    return thing !== undefined && NAMED_BY_VALUE.has(thing.toLowerCase()) && !PREDICATE.test(token);
  }
  if (joined && GIVEN_PLAIN.has(word)) return !/["'`] $/.test(before.slice(0, from)) && !PREDICATE.test(token);
  if (!NAMED_BY_VALUE.has(word) || PREDICATE.test(token)) return false;
  if (joined || (gap === " (" && after.startsWith(")"))) return true;
  if (gap !== " ") return false;
  if (!plain) return SPACED.has(word) && !token.includes("/");
  return (
    PERSON.has(word) &&
    !OF_PERSON.test(token) &&
    (before.slice(0, from).endsWith("for ") ? ENDS.test(after) : SAID_OF_PERSON.test(after))
  );
}

const HAS_DIGIT = /[0-9]/;
/** Words whose name follows after a space. */
const SPACED = setOf("id uuid guid slug sku username login user customer person owner tenant merchant host hostname");
const PERSON = setOf("user customer username tenant member player employee");
/** Words used with a person that do not name one. */
const OF_PERSON =
  /^(?:account|accounts|id|ids|name|names|email|profile|session|input|data|request|service|role|roles|group|groups|agent|permissions?|settings?|token|password|details?|records?|objects?|types?|table|preferences|index|info|information|context|defined|model|entity|repository|store|pool|creation|registration|authentication|credentials|identity|key|keys|list|order|orders|address|addresses|card|code|status|state|interface|mode|space|limit|count|database|directory|file|function|variable|property|attribute|field|column)$/i;
const SAID_OF_PERSON =
  /^ (?:(?:was |is )?not found|does(?: not|n't) exist|already exists|is not|has no|is already|has already|not exist)/;
const ENDS = /^(?:$|[.,;)\n]| \()/;

const CODE_WORD =
  /(?:^|[^A-Za-z])(?:\w*status|\w*code|\w*errno|exit(?:ed)?|sql ?state|signal|https?(?:\/[0-9](?:\.[0-9])?)?|rc|hresult|winerror|ntstatus|sqlcode|error|err|faultcode|os error|retval|reply-code|curl)[\s:=#([\]"'-]{0,3}(?:(?:of|is|was|with|code|status|number|no\.?|:|=)[\s:=(["']{1,3}){0,2}$/i;
const OTHER_CODE =
  /(?:postal|zip|product|promo|coupon|country|verification|discount|voucher|area|item|tracking|booking|access|sms|bar|qr|currency|article|gift|reset|confirmation|activation|security|invite|referral|customer|order)[\s_-]?(?:code|status)\W{0,4}$/i;
/** The last words of CODE_WORD, as a quick check: few numbers follow one of them, and the expressions are slow. */
const CODE_LAST = setOf(
  "status code errno exit exited state sqlstate signal http https rc hresult winerror ntstatus sqlcode error err faultcode retval of is was with number no curl statuscode msg",
);

/** Whether a number or a code after these words is the error itself: a status, an exit code, an errno. */
export function announcesCode(out: string): boolean {
  const last = lastWord(out);
  if (last !== null && !CODE_LAST.has(last.word) && !/(?:status|code|errno)$/.test(last.word)) return false;
  const before = out.slice(-40);
  if (last === null && !/http\W[0-9.]+\W+$/i.test(before)) return false;
  if (/\bMsg $/.test(before)) return true;
  // `[error] 6410#0`: the level of a log.
  if (last !== null && /^err(?:or)?$/.test(last.word) && /^\] ?$/.test(last.gap)) return false;
  // `Unexpected character ('x' (code 120))`
  if (/["'] \(code $/.test(before)) return false;
  if (!CODE_WORD.test(before) || OTHER_CODE.test(before)) return false;
  return !/(?:^|\W)error: ?$/i.test(before);
}

const CODE_EARLIER = /(?:exit|error|status) code\b[^0-9]{0,60}: ?$/i;
export const announcedCodeEarlier = (out: string) => CODE_EARLIER.test(out.slice(-80));

/** What a number in brackets counts or names. */
const NUMBER_OF = /(?:number|count|size|length|index|row|line|id|port|total|items?|offset) [([]$/i;
/** What a number behind a colon measures. */
const MEASURED =
  /(?:actual|max|maximum|min|minimum|limit|size|length|count|total|offset|index|line|position|port|width|height|allowed|available|remaining|capacity|took|elapsed): ?$/i;
const VERSION_OF = /(?:HTTP|TLS|SSL)[ /]?v?$/;
export const announcesVersion = (out: string) => VERSION_OF.test(out.slice(-12));

const STATUS = /^(?:4(?:0[0-9]|1[0-9]|2[0-6]|28|29|31|44|51|99)|5(?:0[0-8]|10|11|2[0-9]|30|98|99))$/;
const REASON_AFTER =
  /^[\s:,-]{1,3}(?:Bad|Unauthori|Payment Req|Forbidden|Not |Method|Proxy|Request|Conflict|Gone|Length|Precond|Payload|URI|Unsupported|Range|Expectation|Unprocess|Locked|Too |Internal|Service |Gateway|HTTP|Client Err|Server Err|errors?\b|responses?\b|from |status|by upstream|returned|received|\(|\{|<)/i;
const ANSWERED_BEFORE =
  /(?:return(?:ed|s)|respon[ds]\w*|repl(?:y|ied)|answer\w*|received?|got|fail(?:ed|ure)|gateway|upstream|server|http|api|with|because of|gave|saw)[\s:=]{1,3}(?:(?:an?|with|by|error|status|code|of) ){0,3}$/i;
const COUNTED_AFTER =
  /^ ?(?:%|items?\b|rows?\b|records?\b|messages?\b|times?\b|attempts?\b|bytes?\b|events?\b|retries\b|requests?\b)/i;

/** Whether a number is an HTTP status by its context; `whole` = it is in the message itself, not in a member or quotes. */
export function isStatus(token: string, out: string, after: string, whole: boolean): boolean {
  if (!STATUS.test(token)) return false;
  const before = out.slice(-40);
  if (REASON_AFTER.test(after) || ANSWERED_BEFORE.test(before)) return !COUNTED_AFTER.test(after);
  if (!whole && before === "") return false;
  if (/(?:^|\s)[([]$/.test(before)) return /^[)\]]/.test(after) && !NUMBER_OF.test(before);
  if (MEASURED.test(before) && !/status|http|code|response/i.test(before)) return false;
  return /(?:^|: ?|- |=> ?|-> ?|")$/.test(before) && /^(?:\s*$|\s*[,;:)"\]]|\s+-)/.test(after);
}

/** `Key (email)=(...)`, `values (...)`, `rejected value [...]`: the brackets contain the input. */
const IN_BRACKETS =
  /(?:\)=|(?:^|[^A-Za-z])(?:key value is|row contains|values|(?:rejected|invalid|given|with|for|the) value|input|string|(?:args|arguments|params|parameters|bindings):)) ?$/i;
export const announcesBrackets = (out: string) => IN_BRACKETS.test(out.slice(-24));

const SECRET_BEFORE = /(?:passw(?:or)?d|passphrase|secret|api[-_ ]?key|bearer|pin|credentials?)(?: ?[=:] ?| )["'`]?$/i;
export const announcesSecret = (before: string) => SECRET_BEFORE.test(before);

/** Words that follow a value, not a name. */
const SAYS_OF_VALUE =
  /^ (?:(?:is not|isn't) (?:an? )?(?:valid|number|numeric|integer|date|allowed value|well|one of|of type)|does not match|is (?:an )?invalid|(?:could not|cannot|can't) be (?:parsed|converted|cast|decoded)|is too |exceeds |is out of )/i;
export const saysOfValue = (after: string) => after.startsWith(" ") && SAYS_OF_VALUE.test(after);

/** How a validator speaks of the member at a JSON pointer. */
const SAYS_OF_POINTER = /^["'`]?(?:: required| (?:is )?(?:must|should|required|missing)\b|,List\(Json)/;
export const saysOfPointer = (after: string) => SAYS_OF_POINTER.test(after);

/** Words before a quoted database or program name, whose digits are part of it: a generated constraint, `address1`. */
const NAMES_THING =
  /(?:constraint|column|relation|table|index|field|property|attribute|for key|parameter|argument|variable|sequence|trigger|class|bean|setting|option|extension|function|procedure|method|module|element|enum|type)[\s=:(]{0,3}$/i;
/** A part of four digits or more is a year or a partition number. */
const isIdentifier = (text: string) =>
  text.length <= 64 &&
  /^[\w.$:-]*[A-Za-z][\w.$:-]*$/.test(text) &&
  !/(?:^|[^A-Za-z0-9])[0-9]{4,}|-[0-9a-f]{4}-/.test(text.replaceAll("_", " "));
export const namesThing = (before: string, inner: string, after: string) =>
  NAMES_THING.test(before) && isIdentifier(inner) && !(/argument $/i.test(before) && SAYS_OF_VALUE.test(after));

/** `(2006, '...')`: the arguments of a Python database driver's error. */
const ARGUMENT_OF_CODE = /(?:^|[Ee]rror)\((?:-?[0-9]+|<n>), ?$/;
const DESCRIBES =
  /(?:desc|description|message|msg|reason|error|errors|detail|details|cause|err|title|exception|says?|said|text|reported|because|failed|response|body|panicked at)["']?[\s:=(]{1,4}$/i;
const SPEAKS_OF_ERROR =
  /(?:^|[^A-Za-z])(?:not|no|fail\w*|errors?|invalid|denied|declined|refused|time(?:d )?out|missing|expired?|exceed\w*|unknown|cannot|can't|could|unable|unavailable|closed|required|must|unexpected|exists?|forbidden|unauthori[sz]ed|rejected|insufficient|already|too|unsupported|aborted|reset|broken|duplicate|illegal|lost|gone|dead|full|busy|stopped|interrupted|cancell?ed|disconnected|unreachable|terminated|killed|truncated|malformed|unrecogni[sz]ed|undefined|incorrect|wrong|empty|mismatch\w*|blocked|locked|disabled|unhandled|limit|quota|does|too many|violat\w*|conflict|deadlock|overflow|corrupt\w*)(?![A-Za-z])/i;
export const speaksOfError = (text: string) => SPEAKS_OF_ERROR.test(text);

const SIGNATURE = /^(?:public|private|protected|internal|static|final|abstract|async|void|function|def|fn|func|fun) /;
const TYPE_NAME = /^(?:class |interface |type |struct )?[\w.$]+(?:<[\w.$<>, ?]+>|\[\])?$/;
/** `Acme.Core, Version=1.0.0.0, Culture=neutral`, `orders_fkey (index)`, `Acme.IStock stock`: a name and what it is. */
const NAME_WITH_MEMBERS = /^[\w.$-]+, \w+=|^\w+ \(\w+\)$|^\w+(?:\.[A-Z]\w*)+ [a-z]\w*$/;

/** Whether a quoted text of several words describes an error and is read; others are names of people and things. */
export const isPassage = (inner: string, before: string) =>
  ARGUMENT_OF_CODE.test(before) ||
  TYPE_NAME.test(inner) ||
  SIGNATURE.test(inner) ||
  NAME_WITH_MEMBERS.test(inner) ||
  DESCRIBES.test(before) ||
  SPEAKS_OF_ERROR.test(inner);
