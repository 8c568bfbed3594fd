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
  {
    type: "urn:parkade:problem:unknown-source",
    title: "There is no such source",
    status: 404,
    code: "unknown-source",
    detail: 'There is no source "ordres"',
    instance: "urn:uuid:019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b99",
    errors: [{ field: "name", detail: "list sources with GET /api/v1/sources" }],
  },
);
export type Problem = z.infer<typeof problemSchema>;
