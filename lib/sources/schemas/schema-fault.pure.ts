/** One place of a payload that its schema does not allow. */
export type SchemaFault = {
  /** JSON pointer into the payload; "" = the whole payload. */
  pointer: string;
  keyword: string;
  detail: string;
  /** What a person can do about it. */
  fix: string;
};

/** `params`: what the keyword demands, as the validator names it. */
type Refusal = { pointer: string; keyword: string; params: Record<string, unknown>; message: string };

/** The fault in words. A field that must not be there is named itself, any other fault by the place of its value. */
export function schemaFault({ pointer, keyword, params, message }: Refusal): SchemaFault {
  const extra = params.additionalProperty ?? params.unevaluatedProperty ?? params.propertyName;
  const at = typeof extra === "string" ? `${pointer}/${escapeToken(extra)}` : pointer;
  const place = at === "" ? "the payload" : at;
  return { pointer: at, keyword, detail: `${place} ${faultText(keyword, message)}`, fix: fixText(keyword, params, at) };
}

function faultText(keyword: string, message: string): string {
  if (keyword === "additionalProperties" || keyword === "unevaluatedProperties")
    return "is a field that is not allowed";
  if (keyword === "propertyNames") return "has a name that is not allowed";
  return message;
}

/** RFC 6901: a name as one token of a pointer. */
export function escapeToken(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

function fixText(keyword: string, params: Record<string, unknown>, at: string): string {
  const here = at === "" ? "the payload" : at;
  switch (keyword) {
    case "required":
    case "dependentRequired":
      return `add ${JSON.stringify(params.missingProperty)} to ${here}, or rename the field that holds its value`;
    case "additionalProperties":
    case "unevaluatedProperties":
    case "propertyNames":
      return `remove ${here}, or rename it to a field of the schema`;
    case "type":
      return `make ${here} ${Array.isArray(params.type) ? params.type.join(" or ") : String(params.type)}`;
    case "enum":
      return `use one of ${listText(params.allowedValues)}`;
    case "const":
      return `use ${JSON.stringify(params.allowedValue)}`;
    case "format":
      return `write ${here} as ${String(params.format)}`;
    case "pattern":
      return `write ${here} so that it matches ${String(params.pattern)}`;
    case "minimum":
    case "maximum":
    case "exclusiveMinimum":
    case "exclusiveMaximum":
      return `use a number ${String(params.comparison)} ${String(params.limit)}`;
    case "minLength":
    case "minItems":
    case "minProperties":
      return `give ${here} at least ${String(params.limit)}`;
    case "maxLength":
    case "maxItems":
    case "maxProperties":
      return `give ${here} at most ${String(params.limit)}`;
    default:
      return `change ${here}, or the schema where it is stricter than its consumer`;
  }
}

function listText(values: unknown): string {
  return Array.isArray(values) ? values.join(", ") : String(values);
}
