/**
 * Tells the words of a message from its values, one token at a time. A token that mixes letters and digits is a value,
 * unless its digits belong to a name: `utf8`, `OAuth2Token`, `v1`, `ORA-00001`.
 */

/** `stem` is a word with a number behind it, such as `worker12`: the word stays and the number is a value. */
type TokenKind = "word" | "number" | "stem" | "opaque";

/** Names whose digits tell them apart, as parts of a camel-case name too: `Utf8Decoder`, `readInt32`, `toV2`. */
const NAMED_DIGITS = new RegExp(
  [
    "(?<![A-Za-z])(?:utf|ucs)[-_]?(?:7|8|16|32)(?:le|be|mb[34])?(?![a-z0-9])",
    "(?:[Uu]tf|UTF|[Uu]cs|UCS)(?:8|16|32)(?:LE|BE)?(?![a-z0-9])",
    "(?:[Bb]ase|BASE)(?:16|32|36|58|62|64|85)(?![0-9])",
    "(?<![A-Za-z])(?:http|https|tls|ssl|h|amqp|mqtt|socks|smb|nfs|oauth|ldap|imap|pop|jsr|ipv|ip|pg|psycopg|py|python|ruby|php|java|jdk|node|es|junit|vue|boto|urllib|log|struts|hibernate|net|netty|servlet|dbcp|jackson|asyncpg|mod|win|db|neo|sqlite|web|uuidv|jsonb|grpc|rfc|iso|cp|koi|windows|latin)[0-9]{1,2}(?![0-9a-z])",
    "(?:Http|HTTP|Tls|TLS|OAuth|Oauth|OAUTH|IPv|Ipv|IPV|Log|Es|Socks|SOCKS|Web|Win)[0-9]{1,2}(?![0-9a-z])",
    "(?:[Ss]ha|SHA)(?:1|2|3|224|256|384|512)(?![0-9])",
    "(?:[Mm]d|MD)[245](?![0-9a-z])",
    "(?:[Aa]es|AES|[Rr]sa|RSA|RS|ES|HS|PS|rs|es|hs|ps)(?:128|192|256|384|512|1024|2048|4096)(?![0-9])",
    "(?:u?int|U?[Ii]nt|UINT|INT|[Ff]loat|FLOAT|[Dd]ecimal|(?<![A-Za-z])[iuf]|(?<![A-Za-z])bit|(?<![A-Za-z])char)(?:2|4|8|16|32|64|128|256)(?:_t)?(?![0-9a-z])",
    "(?<![A-Z0-9])S3(?![a-z0-9])|(?<![A-Za-z0-9])s3(?![a-z0-9])",
    "(?<![A-Z0-9])(?:EC2|Ec2|R2|H2|C3P0|K8s|X509|P12|V8)(?![a-z0-9])|(?<![A-Za-z0-9])(?:ec2|r2|h2|c3p0|k8s|k3s|x509|x64|x86|amd64|arm64|aarch64|i386|i686|p12|p8|pkcs[0-9]{1,2}|log4j2?|slf4j|dom4j|neo4j|db2|mp[34]|h26[45]|i18n|l10n|a11y|e2e|b2[bc]|p2p|o365|m2m|2fa|3ds2?|r2dbc|oauth2?|web3|cp[0-9]{3,4}|rfc[0-9]{3,5}|utf8mb[34])(?![a-z0-9])",
    "(?:[Ll]og4|LOG4)[A-Za-z]|(?:[Ss]lf|[Dd]om|[Nn]eo)4[Jj]",
    "(?<![A-Z0-9])V[0-9]{1,2}(?:(?:alpha|beta|rc)[0-9]*)?(?![0-9a-z])|(?<![A-Za-z0-9])v[0-9]{1,2}(?:(?:alpha|beta|rc|p)[0-9]*)?(?![0-9a-z])",
    "(?<![A-Za-z0-9])[1-5]xx(?![a-z0-9])|(?<![A-Z0-9])[1-5]XX(?![A-Z0-9])",
    "(?<=[a-z])2(?=[A-Z])|(?<=[A-Z]{3})2(?=[A-Z]{3})",
  ].join("|"),
  "g",
);

