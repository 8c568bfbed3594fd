import { idPageFrom, namedParams } from "@/lib/contract/id-page";

/** A keyset page over names in alphabetical order: the cursor is the last name of the page before. */
export function namePageFrom(params: URLSearchParams): { limit: number; after: string | null } {
  namedParams(params, []);
  const after = params.get("cursor");
  const limit = params.get("limit");
  const page = idPageFrom(new URLSearchParams(limit === null ? {} : { limit }));
  return { limit: page.limit, after };
}
