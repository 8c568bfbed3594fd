import { REDACTED } from "@/lib/guard/redaction/redact.pure";
import type { Detector, MaskSet } from "./mask-rule.pure";

/** A part of a text that a detector masks. */
export type Found = { start: number; end: number; by: string };

/** What the detectors find in a text, in its order, without overlaps. */
export function detect(text: string, set: MaskSet): Found[] {
  return withoutOverlaps(FINDERS.flatMap(([detector, find]) => (set.detectors.has(detector) ? find(text) : [])));
}

export function withoutOverlaps(found: Found[]): Found[] {
  if (found.length < 2) return found;
  found.sort((a, b) => a.start - b.start || b.end - a.end);
  const kept: Found[] = [];
  for (const part of found) {
    const last = kept.at(-1);
    if (last === undefined || part.start >= last.end) kept.push(part);
    else last.end = Math.max(last.end, part.end);
  }
  return kept;
}

export function maskParts(text: string, found: readonly Found[]): string {
  let shown = "";
  let from = 0;
  for (const { start, end } of found) {
    shown += text.slice(from, start) + REDACTED;
    from = end;
  }
  return shown + text.slice(from);
}

const FINDERS: readonly (readonly [Detector, (text: string) => Found[]])[] = [
  ["token", findTokens],
  ["card", findCards],
  ["email", findEmails],
  ["iban", findIbans],
];

/** Each with what must be in the text for it: most texts have none of them. */
const TOKENS: readonly (readonly [needs: RegExp, pattern: RegExp])[] = [
  [/Bearer|Basic/i, /(?<=\b(?:Bearer|Basic)\s{1,5})[\w.~+/=-]{4,}/gi],
  [/:\/\//, /(?<=:\/\/)[^/\s@"'<>]{1,200}(?=@)/g],
  [/[prs]k_/, /\b[prs]k_(?:live_|test_)?[\w-]{16,}/g],
  [/gh[pousr]_|github_pat_|glpat-/, /\b(?:gh[pousr]_|github_pat_|glpat-)[\w-]{16,}/g],
  [/xox/, /\bxox[a-z]-[\w-]{10,}/g],
  [/A[KS]IA/, /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g],
  [/AIza/, /\bAIza[\w-]{30,}/g],
  [
    /-----BEGIN/,
    /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:[^-]|-(?!----END))*(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?/g,
  ],
];

function findTokens(text: string): Found[] {
  const found = TOKENS.flatMap(([needs, pattern]) =>
    needs.test(text)
      ? [...text.matchAll(pattern)].map(({ 0: whole, index }) => ({
          start: index,
          end: index + whole.length,
          by: "token",
        }))
      : [],
  );
  return found.concat(findJwts(text));
}

const JWT_BEGIN = /\beyJ[\w-]{5}/;
/** Begins where no such character is before it: from each `eyJ` of a long word the rest of the word would be read again. */
const WORD_BEFORE_DOT = /(?<![\w-])[\w-]{8,}(?=\.[\w-]{5})/g;
const REST_OF_JWT = /\.[\w-]{5,}(?:\.[\w-]*)?/y;

function findJwts(text: string): Found[] {
  const found: Found[] = [];
  if (!text.includes("eyJ")) return found;
  const rest = new RegExp(REST_OF_JWT);
  for (const { 0: word, index } of text.matchAll(WORD_BEFORE_DOT)) {
    const begin = word.search(JWT_BEGIN);
    if (begin < 0) continue;
    rest.lastIndex = index + word.length;
    rest.test(text);
    found.push({ start: index + begin, end: rest.lastIndex, by: "token" });
  }
  return found;
}

/** The domain of an address: its last label has letters alone, so `package@1.2.3` is none. */
const AT = /(?:@|%40|\\u0040)((?:[\p{L}\p{N}-]{1,63}\.){1,8}\p{L}{2,24})(?![\p{L}\p{N}])/giu;
/** Those of addresses in use: one that holds a slash or an ampersand would take its URL with it. */
const LOCAL = /[\p{L}\p{N}.!#$%*+^_{|}~-]/u;
const LOCAL_MAX = 64;

function findEmails(text: string): Found[] {
  if (!/@|%40|\\u0040/i.test(text)) return [];
  const found: Found[] = [];
  for (const { 0: whole, index } of text.matchAll(AT)) {
    const last = found.at(-1);
    const begin = Math.max(last?.end ?? 0, index - LOCAL_MAX);
    let start = index;
    while (start > begin && LOCAL.test(text[start - 1]!)) start--;
    const end = index + whole.length;
    // The end of one address is the beginning of the next.
    if (last !== undefined && start === last.end) last.end = end;
    else if (start < index) found.push({ start, end, by: "email" });
  }
  return found;
}

const DIGITS = /(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)/g;

function findCards(text: string): Found[] {
  const found: Found[] = [];
  for (const { 0: whole, index } of text.matchAll(DIGITS)) {
    if (isCard(whole.replace(/[ -]/g, ""))) found.push({ start: index, end: index + whole.length, by: "card" });
  }
  return found;
}

/** First digits and lengths that issuers use. Without them each tenth long number, a time among them, would be a card. */
const ISSUERS: readonly (readonly [first: RegExp, lengths: readonly number[]])[] = [
  [/^4/, [13, 16, 19]],
  [/^(?:5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, [16]],
  [/^3[47]/, [15]],
  [/^(?:36|38|39|30[0-5])/, [14, 16, 19]],
  [/^(?:6011|64[4-9]|65|62|35|81)/, [16, 17, 18, 19]],
  [/^(?:50|5[6-9]|6[0-9])/, [13, 14, 15, 16, 17, 18, 19]],
];

export function isCard(digits: string): boolean {
  if (!ISSUERS.some(([first, lengths]) => lengths.includes(digits.length) && first.test(digits))) return false;
  let sum = 0;
  for (let place = 0; place < digits.length; place++) {
    const digit = Number(digits[digits.length - 1 - place]);
    sum += place % 2 === 0 ? digit : digit > 4 ? 2 * digit - 9 : 2 * digit;
  }
  return sum % 10 === 0;
}

/** Lengths by country, from the registry of IBAN formats (ISO 13616). */
const IBAN_LENGTHS = new Map(
  `AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18
   FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20
   LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24
   SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30`
    .split(/\s+/)
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))] as const),
);
const IBAN_BEGIN = /(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?=[ ]?[A-Za-z0-9]{4})/g;

function findIbans(text: string): Found[] {
  const found: Found[] = [];
  for (const { 0: begin, index } of text.matchAll(IBAN_BEGIN)) {
    const length = IBAN_LENGTHS.get(begin.slice(0, 2).toUpperCase());
    if (length === undefined) continue;
    let end = index;
    let compact = "";
    while (compact.length < length && /[A-Za-z0-9 ]/.test(text[end] ?? "")) {
      if (text[end] !== " ") compact += text[end];
      end++;
    }
    if (compact.length < length || /[A-Za-z0-9]/.test(text[end] ?? "")) continue;
    if (isIban(compact.toUpperCase())) found.push({ start: index, end, by: "iban" });
  }
  return found;
}

/** ISO 7064, mod 97-10. */
function isIban(iban: string): boolean {
  let rest = 0;
  for (const character of iban.slice(4) + iban.slice(0, 4)) {
    const value = Number.parseInt(character, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}
