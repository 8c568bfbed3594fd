"use client";

import { TextLink } from "@/components/ui/text-link";
import type { Meanings } from "@/lib/events/meanings.shapes";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import type { IdName } from "@/lib/selection/filter/filter-params.shapes";
import { eventsHref } from "@/lib/selection/filter/filter-read.browser";
import { searchedText, useMeanings } from "@/lib/selection/filter/search.browser";

const NAME_WORDS: Record<IdName, string> = { eventId: "event id", aggregateId: "aggregate", traceId: "trace" };

type Meaning = { key: string; words: string; count: string | null; href: string };

/** The other meanings of a search text, without the meaning that the list shows. */
function otherMeanings({ text, event, names, errorCodes }: Meanings, shown: IdName | "q"): Meaning[] {
  const meanings: Meaning[] = [];
  if (event) meanings.push({ key: "id", words: "the event with this id", count: null, href: `/events/${event.id}` });
  for (const { name, count, kind } of names) {
    if (name === shown || count === null || count === 0) continue;
    const many = kind === "atLeast" ? `≥ ${formatNumber(count)} events` : plural(count, "event");
    meanings.push({ key: name, words: NAME_WORDS[name], count: many, href: eventsHref({ [name]: [text] }) });
  }
  for (const code of errorCodes) {
    meanings.push({
      key: `code ${code}`,
      words: `error code ${code}`,
      count: null,
      href: eventsHref({ errorCode: [code] }),
    });
  }
  if (shown !== "q")
    meanings.push({ key: "q", words: "words in error texts", count: null, href: eventsHref({ q: text }) });
  return meanings;
}

/** A text may name an aggregate and occur in error texts. The list shows one meaning, this line the others. */
export function MeaningsLine({ filter }: { filter: EventFilter }) {
  const searched = searchedText(filter);
  const { data } = useMeanings(searched?.text ?? null);
  if (!searched || !data || data.text !== searched.text.trim()) return null;
  const others = otherMeanings(data, searched.name);
  if (others.length === 0) return null;
  return (
    <p className="flex min-h-7 shrink-0 flex-wrap items-center gap-x-3 px-3 text-muted">
      <span>
        <span className="font-mono text-sm wrap-anywhere text-ink">{searched.text}</span> also matches:
      </span>
      {others.map(({ key, words, count, href }) => (
        <TextLink key={key} href={href} className="min-h-6 leading-6">
          {words}
          {count === null ? null : <span className="text-muted"> · {count}</span>}
        </TextLink>
      ))}
    </p>
  );
}
