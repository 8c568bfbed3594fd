import { type FormField, formFields } from "@/lib/brokers/kinds/descriptor.shapes";
import { type Mapping, mapping as mappingSchema } from "@/lib/brokers/kinds/fields.shapes";
import { KINDS, kindOf, parseMapping, parseSourceConfig, type SourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import { listOf, nearName } from "@/lib/platform/plain/near-name.pure";
import { DomainError, type FieldError } from "@/lib/platform/plain/problem.pure";

/**
 * As `parseSourceConfig`, for what a person wrote: a setting that the kind does not have is answered with those that it
 * has, and one that is missing is said to be. Throws DomainError `invalid-config`.
 */
export function parseEditedConfig(kind: string, edited: Record<string, unknown>): SourceConfig {
  const known = KINDS.find((name) => name === kind);
  const settings = known === undefined ? [] : formFields(kindOf(known).config);
  return explained(settings, edited, () => parseSourceConfig(kind, edited));
}

/** The same for a mapping alone. */
export function parseEditedMapping(edited: Record<string, unknown>): Mapping {
  return explained(formFields(mappingSchema, ["mapping"]), { mapping: edited }, () => parseMapping(edited));
}

function explained<Parsed>(settings: readonly FormField[], edited: unknown, parse: () => Parsed): Parsed {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    const fields = error.fields.map((fault) => explainedFault(fault, settings, edited));
    throw new DomainError(error.code, error.message, { fields });
  }
}

/** Decided by the place of the fault, `config.redriveTo.queue`, not by its text. */
function explainedFault(fault: FieldError, settings: readonly FormField[], edited: unknown): FieldError {
  const [root, ...path] = fault.field.split(".");
  const name = path.at(-1);
  if (root !== "config" || name === undefined) return fault;
  const known = settingsIn(settings, path.slice(0, -1));
  // Entries of a list or a table have no settings beside them.
  if (known.length > 0 && !known.includes(name)) {
    const near = nearName(name, known);
    const detail = `is not a setting of this kind: ${near ? `is ${near} meant? ` : ""}it takes ${listOf(known, "and")}`;
    return { ...fault, detail };
  }
  const required = settings.some((setting) => setting.required && setting.path.join(".") === path.join("."));
  return required && valueAt(edited, path) === undefined ? { ...fault, detail: `is missing: ${fault.detail}` } : fault;
}

/** The names of the settings directly in a group of them: in `redriveTo` `mode`, `queue` ... */
function settingsIn(settings: readonly FormField[], group: readonly string[]): string[] {
  const inside = settings.filter(({ path }) => group.every((key, depth) => path[depth] === key));
  return [...new Set(inside.flatMap(({ path }) => path[group.length] ?? []))];
}

function valueAt(root: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined),
    root,
  );
}
