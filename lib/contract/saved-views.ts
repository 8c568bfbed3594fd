import * as z from "zod/mini";
import { type EventFilter, eventFilterSchema } from "@/lib/contract/event-filter";

/** A filter with a name, shared by everybody who uses this console. */
export type SavedView = { id: string; name: string; filter: EventFilter; createdBy: string; createdAt: string };
export type SavedViewList = { items: SavedView[] };

/** POST /api/v1/saved-views */
export const savedViewRequestSchema = z.strictObject({
  name: z.string("must be text").check(
    z.trim(),
    z.minLength(1, "must not be empty"),
    z.maxLength(100, "at most 100 characters"),
    z.refine((text) => !text.includes("\0"), "must not hold a NUL character"),
  ),
  filter: eventFilterSchema,
});
export type SavedViewRequest = z.infer<typeof savedViewRequestSchema>;
