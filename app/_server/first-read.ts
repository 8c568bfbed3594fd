import type { FirstRead } from "@/lib/platform/api/first-reads.pure";
import type { QueryOf } from "@/lib/platform/api/query.shapes";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { type PageCall, pageCall } from "./page-call";
import { rawQueryOf } from "./raw-query";

/**
 * What a page reads for its first HTML, with the address at which the browser reads it again. `path`: that address, also by the query of
 * the page; null = it reads nothing. Best effort: null when it cannot be read; the browser then asks the API and shows its error.
 */
export async function firstRead<Query>(of: {
  path: string | ((params: URLSearchParams) => string | null);
  query: QueryOf<Query>;
  read: (call: PageCall, query: Query) => Promise<unknown>;
}): Promise<FirstRead | null> {
  const call = await pageCall();
  const path = typeof of.path === "string" ? of.path : of.path(rawQueryOf(call.sent) ?? new URLSearchParams());
  if (path === null) return null;
  try {
    const query = of.query.read(new URLSearchParams(path.split("?")[1]), call.nowMs);
    return { path, answer: await of.read(call, query), readAtMs: call.nowMs };
  } catch (error) {
    if (!(error instanceof DomainError)) call.deps.log.warn({ err: error }, "a page could not read its first rows");
    return null;
  }
}
