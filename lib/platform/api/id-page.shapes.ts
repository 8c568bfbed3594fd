import * as z from "zod/mini";
import { type QueryOf, queryOf, thenRead } from "@/lib/platform/api/query.shapes";
import { described, uuidText } from "@/lib/platform/api/schemas.shapes";
import type { ProblemCode } from "@/lib/platform/plain/problem.pure";

/** A keyset page over UUIDv7 ids, newest first: the cursor is the last id of the page before. */
export type IdPage = { limit: number; cursor: string | null };

const LIMIT_MAX = 500;
const limitText = `must be a whole number from 1 to ${LIMIT_MAX}`;

/** The parameters of a page; its cursor's form is the list's own. */
export function pageOf<Cursor extends z.core.$ZodType>(cursor: Cursor) {
  return {
    limit: described(
      z._default(z.int(limitText).check(z.gte(1, limitText), z.lte(LIMIT_MAX, limitText)), 50),
      "Items of a page",
    ),
    cursor: described(z.optional(cursor), "`nextCursor` of the page before"),
  };
}

const FOREIGN_CURSOR = "not one of this list's; start again without it";
const idPage = pageOf(uuidText(FOREIGN_CURSOR));

/** A page of a list in the order of its ids, and the list's own conditions; `code` of those that are wrong. */
export function idPageQuery<Shape extends z.core.$ZodLooseShape>(shape: Shape, code: ProblemCode = "invalid-request") {
  const codes = Object.fromEntries(Object.keys(shape).map((name) => [name, code]));
  return queryOf<Shape & typeof idPage>({ ...shape, ...idPage }, { ...codes, cursor: "invalid-cursor" } as object);
}

const namePage = pageOf(z.string().check(z.minLength(1, FOREIGN_CURSOR)));

/** A keyset page over names in alphabetical order: the cursor is the last name of the page before. */
export const namePageQuery: QueryOf<{ limit: number; after: string | null }> = thenRead(
  queryOf(namePage, { cursor: "invalid-cursor" }),
  [],
  ({ limit, cursor }) => ({ limit, after: cursor }),
);

/** Cuts a page read with one row too many; that row shows whether there is a next page. */
export function cutPage<Item>(rows: Item[], limit: number, idOf: (item: Item) => string) {
  const items = rows.slice(0, limit);
  return { items, nextCursor: rows.length > limit ? idOf(items.at(-1)!) : null };
}
