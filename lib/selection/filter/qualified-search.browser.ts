import { nearName } from "@/lib/platform/plain/near-name.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import {
  didYouMean,
  FILTER_NAMES,
  FILTER_STATUSES,
  isSingleName,
  NOT_NAMES,
  NOT_PREFIX,
  type NotName,
  tagOf,
} from "@/lib/selection/filter/filter-params.shapes";
import { ADMISSION_MARKS } from "@/lib/states/admission-mark.pure";

/**
 * The language of the search box: `errorCode:TIMEOUT -source:billing tag.region:eu "words" of the error`. A known name before a
 * colon is a qualifier, and excludes its value after a minus; every other token is a word. A token with an unknown name
 * is a word too, because error texts contain many colons (`http://stock`, `Error:`), but the search box names it.
 */
const NAMES = new Map(FILTER_NAMES.map((name) => [name.toLowerCase(), name]));
/** Names whose values are known, each as it is written in a filter. */
const CLOSED: Record<string, { what: string; values: readonly string[] }> = {
  status: { what: "state", values: FILTER_STATUSES },
  admission: { what: "mark of admission", values: ADMISSION_MARKS },
};
const TAG = "tag.";

/** One restriction of a filter, in the form of its chip. A name with `not.` excludes the value. */
export type Term = { name: string; value: string };

/** A term without its `not.`, as a chip shows it. */
export function shownTerm({ name }: Term): { name: string; excludes: boolean } {
  const excludes = name.startsWith(NOT_PREFIX);
  return { name: excludes ? name.slice(NOT_PREFIX.length) : name, excludes };
}

/** The term that excludes what this one selects, and the other way round; null = the filter cannot exclude it. */
export function oppositeTerm({ name, value }: Term): Term | null {
  if (name.startsWith(NOT_PREFIX)) return { name: name.slice(NOT_PREFIX.length), value };
  return isSingleName(name) ? null : { name: NOT_PREFIX + name, value };
}

