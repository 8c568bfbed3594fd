import type { QueryOf } from "@/lib/platform/api/query.shapes";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { type PageCall, pageCall } from "./page-call";
import { rawQueryOf } from "./raw-query";

/**
 * The first page of a list, so that its rows are in the HTML, with the address under which the browser reads it. `pathOf`: that address
 * for the query of this page; null = it reads none. Best effort: null when it cannot be read; the browser then asks the API and shows
 * its error.
 */
export async function firstPage<Query, Page>(list: {
  pathOf: (params: URLSearchParams) => string | null;
  query: QueryOf<Query>;
  read: (call: PageCall, query: Query) => Promise<Page>;
}): Promise<{ path: string; page: Page; readAtMs: number } | null> {
  const call = await pageCall();
  const path = list.pathOf(rawQueryOf(call.sent) ?? new URLSearchParams());
  if (path === null) return null;
  try {
    const query = list.query.read(new URLSearchParams(path.slice(path.indexOf("?"))), call.nowMs);
    return { path, page: await list.read(call, query), readAtMs: call.nowMs };
  } catch (error) {
    if (!(error instanceof DomainError)) call.deps.log.warn({ err: error }, "a page could not read its first rows");
    return null;
  }
}
