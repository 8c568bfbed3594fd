import * as z from "zod/mini";
import type { Header } from "@/lib/platform/plain/dead-letter.pure";
import { INT4_MAX, isStorableText, UNSTORABLE_TEXT } from "@/lib/platform/plain/storable.pure";
import { UUID } from "@/lib/platform/plain/uuid.pure";

/** Names a schema in the API's document. Without an example the document makes one of the members' names and types. */
export function named<Schema extends z.core.$ZodType>(id: string, schema: Schema, example?: z.input<Schema>): Schema {
  const examples = example === undefined ? undefined : [example];
  z.globalRegistry.add(schema, { ...z.globalRegistry.get(schema), id, examples });
  return schema;
}

/** A copy of `schema` with a description in the API's document: other fields may share `schema` itself. */
export function described<Schema extends z.core.$ZodType>(schema: Schema, description: string): Schema {
  const copy = z.clone(schema);
  z.globalRegistry.add(copy, { description });
  return copy;
}

/** In JSON Schema: an object that has the property. The linter wants a required property to be a known one. */
export function has(property: string) {
  return { properties: { [property]: {} }, required: [property] };
}

/** An id of any version; upper case is taken for lower case. */
export function uuidText(message = "must be a UUID") {
  return z
    .string(message)
    .check(z.regex(UUID, message), z.toLowerCase())
    .register(z.globalRegistry, { format: "uuid" });
}

/** Text that the store can hold: not empty, at most `max` characters. */
export function boundedText(max: number) {
  return z
    .string("must be text")
    .check(z.minLength(1, "must not be empty"), z.maxLength(max, `must have at most ${max} characters`))
    .check(z.refine(isStorableText, UNSTORABLE_TEXT));
}

/** Of answers: an id, and a time. */
export const idOut = z.string().check(z.regex(UUID)).register(z.globalRegistry, { format: "uuid" });
export const timeOut = named("Time", z.iso.datetime({ offset: true }), "2026-11-22T02:44:59.120Z");

export const nullableText = z.nullable(z.string());
export const nullableTime = z.nullable(timeOut);
export const nullableNumber = z.nullable(z.number());

/** Of answers: who made and who changed a row last, and when. */
export const editedOut = { createdBy: z.string(), createdAt: timeOut, updatedBy: z.string(), updatedAt: timeOut };

export const countOut = z.int();
/** How many, by a name such as a reason or an error code. */
export const countsOut = z.record(z.string(), countOut);

/** `version` of an event: a number, text when beyond 2^53. */
export const versionOut = z.union([z.int(), z.string()]);

/** The answer of a list: one page of it. */
export function pageOut<Item extends z.core.$ZodType>(item: Item) {
  return z.object({ items: z.array(item), nextCursor: nullableText });
}

/** Beside an answer to a filter: absent = nothing to say. */
export const hintsOut = described(
  z.optional(z.array(z.object({ field: z.string(), detail: z.string() }))),
  "Parts of the filter that are probably mistakes, such as a source that does not exist; absent = none",
);

/** Of a file of rows, in a query. */
export const fileShape = {
  format: z._default(z.enum(["ndjson", "csv"], "must be ndjson or csv"), "ndjson"),
  bom: described(
    z._default(z.enum(["true", "false"], "must be true or false"), "false"),
    "true: a CSV begins with a byte order mark, so that Excel reads it as UTF-8",
  ),
};

/** Some of `words` with commas between them; `alone`: a word that may stand instead of them. */
export function listText(words: readonly string[], alone?: string) {
  const one = `(${words.join("|")})`;
  const text = `must be ${alone ? `${alone}, or ` : ""}one or more of ${words.join(", ")}`;
  return z.string().check(z.regex(new RegExp(`^(${alone ? `${alone}|` : ""}${one}(,${one})*)$`), text));
}

/** `[name, value]` or `[name, value, encoding]`; a name may repeat. */
export const headersSchema = z.array(
  z
    .custom<Header>(
      (header) =>
        Array.isArray(header) &&
        (header.length === 2 || header.length === 3) &&
        header.every((part) => typeof part === "string" || part === null),
    )
    .register(z.globalRegistry, { type: "array", minItems: 2, maxItems: 3, items: { type: ["string", "null"] } }),
);

/** A number that the store counts from 1, such as a revision. `fault`: what to say of anything else. */
export const positiveInt4 = (fault: string) => z.int(fault).check(z.gte(1, fault), z.lte(INT4_MAX, fault));

/** The reason for a change: kept in the audit for ever. */
export const reasonSchema = z
  .string("say why: the reason is kept in the audit")
  .check(z.regex(/\S/, "say why: the reason is kept in the audit"), z.maxLength(2_000, "at most 2,000 characters"));

/** The body of a deletion. Without a body the reason is `initial`. */
export function deletion(name: string, reason: string, initial = "deleted") {
  return named(name, z.strictObject({ reason: z._default(reasonSchema, initial) }), { reason });
}
