import Ajv2020, { type ValidateFunction } from "ajv/dist/2020";
import addFormats from "ajv-formats";

export type PayloadCheck = { parses: { ok: boolean; detail: string }; schema: { ok: boolean; detail: string } };

/** Findings shown of one payload: the first few tell what is wrong. */
const ERRORS_SHOWN = 3;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Checks payloads against JSON Schemas (2020-12); a schema is compiled once. */
export function createPayloadChecker() {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  const compiled = new WeakMap<object, ValidateFunction | string>();

  function validatorOf(schema: object): ValidateFunction | string {
    const known = compiled.get(schema);
    if (known) return known;
    let made: ValidateFunction | string;
    try {
      made = ajv.compile(schema);
    } catch (error) {
      made = error instanceof Error ? error.message : String(error);
    }
    compiled.set(schema, made);
    return made;
  }

  return function checkPayload(payload: Uint8Array, contentType: string, schema: object | null): PayloadCheck {
    if (!isJson(contentType) && schema === null) {
      return { parses: { ok: true, detail: `${contentType}: not checked` }, schema: noSchema };
    }
    let value: unknown;
    try {
      value = JSON.parse(utf8.decode(payload));
    } catch {
      const detail = "the payload is not valid JSON in UTF-8";
      return { parses: { ok: false, detail }, schema: schema === null ? noSchema : { ok: false, detail } };
    }
    const parses = { ok: true, detail: "valid JSON" };
    return { parses, schema: schema === null ? noSchema : matches(validatorOf(schema), value) };
  };
}

export type PayloadChecker = ReturnType<typeof createPayloadChecker>;

const noSchema = { ok: true, detail: "the source has no JSON Schema" };

function isJson(contentType: string): boolean {
  return /^[^;]*[/+]json\s*(;|$)/i.test(contentType);
}

function matches(validate: ValidateFunction | string, value: unknown): { ok: boolean; detail: string } {
  // A schema that does not compile must not let everything through.
  if (typeof validate === "string") return { ok: false, detail: `the source's JSON Schema is not usable: ${validate}` };
  if (validate(value)) return { ok: true, detail: "matches the source's JSON Schema" };
  const errors = validate.errors ?? [];
  const shown = errors.slice(0, ERRORS_SHOWN).map((error) => `${error.instancePath || "/"} ${error.message}`);
  const more = errors.length > shown.length ? ` and ${errors.length - shown.length} more` : "";
  return { ok: false, detail: shown.join("; ") + more };
}
