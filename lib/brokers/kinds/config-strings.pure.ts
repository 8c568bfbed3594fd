import { referenceIn } from "@/lib/guard/redaction/secret-references.pure";
import { type DomainError, type FieldError, invalidFields } from "@/lib/platform/plain/problem.pure";

/** The configuration of a source, or of a part of it, as JSON. */
export type Config = Readonly<Record<string, unknown>>;
/** Keys and indices that lead to a value in a configuration. */
type Path = readonly string[];

export function mapStrings(config: Config, change: (text: string, path: Path) => string): Record<string, unknown> {
  return mapJson(config, [], change) as Record<string, unknown>;
}

function mapJson(value: unknown, path: Path, change: (text: string, path: Path) => string): unknown {
  if (typeof value === "string") return change(value, path);
  if (Array.isArray(value)) return value.map((entry, index) => mapJson(entry, [...path, String(index)], change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, entry]) => entry !== undefined)
      .map(([key, entry]) => [key, mapJson(entry, [...path, key], change)]),
  );
}

export function stringsIn(config: Config): { path: Path; text: string }[] {
  const found: { path: Path; text: string }[] = [];
  mapStrings(config, (text, path) => {
    found.push({ path, text });
    return text;
  });
  return found;
}

/** What stands at a path; undefined = nothing does. */
export function valueAt(root: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (value, key) => (typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined),
    root,
  );
}

type Reference = { path: Path; name: string };

export function referencesIn(config: Config): Reference[] {
  return stringsIn(config).flatMap(({ path, text }) => {
    const name = referenceIn(text);
    return name === null ? [] : [{ path, name }];
  });
}

export function badReferences(references: readonly Reference[], fault: string): DomainError {
  return invalidFields(
    references.map(({ path }) => configFault(path, fault)),
    "invalid-config",
  );
}

export function configFault(path: Path, detail: string): FieldError {
  return { field: ["config", ...path].join("."), detail };
}
