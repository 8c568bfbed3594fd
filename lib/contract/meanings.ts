import { namedParams } from "@/lib/contract/id-page";
import { DomainError } from "@/lib/core/problem";

/** Names of the filter whose values are ids: what a person pastes into the search. In the order in which they are meant. */
export const ID_NAMES = ["eventId", "aggregateId", "traceId"] as const;
export type IdName = (typeof ID_NAMES)[number];

/**
 * GET /api/v1/events/meanings?text=: what one text names, looked up by indexes alone. `event`: the event with this `id` of
 * ours. `count` 0 = names nothing so, null = it took too long to count.
 */
export type Meanings = {
  text: string;
  event: { id: string; eventId: string; source: string } | null;
  names: { name: IdName; count: number | null; kind: "exact" | "atLeast" }[];
  /** Error codes that differ from the text by case alone, and the text itself when it is one. */
  errorCodes: string[];
};

const TEXT_MAX = 512;

/** Reads `text`. Throws DomainError `invalid-request`. */
export function meaningsQueryFrom(params: URLSearchParams): { text: string } {
  const { text } = namedParams(params, ["text"]);
  const detail =
    text === undefined || text.trim() === ""
      ? "must be given: what a person typed"
      : text.length > TEXT_MAX
        ? `at most ${TEXT_MAX} characters`
        : text.includes("\0")
          ? "must not hold a NUL character"
          : null;
  if (detail !== null) {
    throw new DomainError("invalid-request", `text: ${detail}`, { fields: [{ field: "text", detail }] });
  }
  return { text: text!.trim() };
}