/** Codes that say which error it is: Oracle, MongoDB, Prisma, compilers, message brokers, SQLSTATE classes of drivers. */
const ERROR_CODE =
  /^(?:(?:ORA|PLS|TNS|DPY|DPI|NJS|SP2|RMAN|OCI|UCP|LPX|KUP|CRS|JDBC|SQL|IMP|EXP|FRM|CVE)-?[0-9]+[A-Z]?(?:[-_:][0-9A-Z]+)*|E[0-9]{3,6}|ERR[0-9]{1,6}|P[0-9]{4}|TS[0-9]{4,5}|CS[0-9]{4}|MSB[0-9]{4}|NU[0-9]{4}|PGRST[0-9]{1,3}|AMQ[0-9]{6}|HHH[0-9]{6}|ISPN[0-9]{6}|WFLY[A-Z]*[0-9]{4}|UT[0-9]{6}|HY[0-9]{3}|XX[0-9]{3}|08[0-9]{3}|40P0[0-9]|42P[0-9]{2}|57P0[0-9]|P000[0-9]|AADSTS[0-9]+|DEP[0-9]{4}|(?:HTTP|ERR|ERROR|E|STATUS|EXIT|CODE|UPSTREAM|SQL|GRPC|UND|ER|RC)(?:_[A-Z0-9]+)+)$/;

/** Encodings, algorithms and documents that are known by a number. */
const NUMBERED =
  /^(?:utf|ucs|iso|sha|aes|tls|ssl|http|windows|cp|ibm|koi8|big5|gb|euc|pkcs|rfc|latin|ascii)[-_]?(?:[0-9]{1,5}|v[0-9])(?:[-_.]?(?:le|be|r|u|sig|[0-9]{1,3}|gcm|cbc|ctr|mb[34]|ecb|hmac|ecdsa|rsa))*$/i;

/** Each hump of a camel-case name has a small letter behind its capital: `IRFa` and `myT` are no names. */
const REGULAR_WORD = /^(?:[a-z]+|[A-Z]+|[A-Z]?[a-z]+(?:[A-Z][a-z]+)*)$/;

/** A run of letters and digits, which holds a digit. */
function alphanumericKind(token: string): TokenKind {
  if (isNumber(token)) return "number";
  if (isName(token)) return "word";
  // A short commit may end in its only digits.
  if (/^[0-9a-f]{6,}$/.test(token)) return "opaque";
  const digits = trailingDigits(token);
  if (digits === 0 || digits > 4) return "opaque";
  const stem = token.slice(0, token.length - digits);
  if (stem.length < 3 || !REGULAR_WORD.test(stem)) return "opaque";
  return stem === stem.toUpperCase() ? "opaque" : "stem";
}

const isNumber = (token: string) => /^[0-9]+$/.test(token);

/** Whether all digits of a token belong to names. */
function isName(token: string): boolean {
  const first = token.charCodeAt(0);
  if ((first < 97 && ERROR_CODE.test(token)) || (!isDigit(first) && NUMBERED.test(token))) return true;
  if (isDigit(first) && !/^(?:2fa|3ds|[1-5](?:xx|XX))/.test(token)) return false;
  NAMED_DIGITS.lastIndex = 0;
  return !/[0-9]/.test(token.replace(NAMED_DIGITS, ""));
}

function trailingDigits(token: string): number {
  let from = token.length;
  while (from > 0 && isDigit(token.charCodeAt(from - 1))) from--;
  return token.length - from;
}

export const isDigit = (code: number) => code >= 48 && code <= 57;

/** A loop costs less than an expression on texts as short as tokens. */
export function hasDigit(token: string): boolean {
  for (let at = 0; at < token.length; at++) if (isDigit(token.charCodeAt(at))) return true;
  return false;
}

const CONSONANTS = /^[BCDFGHJKLMNPQRSTVWXZ]{6,}$/;

/**
 * Letters alone that no person would write: capitals without a vowel, as in a reference without digits, or a long run of changing
 * case, as in a nanoid.
 */
function isRandomLetters(token: string): boolean {
  if (token.length < 16) return token.length > 5 && token.charCodeAt(0) < 97 && CONSONANTS.test(token);
  let humps = 0;
  for (let at = 1; at < token.length; at++) {
    const before = token.charCodeAt(at - 1);
    const here = token.charCodeAt(at);
    if (before >= 97 && here >= 65 && here <= 90) humps++;
  }
  return humps * 4.5 > token.length;
}

/** The suffix that Kubernetes adds to a pod name: five letters and digits, without vowels. */
const POD_SUFFIX = /-[bcdfghj-np-tv-xz]{5}$/;

