import * as z from "zod/mini";
import { listOf, nearName } from "@/lib/platform/plain/near-name.pure";
import type { FieldError } from "@/lib/platform/plain/problem.pure";

type Schema = z.core.$ZodType;
type Issue = z.core.$ZodIssue;

/** Longest list of faults one answer repeats: enough to fix a request, too little to amplify one. */
const FAULTS_MAX = 20;
/** Names of an object that one sentence lists. */
const NAMES_MAX = 40;

/**
 * The body as its schema reads it, or what is wrong with it: one fault for each wrong field, with what the field takes. No fault
 * repeats a value.
 */
export function readBody<Body extends Schema>(
  schema: Body,
  sent: unknown,
): { body: z.output<Body>; faults: null } | { body: null; faults: FieldError[] } {
  const parsed = z.safeParse(schema, sent, { reportInput: true });
  if (parsed.success) return { body: parsed.data, faults: null };
  return { body: null, faults: faultsOf(parsed.error.issues, schema, []).slice(0, FAULTS_MAX) };
}

function faultsOf(issues: readonly Issue[], schema: Schema, prefix: readonly PropertyKey[]): FieldError[] {
  return issues.flatMap((issue) => {
    const path = [...prefix, ...issue.path];
    if (issue.code === "unrecognized_keys") return unknownKeys(issue.keys, path, schema);
    if (issue.code === "invalid_union" && issue.errors.length > 0) return unionFaults(issue, path, schema);
    return [{ field: pathText(path), detail: wordsOf(issue) }];
  });
}

/** "Leave it out" alone would be bad advice: a filter without its misspelt name selects everything. */
function unknownKeys(keys: readonly string[], path: readonly PropertyKey[], schema: Schema): FieldError[] {
  const known = keysOf(schemasAt(schema, path));
  const takes = known.length === 0 ? "leave it out" : `valid names are ${listOf(known.slice(0, NAMES_MAX), "and")}`;
  return keys.map((key) => {
    const near = nearName(key, known);
    return { field: pathText([...path, key]), detail: `unknown: ${near ? `did you mean ${near}? ` : ""}${takes}` };
  });
}

/**
 * The faults of the branch that came closest. Where the body begins none of them, all branches are named instead.
 */
function unionFaults(
  issue: Extract<Issue, { code: "invalid_union" }>,
  path: readonly PropertyKey[],
  schema: Schema,
): FieldError[] {
  const closest = issue.errors.reduce((best, branch) => (distance(branch) < distance(best) ? branch : best));
  const begun = closest.filter((inner) => inner.path.length > 0 && !isMissing(inner));
  if (begun.length > 0) return faultsOf(closest, schema, path);
  const unknown = closest.filter(({ code }) => code === "unrecognized_keys");
  if (unknown.length > 0) return faultsOf(unknown, schema, path);
  const forms = [...new Set(schemasAt(schema, path).flatMap(formOf))];
  const words = isOwn(issue.message) || forms.length === 0 ? issue.message : `must be ${listOf(forms, "or")}`;
  return [{ field: pathText(path), detail: missingWord(issue) + words }];
}

/** A branch whose keys are all known is nearer than one that misses the point; then fewer faults are nearer. */
function distance(branch: readonly Issue[]): number {
  return branch.filter(({ code }) => code === "unrecognized_keys").length * 100 + branch.length;
}

function isMissing(issue: Issue): boolean {
  return issue.code === "invalid_type" && "input" in issue && issue.input === undefined;
}

/** What a schema of ours says of a wrong value does not say that there is none. */
function missingWord(issue: Issue): string {
  const ofValue = issue.code === "invalid_type" || issue.code === "invalid_value" || issue.code === "invalid_union";
  return ofValue && issue.path.length > 0 && "input" in issue && issue.input === undefined ? "is missing: " : "";
}

/** The text of a schema of ours, not the validator's own. */
function isOwn(message: string): boolean {
  return !message.startsWith("Invalid ");
}

const TYPES: Record<string, string> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
  null: "null",
};

function wordsOf(issue: Issue): string {
  const missing = missingWord(issue);
  if (isOwn(issue.message)) return missing + issue.message;
  if (issue.code === "invalid_type") return `${missing}must be ${TYPES[issue.expected] ?? issue.expected}`;
  if (issue.code === "invalid_value") return `${missing}must be ${listOf(issue.values.map(literal), "or")}`;
  return issue.message;
}

const literal = (value: unknown) => (typeof value === "string" ? value : String(value));

/** What a schema takes, in words; an object by the names that it needs. */
function formOf(schema: Schema): string[] {
  const { def } = schema._zod;
  if (def.type === "object") {
    const names = Object.keys(shapeOf(schema));
    const required = names.filter((name) => shapeOf(schema)[name]!._zod.optin !== "optional");
    // What is read by a transform counts as optional.
    const told = required.length === 0 && names.length === 1 ? names : required;
    return [told.length === 0 ? "an object" : `an object with ${listOf(told, "and")}`];
  }
  if (def.type === "literal") return (def as z.core.$ZodLiteralDef<z.core.util.Literal>).values.map(literal);
  if (def.type === "enum") return Object.values((def as z.core.$ZodEnumDef).entries).map(literal);
  const words = TYPES[def.type];
  return words === undefined ? [] : [words];
}

/** The schemas that a path may lead to: of a union each branch. */
function schemasAt(schema: Schema, path: readonly PropertyKey[]): Schema[] {
  return path.reduce<Schema[]>((at, part) => at.flatMap((each) => stepInto(each, part)), branchesOf(schema));
}

function stepInto(schema: Schema, part: PropertyKey): Schema[] {
  const { def } = schema._zod;
  if (def.type === "object") {
    const shape = shapeOf(schema);
    return Object.hasOwn(shape, part) ? branchesOf(shape[String(part)]!) : [];
  }
  if (def.type === "array") return branchesOf((def as z.core.$ZodArrayDef).element);
  if (def.type === "record") return branchesOf((def as z.core.$ZodRecordDef).valueType);
  return [];
}

/** What may wrap a schema; of a pipe the end that has a shape. */
type Wrapper = { innerType?: Schema; in?: Schema; out?: Schema; getter?: () => Schema; options?: readonly Schema[] };

/** The schema without what wraps it; of a union each branch. */
function branchesOf(schema: Schema): Schema[] {
  const def = schema._zod.def as z.core.$ZodTypeDef & Wrapper;
  if (def.type === "union") return (def.options ?? []).flatMap(branchesOf);
  const piped = def.in?._zod.def.type === "transform" ? def.out : def.in;
  const inner = def.innerType ?? piped ?? def.getter?.();
  return inner ? branchesOf(inner) : [schema];
}

function shapeOf(schema: Schema): Record<string, Schema> {
  return (schema._zod.def as z.core.$ZodObjectDef).shape as Record<string, Schema>;
}

function keysOf(schemas: readonly Schema[]): string[] {
  return [...new Set(schemas.flatMap((each) => (each._zod.def.type === "object" ? Object.keys(shapeOf(each)) : [])))];
}

function pathText(path: readonly PropertyKey[]): string {
  if (path.length === 0) return "body";
  return path
    .map((part, index) => (typeof part === "number" ? `[${part}]` : `${index > 0 ? "." : ""}${String(part)}`))
    .join("");
}
