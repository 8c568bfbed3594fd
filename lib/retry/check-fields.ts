/** One violation: `field` is a path such as `backoff.jitter.fraction`, `bound` the values that are allowed. */
export type Violation = { field: string; value: unknown; bound: string };

/** The values that a field may have. `Infinity` and NaN never pass a number rule. An optional field may be absent. */
export type Rule = { optional?: boolean } & (
  | { kind: "number"; min: number; max: number; above?: boolean; integer?: boolean; nullable?: boolean }
  | { kind: "choice"; of: readonly string[] }
  | { kind: "numbers"; min: number; max: number; countMax: number }
  | { kind: "codes"; countMax: number; nullable?: boolean }
  | { kind: "object"; fields: Fields; nullable?: boolean }
  | { kind: "variant"; variants: Readonly<Record<string, Fields>>; nullable?: boolean }
);

export type Fields = Readonly<Record<string, Rule>>;

/** A number in [min, max]. */
export function between(min: number, max: number): Rule & { kind: "number" } {
  return { kind: "number", min, max };
}

/** A number in (min, max]. */
export function above(min: number, max: number): Rule & { kind: "number" } {
  return { kind: "number", min, max, above: true };
}

export function integer(min: number, max: number): Rule & { kind: "number" } {
  return { kind: "number", min, max, integer: true };
}

/** The same rule, or null. */
export function orNull<R extends Rule & { nullable?: boolean }>(rule: R): R {
  return { ...rule, nullable: true };
}

/** The same rule, and the field may be absent: values that were stored before the field existed stay valid. */
export function optional<R extends Rule>(rule: R): R {
  return { ...rule, optional: true };
}

/** All parts of `value` that break a rule. An unknown field is a violation, too: it is usually a misspelt one. */
export function checkFields(value: unknown, fields: Fields, path = ""): Violation[] {
  if (!isRecord(value)) return [{ field: path || "policy", value, bound: "an object" }];
  const at = (name: string) => (path ? `${path}.${name}` : name);
  const known = Object.entries(fields).flatMap(([name, rule]) => checkRule(value[name], rule, at(name)));
  const strays = Object.keys(value).filter((name) => !Object.hasOwn(fields, name));
  return [...known, ...strays.map((name) => ({ field: at(name), value: value[name], bound: "not a field" }))];
}

function checkRule(value: unknown, rule: Rule, field: string): Violation[] {
  if (value === undefined && rule.optional) return [];
  if (value === null && "nullable" in rule && rule.nullable) return [];
  switch (rule.kind) {
    case "number":
      return isWithin(value, rule) ? [] : [{ field, value, bound: boundOf(rule) }];
    case "choice":
      return rule.of.includes(value as string) ? [] : [{ field, value, bound: `one of ${rule.of.join(", ")}` }];
    case "numbers":
      return checkNumbers(value, rule, field);
    case "codes":
      return checkCodes(value, rule, field);
    case "object":
      return checkFields(value, rule.fields, field);
    case "variant":
      return checkVariant(value, rule.variants, field);
  }
}

function checkNumbers(value: unknown, rule: Rule & { kind: "numbers" }, field: string): Violation[] {
  if (!Array.isArray(value) || value.length < 1 || value.length > rule.countMax) {
    return [{ field, value, bound: `a list of 1 to ${rule.countMax} numbers` }];
  }
  const one = between(rule.min, rule.max);
  return value.flatMap((entry, index) => checkRule(entry, one, `${field}[${index}]`));
}

/** As the classifier spells them: `HTTP_503`, `ECONNRESET`, `40001`. */
const CODE = /^[A-Z0-9][A-Z0-9_]{0,63}$/;
/** Kinds of verdicts that may be repeated, and what no rule knows. */
const TYPES = ["transient", "throttled", "ambiguous", "unknown"];

function checkCodes(value: unknown, { countMax }: Rule & { kind: "codes" }, field: string): Violation[] {
  if (!Array.isArray(value) || value.length < 1 || value.length > countMax) {
    return [{ field, value, bound: `a list of 1 to ${countMax} codes` }];
  }
  return value.flatMap((code: unknown, index) =>
    typeof code === "string" && (CODE.test(code) || TYPES.includes(code))
      ? []
      : [{ field: `${field}[${index}]`, value: code, bound: `a code such as HTTP_503, or one of ${TYPES.join(", ")}` }],
  );
}

function checkVariant(value: unknown, variants: Readonly<Record<string, Fields>>, field: string): Violation[] {
  const kinds: Rule = { kind: "choice", of: Object.keys(variants) };
  if (!isRecord(value)) return [{ field, value, bound: "an object" }];
  const fields = typeof value.kind === "string" && Object.hasOwn(variants, value.kind) ? variants[value.kind] : null;
  return fields ? checkFields(value, { kind: kinds, ...fields }, field) : checkRule(value.kind, kinds, `${field}.kind`);
}

function isWithin(value: unknown, rule: Rule & { kind: "number" }): boolean {
  // NaN and Infinity fail the comparisons below.
  if (typeof value !== "number") return false;
  if (rule.integer && !Number.isInteger(value)) return false;
  return (rule.above ? value > rule.min : value >= rule.min) && value <= rule.max;
}

function boundOf(rule: Rule & { kind: "number" }): string {
  const kind = rule.integer ? "a whole number" : "a number";
  return `${kind} ${rule.above ? ">" : ">="} ${rule.min} and <= ${rule.max}`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
