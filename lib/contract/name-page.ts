import { idPageFrom, namedParams } from "@/lib/contract/id-page";
import { DomainError } from "@/lib/core/problem";

/** A keyset page over names in alphabetical order: the cursor is the last name of the page before. */
export function namePageFrom(params: URLSearchParams): { limit: number; after: string | null } {
  namedParams(params, []);
  const after = params.get("cursor");
  if (after === "") {
    throw new DomainError("invalid-cursor", "cursor: not one of this list's; start again without it", {
      fields: [{ field: "cursor", detail: "use the nextCursor of the page before, or leave it out" }],
    });
  }
  const limit = params.get("limit");
  const page = idPageFrom(new URLSearchParams(limit === null ? {} : { limit }));
  return { limit: page.limit, after };
}
