import { type EventFilter, fromSearchParams } from "@/lib/contract/event-filter";
import { wholeNumber } from "@/lib/contract/id-page";
import { DomainError } from "@/lib/core/problem";

const EVENT_PAGE_MAX = 500;
const EVENT_PAGE_DEFAULT = 50;

/** Reads `?filter&limit=&cursor=`. Throws DomainError `invalid-filter` or `invalid-request`. */
export function eventPageFrom(params: URLSearchParams): { filter: EventFilter; limit: number; cursor: string | null } {
  const filter = fromSearchParams(params, ["limit", "cursor"]);
  const limit = wholeNumber(params.get("limit") ?? String(EVENT_PAGE_DEFAULT));
  if (!Number.isInteger(limit) || limit < 1 || limit > EVENT_PAGE_MAX) {
    const detail = `must be a whole number from 1 to ${EVENT_PAGE_MAX}`;
    throw new DomainError("invalid-request", `limit ${detail}`, { fields: [{ field: "limit", detail }] });
  }
  return { filter, limit, cursor: params.get("cursor") };
}
