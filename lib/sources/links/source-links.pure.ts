import { visible } from "@/lib/platform/plain/format.pure";

/** Templates of addresses that lead from an event to the logs and traces of its service; placeholders stand for values of the event. */
export const LINK_KINDS = ["logs", "traces", "other"] as const;
export type LinkKind = (typeof LINK_KINDS)[number];

export type LinkTemplate = { label: string; kind: LinkKind; url: string };

export const LINKS_MAX = 10;
export const LINK_CHARS_MAX = 2_048;
/** Browsers and proxies refuse addresses that are much longer. */
const MADE_CHARS_MAX = 8_000;
/** Before and behind the moment of the failure: clocks differ, and a service logs before it fails. */
const AROUND_MS = 300_000;

export type LinkFacts = {
  traceId: string | null;
  eventId: string;
  aggregateId: string | null;
  aggregateType: string | null;
  source: string;
  errorCode: string;
  /** When it failed last, epoch milliseconds. */
  atMs: number;
};

/** `url` null: `lacks` says which values the event does not have, or that they are too long. */
type EventLink = { label: string; kind: LinkKind; url: string | null; lacks: string | null };

/** What a placeholder stands for; null = the event does not have it. */
const VALUES: Record<string, { of: (facts: LinkFacts) => string | null; words: string }> = {
  traceId: { of: ({ traceId }) => traceId, words: "trace id" },
  eventId: { of: ({ eventId }) => eventId, words: "event id" },
  aggregateId: { of: ({ aggregateId }) => aggregateId, words: "aggregate id" },
  aggregateType: { of: ({ aggregateType }) => aggregateType, words: "aggregate type" },
  source: { of: ({ source }) => source, words: "source" },
  errorCode: { of: ({ errorCode }) => errorCode, words: "error code" },
  at: { of: ({ atMs }) => new Date(atMs).toISOString(), words: "time" },
  atMs: { of: ({ atMs }) => String(atMs), words: "time" },
  fromMs: { of: ({ atMs }) => String(atMs - AROUND_MS), words: "time" },
  toMs: { of: ({ atMs }) => String(atMs + AROUND_MS), words: "time" },
};
export const PLACEHOLDERS = Object.keys(VALUES);

const PLACEHOLDER = /\{([^{}]*)\}/g;

/** What is wrong with an address as a template; null = nothing. */
export function templateFault(url: string): string | null {
  if (url.length > LINK_CHARS_MAX) return `is longer than ${LINK_CHARS_MAX} characters`;
  for (const [whole, name] of url.matchAll(PLACEHOLDER)) {
    if (!Object.hasOwn(VALUES, name!)) return unknownPlaceholder(whole);
  }
  const rest = url.replace(PLACEHOLDER, "x");
  if (rest.includes("{")) return "has a { that is not closed: a brace that is no placeholder is written %7B";
  if (rest.includes("}")) return "has a } without its {: a brace that is no placeholder is written %7D";
  if (/[\s\p{C}]/u.test(rest)) return "contains spaces or invisible characters: write them percent-encoded";
  if (!URL.canParse(rest) || !/^https?:\/\//i.test(url))
    return "must be an address that begins with http:// or https://";
  const { username, password } = new URL(rest);
  if (username !== "" || password !== "")
    return "must not contain a user or password: everybody who sees an event sees it";
  // An event must not decide to which server a click leads.
  if (/^https?:\/\/[^/?#]*\{/i.test(url) || /^https?:[\\/]{3}/i.test(url) || url.includes("\\"))
    return "has a placeholder in the server name: placeholders are allowed only after it";
  return null;
}

/** What is wrong with the templates of a source, by their places. Labels tell them apart. */
export function templateFaults(
  templates: readonly LinkTemplate[],
): { at: number; field: "label" | "url"; detail: string }[] {
  return templates.flatMap(({ label, url }, at) => {
    const fault = templateFault(url);
    const first = templates.findIndex((other) => other.label === label);
    return [
      ...(first < at ? [{ at, field: "label" as const, detail: "is used by another link of this source" }] : []),
      ...(fault === null ? [] : [{ at, field: "url" as const, detail: fault }]),
    ];
  });
}

function unknownPlaceholder(whole: string): string {
  const shown = whole.length > 40 ? `${whole.slice(0, 39)}…` : whole;
  return `has the unknown placeholder ${visible(shown)}: there are ${PLACEHOLDERS.map((name) => `{${name}}`).join(" ")}`;
}

/** The links of one event. Each value stands percent-encoded, so that none ends the address or adds to it. */
export function linksOf(templates: readonly LinkTemplate[], facts: LinkFacts): EventLink[] {
  return templates.map((template) => linkOf(template, facts));
}

function linkOf({ label, kind, url }: LinkTemplate, facts: LinkFacts): EventLink {
  const lacking = new Set<string>();
  const made = url.replace(PLACEHOLDER, (whole, name: string, at: number) => {
    const value = Object.hasOwn(VALUES, name) ? VALUES[name]! : null;
    const text = value?.of(facts) ?? null;
    if (text === null || text === "") lacking.add(value?.words ?? whole);
    // A segment of dots would take away the one before it.
    if (/^\.{1,2}$/.test(text ?? "") && !/[?#]/.test(url.slice(0, at)))
      lacking.add(`${value?.words ?? whole} that an address can hold`);
    return encoded(text ?? "");
  });
  if (lacking.size > 0) return { label, kind, url: null, lacks: `no ${[...lacking].join(", no ")}` };
  if (made.length > MADE_CHARS_MAX) return { label, kind, url: null, lacks: "its values are too long for an address" };
  // A template was checked when it was stored; one that is not an address is no link.
  if (!URL.canParse(made) || !/^https?:$/.test(new URL(made).protocol)) {
    return { label, kind, url: null, lacks: "its template is not an address" };
  }
  // Chats read a vertical bar as the end of an address.
  return { label, kind, url: new URL(made).href.replaceAll("|", "%7C"), lacks: null };
}

/** Quotes and brackets, too: in a fragment they end a value of Kibana's addresses. */
function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

type MadeLink = { label: string; kind: LinkKind; url: string };

/** In a message of an alert: traces before logs before others. */
const IN_MESSAGE_MAX = 3;
const IN_MESSAGE_CHARS_MAX = 2_048;
const RANK: Record<LinkKind, number> = { traces: 0, logs: 1, other: 2 };

/** The few links of an event that go into messages: without those that it lacks a value for. */
export function messageLinks(links: readonly EventLink[]): MadeLink[] {
  return links
    .flatMap(({ label, kind, url }) =>
      url === null || url.length > IN_MESSAGE_CHARS_MAX ? [] : [{ label, kind, url }],
    )
    .toSorted((left, right) => RANK[left.kind] - RANK[right.kind])
    .slice(0, IN_MESSAGE_MAX);
}
