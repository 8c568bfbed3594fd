import { foldKey, foldPointer } from "./addresses.pure";
import { isAlphanumeric } from "./amounts.pure";
import {
  announcesCode,
  announcesSecret,
  announcesValue,
  isComparedInSql,
  isObjectKey,
  isPassage,
  namesThing,
  saysOfPointer,
  saysOfValue,
} from "./announce.pure";

/** Quoted text in a message. */

/** Opening quotes of every script with their closing ones. */
export const CLOSING: Record<string, string> = {
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

/** Whether an apparent quote is part of a word: `can't`, not `b'...'`. */
export function isApostrophe(open: string, out: string): boolean {
  if (open !== "'" && open !== "\u2019" && open !== '"') return false;
  const last = out.charCodeAt(out.length - 1);
  if (last < 128 && !isAlphanumeric(last)) return false;
  return /[\p{L}\p{N}]$/u.test(out.slice(-1)) && !/(?:^|[^\p{L}\p{N}])[bruf]$/u.test(out.slice(-2));
}

/** Where the quote at a position closes, -1 = nowhere. */
export function closingQuote(text: string, from: number, closing: string): number {
  const open = text[from];
  const first = closing.charCodeAt(0);
  const second = closing.charCodeAt(closing.length - 1);
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 92 && open !== "`") at++;
    else if ((code === first || code === second) && !(open === "'" && /[\p{L}\p{N}]/u.test(text[at + 1] ?? " ")))
      return at;
  }
  return -1;
}

/**
 * The placeholder for quoted text. One word is the name of a column, a field, a topic or a code, unless the words
 * before it announce a value. Several words are read if they describe an error; otherwise they name people or
 * things. `whole` = the message is quoted, `fold` reduces a text to its words, null = quotes are nested too deeply.
 */
export function foldQuoted(
  quoted: string,
  out: string,
  after: string,
  whole: boolean,
  fold: ((text: string) => string) | null,
): string {
  const before = out.slice(-40);
  const inner = quoted.includes('\\"') ? quoted.replaceAll('\\"', '"') : quoted;
  if (inner === "") return "<text>";
  if (announcesSecret(before)) return "<secret>";
  if (fold === null) return "<text>";
  if (/^-?[0-9]+$/.test(inner)) return announcesCode(before) ? inner : "<text>";
  // `"<!DOCTYPE "... is not valid JSON`
  if (QUOTES_INPUT.test(before) || (after.startsWith("...") && saysOfValue(after.slice(3)))) return "<text>";
  if (/^[[{<]./.test(inner)) return fold(inner);
  if (inner.startsWith("/") && saysOfPointer(after)) return foldPointer(inner);
  if (PATH.test(inner) || (inner.includes(".") && FILE.test(inner))) return fold(inner.replace(/[^\x21-\x7e]+/g, "_"));
  if (/\s/.test(inner)) return whole || isPassage(inner, before) ? fold(inner) : "<text>";
  if (isObjectKey(before, inner)) return foldKey(`/${inner}`).slice(1);
  // MySQL names the database as well: `fails (`shop`.`orders`, ...`, `Table 'shop.orders' ...`.
  if (after.startsWith(".`") && before.endsWith(" fails (")) return "<id>";
  if (namesThing(before, inner, after)) return before.endsWith("Table ") ? inner.replace(/^[\w-]+\./, "<id>.") : inner;
  if (announcesValue(before) || saysOfValue(after) || isComparedInSql(out)) return "<text>";
  if (inner.length > 80 || /[^\x20-\x7e]/.test(inner) || SIGN.test(inner)) return "<text>";
  const folded = fold(inner);
  return /^(?:<[a-z]+>)$/.test(folded) ? "<text>" : folded;
}

/** `unexpected token at '<html>...`: the rest of the input. */
const QUOTES_INPUT = /unexpected (?:token|character) at $/i;
/** A single character that could not be read: `Unexpected token 'Z'`. */
const SIGN = /^[^a-z/]$/;
/** The path of a file, whose name may contain spaces. */
const PATH = /^(?:\/|\.{1,2}[/\\]|[A-Za-z]:[/\\])\S/;
const FILE = /^[^/\\:]{1,120}\.(?:csv|tsv|xlsx?|pdf|docx?|pptx?|txt|png|jpe?g|gif|zip|mp[34]|mov)$/i;
