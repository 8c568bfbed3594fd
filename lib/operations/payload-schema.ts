import { DomainError } from "@/lib/core/problem";
import type { SchemaCheck } from "@/lib/redriving/schema-check";

/** Largest schema: every worker compiles it, and the console shows it whole. */
const SCHEMA_CHARS_MAX = 256 * 1024;

/** Each kind of JSON value: a schema that takes too long even for these is refused before it holds up a redrive. */
const SAMPLES = ["{}", "[]", '""', "0", "null", "true", '{"a":{"a":[{"a":"a"}]}}', `"${"a".repeat(64)}!"`];

const encoder = new TextEncoder();

/**
 * Throws DomainError `invalid-config` when the value is not a usable JSON Schema (2020-12): it would refuse every
 * redrive.
 */
export async function assertPayloadSchema(
  schemas: SchemaCheck,
  schema: Record<string, unknown> | null | undefined,
): Promise<void> {
  if (!schema) return;
  const text = JSON.stringify(schema);
  if (text.length > SCHEMA_CHARS_MAX) throw unusable(`has more than ${SCHEMA_CHARS_MAX} characters`);
  if (isAsync(schema)) throw unusable("must not be asynchronous: leave out $async");
  const [first, ...others] = await schemas.check(
    text,
    SAMPLES.map((sample) => encoder.encode(sample)),
    { overrunsMax: 1 },
  );
  if ([first, ...others].includes(null)) throw unusable("takes too long to compile, or for the smallest of payloads");
  const { ok, detail } = first!.schema;
  // The text of the compiler: it is about the schema that was just sent, and names the keyword.
  if (!ok && detail.includes("is not usable: ")) throw unusable(detail.split("is not usable: ")[1]!.slice(0, 500));
}

/** `$async` is a keyword of the compiler, not of JSON Schema: such a schema answers with a promise. */
function isAsync(schema: unknown): boolean {
  if (typeof schema !== "object" || schema === null) return false;
  if ("$async" in schema && schema.$async === true) return true;
  return Object.values(schema).some(isAsync);
}

function unusable(detail: string): DomainError {
  return new DomainError("invalid-config", "payloadSchema is no usable JSON Schema (2020-12)", {
    fields: [{ field: "payloadSchema", detail }],
  });
}
