import { readSourceId } from "@/lib/guard/viewer/source-names.read";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";
import type { PayloadCheck, PayloadChecker } from "@/lib/sources/schemas/check-payload";
import { assertPayloadSchema } from "@/lib/sources/schemas/payload-schema";
import type { SchemaInForce } from "@/lib/sources/schemas/payload-schemas.read";
import { FAULTS_MAX, type SchemaCheckOut, type SchemaCheckRequest } from "@/lib/sources/schemas/payload-schemas.shapes";
import type { SchemaCheck } from "@/lib/sources/schemas/schema-check";

export type SchemaDeps = { db: Queryable; schemas: SchemaCheck; checkPayloads: PayloadChecker };

/** A draft has version 0: it is not stored. */
export function draftSchema(eventType: string | null, body: Record<string, unknown>): SchemaInForce {
  return { id: "draft", eventType, version: 0, text: JSON.stringify(body) };
}

/**
 * One text against the schema in force of a source and event type, or against a draft. Throws DomainError
 * `unknown-source`, and `invalid-config` for a draft that cannot be used.
 */
export async function checkSchema(
  deps: SchemaDeps,
  { source, eventType = null, text, schema }: SchemaCheckRequest,
  viewer: Viewer,
): Promise<SchemaCheckOut> {
  const sourceId = await readSourceId(deps.db, viewer, source);
  await assertPayloadSchema(deps.schemas, schema, "schema");
  const payload = { payload: Buffer.from(text), contentType: "application/json", headers: [], origin: {} };
  const options = { faultsMax: FAULTS_MAX };
  const [check] = schema
    ? await deps.checkPayloads.against([{ ...payload, schema: draftSchema(eventType, schema) }], options)
    : await deps.checkPayloads.inForce(deps.db, [{ ...payload, sourceId, eventType }], options);
  return checkOut(check!);
}

function checkOut({ parses, schema: { tooSlow = false, judgedBy, ...schema } }: PayloadCheck): SchemaCheckOut {
  return {
    parses,
    tooSlow,
    ...schema,
    judgedBy: judgedBy && { ...judgedBy, id: judgedBy.version === 0 ? null : judgedBy.id },
  };
}
