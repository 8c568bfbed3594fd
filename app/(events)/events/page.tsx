import type { Metadata } from "next";
import { withSourceHints } from "@/app/_server/named-sources";
import { pageCall } from "@/app/_server/page-call";
import { rawQueryOf } from "@/app/_server/raw-query";
import { EventsView, type InitialEvents } from "@/components/events/list/events-view";
import { listEvents } from "@/lib/events/list/event-list.read";
import { eventSortOf } from "@/lib/events/list/event-sort.pure";
import { PAGE_ROWS } from "@/lib/platform/browser/page-rows.browser";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { fromSearchParams } from "@/lib/selection/filter/event-filter.shapes";
import { listQuery, PAGE_PARAMS } from "@/lib/selection/filter/filter-read.browser";

export const metadata: Metadata = { title: "Events" };

type SearchParams = Record<string, string | string[] | undefined>;

export default async function EventsPage({ searchParams }: { searchParams: Promise<SearchParams> }) {
  return <EventsView initial={await firstPage(await searchParams)} />;
}

/**
 * The first page of the list, so that rows are in the HTML. Best effort: null when the filter is wrong or the read
 * fails; the browser then asks the API and shows its error.
 */
async function firstPage(given: SearchParams): Promise<InitialEvents | null> {
  const { deps, viewer, sent, nowMs: readAtMs } = await pageCall();
  const params = rawQueryOf(sent) ?? paramsOf(given);
  params.delete("_rsc");
  try {
    const filter = fromSearchParams(params, PAGE_PARAMS);
    const sort = eventSortOf(params.get("sort"));
    const asked = { filter, sort, limit: PAGE_ROWS, cursor: null };
    const read = await listEvents(deps.lists, viewer, asked, readAtMs);
    const list = await withSourceHints(
      { deps, viewer },
      { sources: read.items.length === 0 ? filter.source : undefined },
      read,
    );
    return { list, readAtMs, query: listQuery(filter, sort) };
  } catch (error) {
    const wrongFilter = error instanceof DomainError && error.code === "invalid-filter";
    if (!wrongFilter) deps.log.warn({ err: error }, "the events page could not read its first rows");
    return null;
  }
}

function paramsOf(given: SearchParams): URLSearchParams {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(given)) {
    for (const one of [value ?? []].flat()) params.append(name, one);
  }
  return params;
}
