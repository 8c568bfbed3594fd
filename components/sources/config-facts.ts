import type { KindField } from "@/lib/sources/kinds.shapes";
import type { SourceOut } from "@/lib/sources/sources.shapes";

/** A configuration as lines, by the labels of its kind, else by path. Without the mapping; the server masks secrets. */
export function configFacts(
  source: Pick<SourceOut, "config" | "payloadSchema">,
  fields: readonly Pick<KindField, "path" | "label">[],
): { name: string; value: string }[] {
  const { mapping: _, ...config } = source.config;
  const facts = factsOf(config, fields);
  return source.payloadSchema === null
    ? facts
    : [...facts, { name: "Payload schema", value: "checked before a redrive" }];
}

/** Where each mapped fact is found: `Aggregate id`, `Tag region`. */
export function mappingFacts(
  source: Pick<SourceOut, "config">,
  fields: readonly Pick<KindField, "path" | "label">[],
): { name: string; value: string }[] {
  return factsOf({ mapping: source.config.mapping ?? {} }, fields);
}

type Fields = readonly Pick<KindField, "path" | "label">[];

/** In the order of the fields: the store keeps no order of settings. */
function factsOf(config: Record<string, unknown>, fields: Fields): { name: string; value: string }[] {
  const placeOf = (path: string[]) => {
    const place = fields.findIndex((one) => one.path.every((key, index) => key === path[index]));
    return place === -1 ? fields.length : place;
  };
  return lines(config, [])
    .sort((left, right) => placeOf(left.path) - placeOf(right.path))
    .map(({ path, value }) => ({ name: nameOf(path, fields), value }));
}

function lines(config: Record<string, unknown>, above: string[]): { path: string[]; value: string }[] {
  return Object.entries(config).flatMap(([key, value]) => {
    const path = [...above, key];
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return lines(value as Record<string, unknown>, path);
    return [{ path, value: textOf(value) }];
  });
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  const isTexts = Array.isArray(value) && value.every((one) => typeof one === "string");
  return isTexts ? value.join(", ") : JSON.stringify(value);
}

function nameOf(path: string[], fields: Fields): string {
  const labelOf = (wanted: string[]) => fields.find((one) => one.path.join(".") === wanted.join("."))?.label;
  const own = labelOf(path);
  if (own !== undefined) return own;
  const table = labelOf(path.slice(0, -1));
  return table === undefined ? path.join(".") : `${table} ${path.at(-1)}`;
}
