import * as z from "zod/mini";
import { queryOf } from "@/lib/platform/api/query.shapes";
import { described, idOut } from "@/lib/platform/api/schemas.shapes";
import { ID_NAMES } from "@/lib/selection/filter/filter-params.shapes";

/**
 * GET /api/v1/events/meanings?text=: what one text names, looked up by indexes alone. `event`: the event with this `id` of
 * ours. `count` 0 = names nothing so, null = it took too long to count.
 */
export const meaningsSchema = z.object({
  text: z.string(),
  event: z.nullable(z.object({ id: idOut, eventId: z.string(), source: z.string() })),
  names: z.array(z.object({ name: z.enum(ID_NAMES), count: z.nullable(z.int()), kind: z.enum(["exact", "atLeast"]) })),
  /** Error codes that differ from the text by case alone, and the text itself when it is one. */
  errorCodes: z.array(z.string()),
});
export type Meanings = z.infer<typeof meaningsSchema>;

const MISSING = "must be given: what a person typed";

export const meaningsQuery = queryOf({
  text: described(
    z.string(MISSING).check(
      z.regex(/\S/, MISSING),
      z.maxLength(512, "at most 512 characters"),
      z.refine((text) => !text.includes("\0"), "must not contain a NUL character"),
      z.trim(),
    ),
    "What a person typed or pasted",
  ),
});
