import { maskFilter, maskNullable } from "@/lib/guard/masking/mask.pure";
import { NOTHING_MASKED, oneSource } from "@/lib/guard/masking/mask-rule.pure";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { may, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";

type Filter = Parameters<typeof maskFilter>[0] & { source?: string[] | undefined };

/**
 * Stored text that people typed, as a viewer is shown it. Users with `reveal` search by masked values and name them in
 * reasons: everybody else sees these masked.
 */
export type TypedTexts = {
  filter<F extends Filter>(filter: F): F;
  selection<S extends object>(selection: S): S;
  text<T extends string | null>(text: T): T;
};

export async function readTypedTexts(db: Queryable, viewer: Viewer): Promise<TypedTexts> {
  const masks = may(viewer, "reveal") ? null : await readMasks(db);
  const setOf = (source: string | null) => masks?.of(source) ?? NOTHING_MASKED;
  const filter: TypedTexts["filter"] = (typed) => maskFilter(typed, setOf(oneSource(typed.source)));
  return {
    filter,
    selection: (typed) => ("filter" in typed ? { ...typed, filter: filter(typed.filter as Filter) } : typed),
    text: (typed) => maskNullable(typed, setOf(null)),
  };
}

/** Rows with the reasons that people gave, as the viewer is shown them. */
export async function withShownReasons<Row extends { reason: string | null }>(
  db: Queryable,
  viewer: Viewer,
  rows: readonly Row[],
): Promise<Row[]> {
  const { text } = await readTypedTexts(db, viewer);
  return rows.map((row) => ({ ...row, reason: text(row.reason) }));
}