/** `name:value`, `name:"value"`, `"several words"` or a bare word, in the order written. */
function tokensOf(text: string): string[] {
  return text.match(/(?:[^\s"]|"[^"]*(?:"|$))+/g) ?? [];
}

const unquote = (text: string) => text.replaceAll('"', "");

function termOf(token: string): Term | null {
  const excluded = /^(?:-|not\.)(?!-|not\.)(.*)$/is.exec(token)?.[1];
  if (excluded !== undefined) {
    const term = termOf(excluded);
    return term && oppositeTerm(term);
  }
  const colon = token.indexOf(":");
  if (colon <= 0) return null;
  const value = unquote(token.slice(colon + 1));
  const given = token.slice(0, colon);
  if (value === "") return null;
  if (given.toLowerCase().startsWith(TAG) && given.length > TAG.length) {
    return { name: TAG + given.slice(TAG.length), value };
  }
  const name = NAMES.get(given.toLowerCase());
  if (name === undefined) return null;
  const closed = CLOSED[name];
  if (closed === undefined) return { name, value };
  const known = closed.values.find((each) => each.toLowerCase() === value.toLowerCase());
  return known === undefined ? null : { name, value: known };
}

/** The reason why a token that looks like a qualifier is none, as a sentence; null for a plain word. */
function misread(token: string): string | null {
  const parts = /^(-|not\.|)([A-Za-z_]+|tag\.[^:]+):([^/\\:\s].*)$/.exec(token);
  if (!parts) return null;
  const [, minus, given, value] = parts as unknown as [string, string, string, string];
  const name = NAMES.get(given.toLowerCase()) ?? (given.toLowerCase().startsWith(TAG) ? given : undefined);
  if (name === undefined) {
    const near = nearName(given, [...NAMES.values()]) ?? TAG + given;
    return `${minus}${given} is not a filter name${didYouMean(`${minus}${near}:${value}`)}`;
  }
  if (minus !== "" && isSingleName(name)) return `${minus}${given}: cannot be excluded`;
  const closed = CLOSED[name];
  if (!closed) return null;
  const near = didYouMean(nearName(unquote(value), closed.values));
  return `${unquote(value)} is no ${closed.what}${near}: use ${closed.values.join(", ")}`;
}

/** Splits the typed text into terms and words. `unread` explains each word that looks like a qualifier and is none. */
export function parseSearch(text: string): { terms: Term[]; words: string; unread: string[] } {
  const terms: Term[] = [];
  const words: string[] = [];
  const unread: string[] = [];
  for (const token of tokensOf(text)) {
    const term = termOf(token);
    if (term) terms.push(term);
    else {
      words.push(unquote(token));
      const why = misread(token);
      if (why !== null) unread.push(why);
    }
  }
  return { terms, words: words.join(" ").trim(), unread };
}

function added(list: string[] | undefined, value: string): string[] {
  return list?.includes(value) ? list : [...(list ?? []), value];
}

type ListName = (typeof CHIP_NAMES)[number] | NotName;

/** The filter with one more restriction; several values of one name are alternatives. It replaces its opposite. */
export function addTerm(before: EventFilter, term: Term): EventFilter {
  const { name, value } = term;
  const opposite = oppositeTerm(term);
  const filter = opposite === null ? before : removeTerm(before, opposite);
  const tag = tagOf(name);
  if (tag) {
    const tags = filter[tag.member];
    return { ...filter, [tag.member]: { ...tags, [tag.key]: added(tags?.[tag.key], value) } };
  }
  if (isSingleName(name)) return { ...filter, [name]: value };
  return { ...filter, [name]: added(filter[name as ListName], value) };
}

/** The filter after a search: the terms are added, the words replace the earlier words. */
export function applySearch(filter: EventFilter, text: string): EventFilter {
  const { terms, words } = parseSearch(text);
  const next = terms.reduce(addTerm, filter);
  return words === "" ? next : { ...next, q: words };
}

function without<T>(list: T[] | undefined, value: T): T[] | undefined {
  const rest = list?.filter((entry) => entry !== value);
  return rest?.length ? rest : undefined;
}

/** The filter without one restriction; a name without a value is removed. */
export function removeTerm(filter: EventFilter, { name, value }: Term): EventFilter {
  const next: EventFilter = { ...filter };
  const tag = tagOf(name);
  if (tag) {
    const { [tag.key]: list, ...others } = filter[tag.member] ?? {};
    const rest = without(list, value);
    const tags = rest ? { ...others, [tag.key]: rest } : others;
    if (Object.keys(tags).length > 0) next[tag.member] = tags;
    else delete next[tag.member];
    return next;
  }
  if (isSingleName(name)) {
    delete next[name];
    return next;
  }
  const list = name as ListName;
  const rest = without<string>(filter[list], value);
  if (rest) Object.assign(next, { [list]: rest });
  else delete next[list];
  return next;
}

const CHIP_NAMES = [
  "errorCode",
  "status",
  "admission",
  "source",
  "aggregateId",
  "aggregateType",
  "eventType",
  "eventId",
  "fingerprint",
  "traceId",
] as const;

/** The restrictions of a filter in a fixed order, without the time window, which has its own control. */
export function termsOf(filter: EventFilter): Term[] {
  const terms: Term[] = [];
  for (const name of [...CHIP_NAMES, ...NOT_NAMES]) {
    for (const value of filter[name] ?? []) terms.push({ name, value });
  }
  for (const [prefix, tags] of [
    [TAG, filter.tags],
    [NOT_PREFIX + TAG, filter["not.tags"]],
  ] as const) {
    for (const [key, list] of Object.entries(tags ?? {})) {
      for (const value of list) terms.push({ name: prefix + key, value });
    }
  }
  for (const name of ["failedFrom", "failedTo", "q"] as const) {
    if (filter[name] !== undefined) terms.push({ name, value: filter[name] });
  }
  return terms;
}

/** A term in the syntax of the search box: `aggregateId:order-77`, quoted if it contains spaces; words unchanged. */
export function writeTerm(term: Term): string {
  const { value } = term;
  const { name, excludes } = shownTerm(term);
  if (name === "q") return value;
  return `${excludes ? "-" : ""}${name}:${/\s/.test(value) ? `"${value}"` : value}`;
}

/** The incomplete qualifier at the caret, for suggestions. Only the last token is completed; the minus that excludes is kept. */
export function typedToken(text: string): { before: string; name: string | null; part: string } {
  const start = Math.max(text.lastIndexOf(" "), text.lastIndexOf("\t")) + 1;
  const excludes = text[start] === "-" ? 1 : 0;
  const token = text.slice(start + excludes);
  const colon = token.indexOf(":");
  const before = text.slice(0, start + excludes);
  if (colon <= 0) return { before, name: null, part: token };
  const given = token.slice(0, colon);
  const name = given.toLowerCase().startsWith(TAG) ? given : (NAMES.get(given.toLowerCase()) ?? null);
  return { before, name, part: unquote(token.slice(colon + 1)) };
}

/** Whether the filter has no restriction: "none exist" and "your filters hide all" are two messages. */
export function isEmptyFilter(filter: EventFilter): boolean {
  return Object.keys(filter).length === 0;
}
