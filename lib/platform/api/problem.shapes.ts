import * as z from "zod/mini";
import { named } from "@/lib/platform/api/schemas.shapes";
import { PROBLEM_CODES } from "@/lib/platform/plain/problem.pure";

/** RFC 9457, with our stable `code`, the fields that are wrong, and the id under which the log knows the request. */
export const problemSchema = named(
  "Problem",
  z.object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: z.enum(PROBLEM_CODES),
    detail: z.string(),
    instance: z.string(),
    errors: z.optional(z.array(z.object({ field: z.string(), detail: z.string() }))),
  }),
);
export type Problem = z.infer<typeof problemSchema>;
