import { KNOWN_DAYS } from "@/lib/brokers/source-limits.pure";
import type { KindField, KindOut } from "@/lib/sources/kinds.shapes";
import { type LinkTemplate, templateFaults } from "@/lib/sources/links/source-links.pure";
import type { SourceOut } from "@/lib/sources/sources.shapes";

export type Config = Readonly<Record<string, unknown>>;

/** What a form holds of a source. `config` is what is sent, but for blanks that `bodyOf` takes out. */
export type SourceDraft = {
  name: string;
  kind: string;
  config: Config;
  /** JSON Schema of payloads as text; empty = a payload must only be valid JSON. */
  payloadSchema: string;
  /** A number as text; empty = all events are stored. */
  stormPerMinute: string;
  /** A number as text; empty = for good. */
  knownDays: string;
  /** A row without label and address is not sent. */
  links: readonly LinkTemplate[];
};

/** How the server shows a value that it keeps to itself. Sent back, it stands for the stored value. */
export const KEPT = "***";

export function sourceDraft(source: SourceOut): SourceDraft {
  const { name, kind, config, payloadSchema, stormPerMinute, knownDays, links } = source;
  return {
    ...{ name, kind, config, links },
    payloadSchema: payloadSchema === null ? "" : JSON.stringify(payloadSchema, null, 2),
    stormPerMinute: stormPerMinute === null ? "" : String(stormPerMinute),
    knownDays: knownDays === null ? "" : String(knownDays),
  };
}

export const NEW_SOURCE: SourceDraft = {
  name: "",
  kind: "",
  config: {},
  payloadSchema: "",
  stormPerMinute: "",
  knownDays: String(KNOWN_DAYS.usual),
  links: [],
};

type Path = readonly string[];

export function valueAt(config: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, key) => (isObject(value) ? value[key] : undefined), config);
}

/** A copy with the setting at `path` changed. `undefined` removes it, and the objects that are empty without it. */
export function withValue(config: Config, [key, ...rest]: Path, value: unknown): Config {
  if (key === undefined) return config;
  const { [key]: before, ...others } = config;
  const after = rest.length === 0 ? value : withValue(isObject(before) ? before : {}, rest, value);
  if (after === undefined || (rest.length > 0 && Object.keys(after as object).length === 0)) return others;
  // Settings keep their place, so that the JSON of a configuration does not jump while it is edited.
  return key in config ? { ...config, [key]: after } : { ...others, [key]: after };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What a typed text is as a number; text that is none stays as it is, and the server names the fault. */
export function numberOrText(text: string): number | string | undefined {
  if (text.trim() === "") return undefined;
  return /^-?\d{1,15}(\.\d*[1-9])?$/.test(text.trim()) ? Number(text) : text;
}

/** The configuration without blanks around texts and without empty entries of lists. */
function trimmed(config: Config, fields: readonly KindField[]): Config {
  return fields.reduce((done, { path, input, role }) => {
    const value = valueAt(done, path);
    if (input === "list" && Array.isArray(value)) {
      const entries = value
        .map((entry) => (typeof entry === "string" ? entry.trim() : entry))
        .filter((entry) => entry !== "");
      return withValue(done, path, entries.length === 0 ? undefined : entries);
    }
    const blank = typeof value === "string" && input === "text" && role !== "secret" && value !== value.trim();
    return blank ? withValue(done, path, value.trim() || undefined) : done;
  }, config);
}

/** Errors by the path of their setting, and by `name`, `payloadSchema`, `stormPerMinute`, `knownDays`, `links...` or `config` for what has no field of its own. */
export type SourceErrors = Partial<Record<string, string>>;

export type SourceBody = {
  config: Record<string, unknown>;
  payloadSchema: Record<string, unknown> | null;
  stormPerMinute: number | null;
  knownDays: number | null;
  links: LinkTemplate[];
};
type SourceResult = { ok: true; body: SourceBody } | { ok: false; errors: SourceErrors };

/** The configuration to send. Only what makes a request pointless is found here; the server checks the rest. */
export function bodyOf(draft: SourceDraft, { fields }: Pick<KindOut, "fields">): SourceResult {
  const config = trimmed(draft.config, fields);
  const errors: SourceErrors = {};
  // Settings below an object are needed only when the object is there, which the server knows.
  for (const { path, required } of fields)
    if (required && path.length === 1 && valueAt(config, path) === undefined) errors[path[0]!] = "Required.";
  const payloadSchema = jsonObject(draft.payloadSchema);
  if (payloadSchema === undefined) errors.payloadSchema = "Not a JSON object.";
  const limit = draft.stormPerMinute.trim();
  if (!/^([1-9]\d{0,6})?$/.test(limit)) errors.stormPerMinute = "A whole number from 1 to 1000000, or empty.";
  const known = draft.knownDays.trim();
  const { min, max } = KNOWN_DAYS;
  if (known !== "" && !(/^\d{1,4}$/.test(known) && Number(known) >= min && Number(known) <= max))
    errors.knownDays = `A whole number of days from ${min} to ${max}, or empty.`;
  const links = draft.links.map(({ label, kind, url }) => ({ label: label.trim(), kind, url: url.trim() }));
  const isBlank = ({ label, url }: LinkTemplate) => label === "" && url === "";
  for (const { at, field, detail } of templateFaults(links)) {
    if (!isBlank(links[at]!)) errors[`links[${at}].${field}`] = links[at]![field] === "" ? "Required." : detail;
  }
  links.forEach((link, at) => {
    if (link.label === "" && link.url !== "") errors[`links[${at}].label`] = "Required.";
  });
  if (payloadSchema === undefined || Object.keys(errors).length > 0) return { ok: false, errors };
  return {
    ok: true,
    body: {
      config: { ...config },
      payloadSchema,
      stormPerMinute: limit === "" ? null : Number(limit),
      knownDays: known === "" ? null : Number(known),
      links: links.filter((link) => !isBlank(link)),
    },
  };
}

/** null for an empty text, undefined for one that is no JSON object. */
export function jsonObject(text: string): Record<string, unknown> | null | undefined {
  if (text.trim() === "") return null;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined; // said beside the field
  }
}

/** The server's errors by the setting that they belong to: an entry's error belongs to its list. */
export function errorsOf(
  found: readonly { field: string; detail: string }[],
  fields: readonly KindField[],
): SourceErrors {
  const errors: SourceErrors = {};
  for (const { field, detail } of found) {
    const path = field.replace(/^(config|destination)\./, "");
    const setting = fields.find((one) => path === one.path.join(".") || path.startsWith(`${one.path.join(".")}.`));
    const own = path === "name" || path === "kind" || path === "stormPerMinute" || path === "knownDays" || isLink(path);
    const key = setting?.path.join(".") ?? (own ? path : path.startsWith("payloadSchema") ? "payloadSchema" : "config");
    const rest = path.slice(key.length).replace(/^\./, "");
    const text =
      setting === undefined ? (own ? detail : `${path} ${detail}`) : rest === "" ? detail : `${rest} ${detail}`;
    errors[key] = errors[key] === undefined ? text : `${errors[key]}; ${text}`;
  }
  return errors;
}

function isLink(path: string): boolean {
  return /^links(\[\d+\]\.(label|kind|url))?$/.test(path);
}

/** The setting of a kind that says where each fact of an event is found. */
const MAPPING = "mapping";

export function isMapping({ path }: Pick<KindField, "path">): boolean {
  return path[0] === MAPPING;
}

export function mappingOf(config: Config): Record<string, unknown> {
  const mapping = config[MAPPING];
  return isObject(mapping) ? mapping : {};
}
