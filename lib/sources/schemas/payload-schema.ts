import { DomainError } from "@/lib/platform/plain/problem.pure";
import type { SchemaCheck } from "@/lib/sources/schemas/schema-check";
import { unevaluatedItemsFault } from "@/lib/sources/schemas/unevaluated-items.pure";

/** Largest schema: every worker compiles it, and the console shows it whole. */
const SCHEMA_CHARS_MAX = 256 * 1024;
/** A validator works through a schema by recursion. */
const DEPTH_MAX = 100;

/** Each kind of JSON value: a schema that takes too long even for these is refused before it holds up a redrive. */
const SAMPLES = ["{}", "[]", '""', "0", "null", "true", '{"a":{"a":[{"a":"a"}]}}', `"${"a".repeat(64)}!"`];
const DRAFT_2020_12 = /^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;

const encoder = new TextEncoder();

/**
 * Throws DomainError `invalid-config` when the value is not a usable JSON Schema (2020-12): it would refuse every
 * redrive. `field`: where the schema stands in the request.
 */
export async function assertPayloadSchema(
  schemas: SchemaCheck,
  schema: Record<string, unknown> | null | undefined,
  field = "payloadSchema",
): Promise<void> {
  if (!schema) return;
  const fault = faultOf(schema);
  if (fault !== null) throw unusable(field, fault);
  const results = await schemas.check(
    JSON.stringify(schema),
    SAMPLES.map((sample) => encoder.encode(sample)),
    { overrunsMax: 1 },
  );
  if (results.includes(null)) throw unusable(field, "takes too long to compile, or to check even the smallest payload");
  // The text of the compiler: it is about the schema that was just sent, and names the keyword.
  const why = results.find((result) => result!.unusable !== null)?.unusable;
  if (why) throw unusable(field, why.slice(0, 500));
}

/** What no compiler has to see to refuse it; null = nothing. */
function faultOf(schema: Record<string, unknown>): string | null {
  const { $schema } = schema;
  if ($schema !== undefined && !(typeof $schema === "string" && DRAFT_2020_12.test($schema))) {
    return "$schema names a draft other than 2020-12: leave it out, or rewrite the schema for 2020-12";
  }
  const open: { value: unknown; depth: number }[] = [{ value: schema, depth: 1 }];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const { value, depth } = at;
    if (typeof value !== "object" || value === null) continue;
    if (depth > DEPTH_MAX) return `is nested more than ${DEPTH_MAX} levels deep`;
    // `$async` is a keyword of the compiler, not of JSON Schema: such a schema answers with a promise.
    if ("$async" in value && value.$async === true) return "must not be asynchronous: leave out $async";
    if (Object.hasOwn(value, "__proto__")) return "has the key __proto__, which cannot be checked";
    const { $ref } = value as { $ref?: unknown };
    if (typeof $ref === "string" && /^[a-z][a-z0-9+.-]*:\/\//i.test($ref) && !isOwn($ref, schema)) {
      return `$ref ${JSON.stringify($ref.slice(0, 200))} is outside the schema, and nothing is fetched: copy it into $defs`;
    }
    for (const part of Object.values(value)) open.push({ value: part, depth: depth + 1 });
  }
  const { length } = JSON.stringify(schema);
  if (length > SCHEMA_CHARS_MAX) return `has ${length} characters, at most ${SCHEMA_CHARS_MAX}`;
  return unevaluatedItemsFault(schema);
}

/** The address is an `$id` within the schema. */
function isOwn(ref: string, schema: Record<string, unknown>): boolean {
  return JSON.stringify(schema).includes(`"$id":${JSON.stringify(ref.split("#")[0])}`);
}

function unusable(field: string, detail: string): DomainError {
  return new DomainError("invalid-config", `${field} is not a usable JSON Schema (2020-12)`, {
    fields: [{ field, detail }],
  });
}
