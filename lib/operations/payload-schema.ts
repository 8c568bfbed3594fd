import Ajv2020 from "ajv/dist/2020";
import addFormats from "ajv-formats";
import { DomainError } from "@/lib/core/problem";

/** Throws DomainError `invalid-config` for what is no JSON Schema (2020-12): it would refuse every redrive. */
export function assertPayloadSchema(schema: Record<string, unknown> | null | undefined): void {
  if (!schema) return;
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  try {
    ajv.compile(schema);
  } catch (error) {
    throw new DomainError("invalid-config", "payloadSchema is no usable JSON Schema (2020-12)", {
      fields: [{ field: "payloadSchema", detail: ajv.errorsText() === "No errors" ? reason(error) : ajv.errorsText() }],
    });
  }
}

/** The compiler's own words: they are about the schema that was just sent, and name the keyword. */
function reason(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 500) : "does not compile";
}