/** One token of letters, digits, `-` and `_` as written in a pattern. */
export function foldToken(token: string): string {
  if (!hasDigit(token))
    return token.at(-6) === "-" && POD_SUFFIX.test(token) ? foldParts(token) : isRandomLetters(token) ? "<id>" : token;
  // HRESULT and NTSTATUS say which error it is.
  if (token.charCodeAt(0) === 48 && /^0x[0-9a-f]+$/i.test(token))
    return /^0x(?:80|c00)[0-9a-f]{5,6}$/i.test(token) && token.length === 10 ? token : "<hex>";
  if (token.includes("-") || token.includes("_")) return foldParts(token);
  switch (alphanumericKind(token)) {
    case "word":
      return token;
    case "number":
      return "<n>";
    case "stem":
      return `${token.slice(0, token.length - trailingDigits(token))}<n>`;
    case "opaque":
      return "<id>";
  }
}

/**
 * A token of several parts of which one is a value is a value: a pod, a reference, a slug. One word in front of it
 * stays, as the type of a typed id (`order-77`, `req_9a81c3`); in snake case, which names things of a program, all words do
 * that stand in front of a number.
 */
function foldParts(token: string): string {
  if (isName(token) && !POD_SUFFIX.test(token)) return token;
  const kebab = token.includes("-");
  const parts = token.split(/[-_]/);
  const kinds = parts.map((part) =>
    hasDigit(part) ? alphanumericKind(part) : part.length === 5 && POD_SUFFIX.test(`-${part}`) ? "opaque" : "word",
  );
  const words = kinds.findIndex((kind, at) => kind !== "word" || !REGULAR_WORD.test(parts[at]!));
  if (words < 0) return token;
  if (kinds.every((kind) => kind === "word")) return isRandomLetters(token) ? "<id>" : token;
  if (words === 0) return "<id>";
  const numbered = kinds.slice(words).every((kind) => kind === "number" || kind === "stem");
  const mixed = kebab && token.includes("_") && parts.length > 2;
  const kept = kebab ? words === 1 && !mixed : words <= 2 || numbered;
  if (!kept || parts[0]!.length < 2) return "<id>";
  let end = 0;
  for (let part = 0; part < words; part++) end += parts[part]!.length + 1;
  return `${token.slice(0, end)}${numbered ? "<n>" : "<id>"}`;
}

/** Whether a folder, a file or a step of a path is a value: a release, a digest, an id. */
export function isValue(token: string): boolean {
  if (!hasDigit(token)) return isRandomLetters(token);
  return foldToken(token) !== token;
}

export type Special = "bool" | "null" | "date" | "time" | "sign" | "paths" | "secret" | "named";

const inEachCase = (words: string) =>
  words.split(" ").flatMap((word) => [word, word[0]!.toUpperCase() + word.slice(1), word.toUpperCase()]);

/** Words that, standing alone, are values or may begin one, and words before a single unreadable character. */
export const SPECIAL = new Map<string, Special>([
  ...["true", "false", "True", "False", "TRUE", "FALSE"].map((word) => [word, "bool"] as const),
  ...["null", "None", "nil", "NULL", "undefined", "NaN"].map((word) => [word, "null"] as const),
  ...(
    "Jan Feb Mar Apr May Jun Jul Aug Sep Sept Oct Nov Dec January February March April June July August September October November December " +
    "Mon Tue Wed Thu Fri Sat Sun Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
  )
    .split(" ")
    .map((word) => [word, "date"] as const),
  ...["character", "Character", "char", "token"].map((word) => [word, "sign"] as const),
  ...inEachCase("password passwd passphrase secret apikey apiKey api-key api_key bearer credentials").map(
    (word) => [word, "secret"] as const,
  ),
  // Words after which `announce.pure.ts` looks for a name.
  ...inEachCase(
    "id uuid guid slug sku username login user customer person owner tenant merchant host hostname member player employee constant",
  ).map((word) => [word, "named"] as const),
  ["INC", "paths"],
  ["datetime.datetime", "time"],
  ["datetime.date", "time"],
  ["datetime.time", "time"],
  ["datetime.timedelta", "time"],
]);

export const SPECIAL_CHARS_MAX = Math.max(...[...SPECIAL.keys()].map((word) => word.length));

/** Counted words after a number: one attempt and three attempts are one error. */
export const COUNTED = new Set(
  "attempt time retry try row item byte record message argument error event second minute hour day char character element entry column field parameter param request failure node replica partition line task job connection file part chunk match result page".split(
    " ",
  ),
);
