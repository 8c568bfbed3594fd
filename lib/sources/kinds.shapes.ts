import * as z from "zod/mini";
import { named, nullableText } from "@/lib/platform/api/schemas.shapes";

const kindFieldSchema = z.object({
  /** Keys from the configuration down to the setting. */
  path: z.array(z.string()),
  input: z.enum(["text", "number", "flag", "choice", "list", "pairs"]),
  label: z.string(),
  hint: z.optional(z.string()),
  example: z.optional(z.string()),
  /** `address`: a server that credentials are bound to. `secret`: never shown. Both take `env:NAME`. */
  role: z.optional(z.enum(["address", "secret"])),
  required: z.boolean(),
  /** The head over the settings of one object. */
  section: z.optional(z.string()),
  /** Not needed to start. */
  advanced: z.boolean(),
  /** Several lines, as a certificate has. */
  long: z.boolean(),
  choices: z.optional(z.array(z.string())),
  default: z.optional(z.union([z.string(), z.number(), z.boolean()])),
});
export type KindField = z.infer<typeof kindFieldSchema>;

/** GET /api/v1/kinds: what a source can be, and what its configuration holds. */
const kindSchema = named(
  "Kind",
  z.object({
    kind: z.string(),
    label: z.string(),
    about: z.string(),
    /** A name of the Lucide icon set. */
    icon: z.string(),
    /** `reads`: from a broker; else events come by the API. `order`: what keeps it, null = nothing does. */
    capabilities: z.object({ reads: z.boolean(), redrives: z.boolean(), order: nullableText, slowLane: z.boolean() }),
    fields: z.array(kindFieldSchema),
    /** The first keys of the settings that form a destination, which a named target has in place of the source's. */
    destination: z.array(z.string()),
    example: z.record(z.string(), z.unknown()),
    docs: z.string(),
  }),
);
export type KindOut = z.infer<typeof kindSchema>;
export const kindListSchema = z.object({ items: z.array(kindSchema) });
export type KindList = z.infer<typeof kindListSchema>;
