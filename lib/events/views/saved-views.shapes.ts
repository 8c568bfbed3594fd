import * as z from "zod/mini";
import { idOut, named, timeOut } from "@/lib/platform/api/schemas.shapes";
import { eventFilterSchema } from "@/lib/selection/filter/event-filter.shapes";

/** A filter with a name, shared by everybody who uses this console. */
export const savedViewSchema = named(
  "SavedView",
  z.object({ id: idOut, name: z.string(), filter: eventFilterSchema, createdBy: z.string(), createdAt: timeOut }),
);
export type SavedView = z.infer<typeof savedViewSchema>;
export const savedViewListSchema = z.object({ items: z.array(savedViewSchema) });
export type SavedViewList = z.infer<typeof savedViewListSchema>;

/** POST /api/v1/saved-views */
export const savedViewRequestSchema = named(
  "SavedViewRequest",
  z.strictObject({
    name: z.string("must be text").check(
      z.regex(/\S/, "must not be empty"),
      z.maxLength(100, "at most 100 characters"),
      z.refine((text) => !text.includes("\0"), "must not contain a NUL character"),
      z.trim(),
    ),
    filter: eventFilterSchema,
  }),
  { name: "Timeouts of orders", filter: { source: ["orders"], errorCode: ["TIMEOUT"] } },
);
export type SavedViewRequest = z.infer<typeof savedViewRequestSchema>;
