import type { Clock } from "@/lib/platform/clock";
import { createTurns } from "@/lib/platform/turns";
import { SCHEMA_MS_MAX, type SchemaCheck, type SchemaOutcome } from "@/lib/redriving/schema-check";
import type { SchemaResult } from "@/lib/redriving/schema-thread";

/** `tooSlow`: the schema did not decide in its time. */
export type PayloadCheck = SchemaResult & { schema: { tooSlow?: boolean } };

/** One payload, and the JSON Schema (2020-12) of its source. */
type CheckedPayload = { payload: Uint8Array; contentType: string; schema: object | null };

/** Checks the payloads of one claim, and answers in their order. */
export type PayloadChecker = (payloads: readonly CheckedPayload[]) => Promise<PayloadCheck[]>;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Payloads without a schema are parsed here, in turns with other work; the others in a thread that can be ended. */
export function createPayloadChecker(schemas: SchemaCheck, clock: Clock): PayloadChecker {
  const texts = new WeakMap<object, string>();
  const textOf = (schema: object): string => {
    const known = texts.get(schema);
    if (known !== undefined) return known;
    const text = JSON.stringify(schema);
    texts.set(schema, text);
    return text;
  };

  return async (payloads) => {
    const checks: PayloadCheck[] = [];
    const bySchema = new Map<string, number[]>();
    const turns = createTurns(clock);
    for (const [index, { payload, contentType, schema }] of payloads.entries()) {
      if (schema === null) {
        checks[index] = withoutSchema(payload, contentType);
        if (turns.due()) await turns.give();
        continue;
      }
      const text = textOf(schema);
      const indexes = bySchema.get(text);
      if (indexes) indexes.push(index);
      else bySchema.set(text, [index]);
    }
    await Promise.all(
      [...bySchema].map(async ([text, indexes]) => {
        const outcomes = await schemas.check(
          text,
          indexes.map((index) => payloads[index]!.payload),
        );
        outcomes.forEach((outcome, place) => {
          checks[indexes[place]!] = checkOf(outcome);
        });
      }),
    );
    return checks;
  };
}

const NO_SCHEMA = { ok: true, detail: "the source has no JSON Schema" };

function withoutSchema(payload: Uint8Array, contentType: string): PayloadCheck {
  if (!isJson(contentType)) return { parses: { ok: true, detail: `${contentType}: not checked` }, schema: NO_SCHEMA };
  try {
    JSON.parse(utf8.decode(payload));
    return { parses: { ok: true, detail: "valid JSON" }, schema: NO_SCHEMA };
  } catch {
    return { parses: { ok: false, detail: "the payload is not valid JSON in UTF-8" }, schema: NO_SCHEMA };
  }
}

function isJson(contentType: string): boolean {
  return /^[^;]*[/+]json\s*(;|$)/i.test(contentType);
}

function checkOf(outcome: SchemaOutcome): PayloadCheck {
  if (outcome !== null) return outcome;
  const detail = `the source's JSON Schema takes longer than ${SCHEMA_MS_MAX} ms for this payload: simplify its patterns and references`;
  return { parses: { ok: true, detail: "not decided" }, schema: { ok: false, detail, tooSlow: true } };
}
