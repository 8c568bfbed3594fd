import { PayloadJson } from "@/lib/brokers/conventions/payload-json";
import type { Mapping } from "@/lib/brokers/kinds/fields.shapes";
import { versionOf } from "@/lib/intake/arrival.shapes";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { TAGS_MAX } from "@/lib/platform/plain/storable.pure";

/**
 * Fills fields that an HTTP event lacks from its payload and headers, by the mapping of its source. Fields that the
 * sender has set stay. The adapters of brokers apply the mapping to messages themselves.
 */
export function mapFacts(letter: DeadLetter, mapping: Mapping): DeadLetter {
  const payload = new PayloadJson(letter.payload);
  const select = (selector: string | undefined): string | null => {
    if (selector === undefined) return null;
    return selector.startsWith("/") ? payload.scalar(selector) : headerText(letter, selector);
  };
  const version = letter.version === null ? select(mapping.version) : null;
  return {
    ...letter,
    aggregateId: letter.aggregateId ?? select(mapping.aggregateId),
    aggregateType: letter.aggregateType ?? select(mapping.aggregateType),
    version: letter.version ?? (version === null ? null : versionOf(version.trim())),
    eventType: letter.eventType ?? select(mapping.eventType),
    tags: mapTags(letter.tags, mapping.tags ?? {}, select),
  };
}

function headerText({ headers }: DeadLetter, wanted: string): string | null {
  const name = wanted.toLowerCase();
  const found = headers.find(
    ([header, , encoding]) => header.toLowerCase() === name && (encoding ?? "text") === "text",
  );
  return found?.[1] || null;
}

function mapTags(
  given: Record<string, string>,
  selectors: Record<string, string>,
  select: (selector: string) => string | null,
): Record<string, string> {
  const tags = { ...given };
  for (const [key, selector] of Object.entries(selectors)) {
    if (Object.hasOwn(tags, key) || Object.keys(tags).length >= TAGS_MAX) continue;
    const value = select(selector);
    if (value !== null) tags[key] = value;
  }
  return tags;
}
