import type { Clock } from "@/lib/platform/clock";
import type { Queryable } from "@/lib/platform/database/db";
import { createTurns } from "@/lib/platform/turns";
import { type FormedBody, isJsonType, whyNotPlain } from "@/lib/sources/schemas/body-form.pure";
import { createSchemasInForce, type SchemaInForce, schemaName } from "@/lib/sources/schemas/payload-schemas.read";
import { SCHEMA_MS_MAX, type SchemaCheck, type SchemaOutcome } from "@/lib/sources/schemas/schema-check";
import { type SchemaFault, schemaFault } from "@/lib/sources/schemas/schema-fault.pure";

/** `ok` null = not checked, and `detail` says why. */
export type PayloadCheck = {
  parses: { ok: boolean | null; detail: string };
  schema: {
    ok: boolean | null;
    detail: string;
    /** The schema did not decide in its time. */
    tooSlow?: boolean;
    /** The version that judged; null = there is none for the event. */
    judgedBy: { id: string; eventType: string | null; version: number } | null;
    faults: SchemaFault[];
    /** There are further faults, which are left out. */
    moreFaults: boolean;
  };
};

/** `faultsMax`: faults of one payload at most, 1 unless it is given. */
export type CheckOptions = { faultsMax?: number };

export type PayloadChecker = {
  /**
   * Checks payloads against the schema in force of their source and event type, and answers in their order. Any number
   * of payloads; the caller bounds the bytes that it holds in memory.
   */
  inForce(
    db: Queryable,
    payloads: readonly (FormedBody & { sourceId: string; eventType: string | null })[],
    options?: CheckOptions,
  ): Promise<PayloadCheck[]>;
  /** The same with named schemas; null = a payload must only be valid JSON. */
  against(
    payloads: readonly (FormedBody & { schema: SchemaInForce | null })[],
    options?: CheckOptions,
  ): Promise<PayloadCheck[]>;
};

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Payloads without a schema are parsed here, in turns with other work; the others in a thread that can be ended. */
export function createPayloadChecker(schemas: SchemaCheck, clock: Clock): PayloadChecker {
  const known = createSchemasInForce();

  const against: PayloadChecker["against"] = async (payloads, options) => {
    const checks: PayloadCheck[] = [];
    const bySchema = new Map<string, number[]>();
    const turns = createTurns(clock);
    for (const [index, { schema, ...body }] of payloads.entries()) {
      if (schema === null) {
        checks[index] = withoutSchema(body);
        if (turns.due()) await turns.give();
        continue;
      }
      const indexes = bySchema.get(schema.id);
      if (indexes) indexes.push(index);
      else bySchema.set(schema.id, [index]);
    }
    await Promise.all(
      [...bySchema.values()].map(async (indexes) => {
        const schema = payloads[indexes[0]!]!.schema!;
        const outcomes = await schemas.check(
          schema.text,
          indexes.map((index) => payloads[index]!.payload),
          options,
        );
        outcomes.forEach((outcome, place) => {
          checks[indexes[place]!] = checkOf(outcome, schema, payloads[indexes[place]!]!);
        });
      }),
    );
    return checks;
  };

  return {
    against,
    inForce: async (db, payloads, options) => {
      const found = await known.find(db, payloads);
      return against(
        payloads.map((body, index) => ({ ...body, schema: found[index]! })),
        options,
      );
    },
  };
}

const NO_SCHEMA: PayloadCheck["schema"] = {
  ok: null,
  detail: "not checked: there is no schema for the event's source and type",
  judgedBy: null,
  faults: [],
  moreFaults: false,
};
const NO_JSON = { ok: false, detail: "the payload is not valid JSON in UTF-8" };

function withoutSchema(body: FormedBody): PayloadCheck {
  const { payload, contentType } = body;
  if (!isJsonType(contentType)) {
    return { parses: { ok: null, detail: `not checked: ${contentType || "no content type"}` }, schema: NO_SCHEMA };
  }
  try {
    JSON.parse(utf8.decode(payload));
    return { parses: { ok: true, detail: "valid JSON" }, schema: NO_SCHEMA };
  } catch {
    return { parses: unparsed(body), schema: NO_SCHEMA };
  }
}

/** An empty or encoded body is no JSON in UTF-8, and need not be: its consumer reads it as its message says. */
function unparsed(body: FormedBody): PayloadCheck["parses"] {
  const why = whyNotPlain(body);
  return why === null ? NO_JSON : { ok: null, detail: `not checked: ${why}` };
}

function checkOf(outcome: SchemaOutcome, schema: SchemaInForce, body: FormedBody): PayloadCheck {
  const { id, eventType, version } = schema;
  const judged = { judgedBy: { id, eventType, version }, faults: [], moreFaults: false };
  const name = schemaName(schema);
  if (outcome === null) {
    const detail = `${name} takes longer than ${SCHEMA_MS_MAX} ms for this payload: simplify its patterns and references`;
    return {
      parses: { ok: null, detail: "not decided" },
      schema: { ...judged, ok: false, detail, tooSlow: true },
    };
  }
  const { parses, unusable, moreFaults } = outcome;
  if (!parses) {
    const unread = unparsed(body);
    return { parses: unread, schema: { ...judged, ...unread } };
  }
  const faults = outcome.faults.map(schemaFault);
  const ok = unusable === null && faults.length === 0;
  const detail =
    unusable !== null
      ? `${name} cannot be used: ${unusable}`
      : ok
        ? `matches ${name}`
        : `${faults[0]!.detail} (${name})`;
  return { parses: { ok: true, detail: "valid JSON" }, schema: { ...judged, ok, detail, faults, moreFaults } };
}
