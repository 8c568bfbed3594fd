import type { SourceOut } from "@/lib/contract/sources";

export const KINDS = ["http", "rabbitmq"] as const;
export type Kind = (typeof KINDS)[number];

/** The fields of a source's form. An empty text means "not set". */
export type SourceDraft = {
  name: string;
  kind: Kind;
  enabled: boolean;
  redriveUrl: string;
  slowLaneUrl: string;
  forwardCredentials: boolean;
  url: string;
  queue: string;
  redriveMode: "origin-queue" | "exchange";
  redriveQueue: string;
  slowLaneQueue: string;
  prefetch: string;
  /** The rest of the configuration (mapping, headers, exchange), as JSON. */
  more: string;
  /** JSON Schema of payloads; empty = a payload must only be valid JSON. */
  payloadSchema: string;
};

const EMPTY: SourceDraft = {
  name: "",
  kind: "http",
  enabled: true,
  redriveUrl: "",
  slowLaneUrl: "",
  forwardCredentials: false,
  url: "",
  queue: "",
  redriveMode: "origin-queue",
  redriveQueue: "",
  slowLaneQueue: "",
  prefetch: "",
  more: "",
  payloadSchema: "",
};

/** Settings with a field of their own; the rest is edited as JSON. */
const OWN: Record<Kind, readonly string[]> = {
  http: ["redriveUrl", "slowLaneUrl", "forwardCredentials"],
  rabbitmq: ["url", "queue", "slowLaneQueue", "prefetch"],
};

export function sourceDraft(source: SourceOut | null): SourceDraft {
  if (source === null) return EMPTY;
  const { config } = source;
  const kind = source.kind === "rabbitmq" ? "rabbitmq" : "http";
  const redriveTo = record(config.redriveTo);
  const rest = Object.fromEntries(
    Object.entries(config).filter(([name]) => !OWN[kind].includes(name) && (kind === "http" || name !== "redriveTo")),
  );
  const { mode, queue, ...furtherRedriveTo } = redriveTo;
  const more = Object.keys(furtherRedriveTo).length > 0 ? { ...rest, redriveTo: furtherRedriveTo } : rest;
  return {
    ...EMPTY,
    name: source.name,
    kind,
    enabled: source.enabled,
    redriveUrl: text(config.redriveUrl),
    slowLaneUrl: text(config.slowLaneUrl),
    forwardCredentials: config.forwardCredentials === true,
    url: text(config.url),
    queue: text(config.queue),
    redriveMode: mode === "exchange" ? "exchange" : "origin-queue",
    redriveQueue: text(queue),
    slowLaneQueue: text(config.slowLaneQueue),
    prefetch: text(config.prefetch),
    more: Object.keys(more).length === 0 ? "" : JSON.stringify(more, null, 2),
    payloadSchema: source.payloadSchema === null ? "" : JSON.stringify(source.payloadSchema, null, 2),
  };
}

export type SourceErrors = Partial<Record<keyof SourceDraft, string>>;
type SourceBody = {
  name: string;
  kind: Kind;
  enabled: boolean;
  config: Record<string, unknown>;
  payloadSchema: Record<string, unknown> | null;
};
export type SourceResult = { ok: true; source: SourceBody } | { ok: false; errors: SourceErrors };

/** The request of the form. Only errors that make a request impossible are found here; the server checks the rest. */
export function sourceBody(draft: SourceDraft): SourceResult {
  const errors: SourceErrors = {};
  const more = jsonObject(draft.more);
  const schema = jsonObject(draft.payloadSchema);
  if (draft.name.trim() === "") errors.name = "Name it as its consumers do.";
  if (more === null) errors.more = "Not a JSON object.";
  if (schema === null) errors.payloadSchema = "Not a JSON object.";
  if (draft.kind === "rabbitmq") {
    if (draft.url.trim() === "") errors.url = "Where is the broker? A URL, or env:PARKADE_SECRET_NAME.";
    if (draft.queue.trim() === "") errors.queue = "Which queue holds the dead letters?";
    if (draft.prefetch.trim() !== "" && !/^\d+$/.test(draft.prefetch.trim())) errors.prefetch = "A whole number.";
  }
  if (more === null || schema === null || Object.keys(errors).length > 0) return { ok: false, errors };
  const own = draft.kind === "http" ? httpConfig(draft) : rabbitmqConfig(draft, record(more.redriveTo));
  return {
    ok: true,
    source: {
      name: draft.name.trim(),
      kind: draft.kind,
      enabled: draft.enabled,
      config: { ...more, ...own },
      payloadSchema: draft.payloadSchema.trim() === "" ? null : schema,
    },
  };
}

function httpConfig(draft: SourceDraft): Record<string, unknown> {
  return present({
    redriveUrl: draft.redriveUrl,
    slowLaneUrl: draft.slowLaneUrl,
    forwardCredentials: draft.forwardCredentials || undefined,
  });
}

function rabbitmqConfig(draft: SourceDraft, further: Record<string, unknown>): Record<string, unknown> {
  const toOrigin = draft.redriveMode === "origin-queue" && draft.redriveQueue.trim() === "";
  const redriveTo = {
    ...further,
    ...present({ mode: toOrigin ? undefined : draft.redriveMode, queue: draft.redriveQueue }),
  };
  return present({
    url: draft.url,
    queue: draft.queue,
    slowLaneQueue: draft.slowLaneQueue,
    prefetch: draft.prefetch.trim() === "" ? undefined : Number(draft.prefetch),
    redriveTo: Object.keys(redriveTo).length === 0 ? undefined : redriveTo,
  });
}

/** Removes empty values: an absent setting has a default, an empty setting is an error. */
function present(fields: Record<string, unknown>): Record<string, unknown> {
  const kept = Object.entries(fields).map(([name, value]) => [name, typeof value === "string" ? value.trim() : value]);
  return Object.fromEntries(kept.filter(([, value]) => value !== undefined && value !== ""));
}

/** {} for an empty text, null for a text that is no JSON object. */
function jsonObject(source: string): Record<string, unknown> | null {
  if (source.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(source);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null; // said beside the field
  }
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function text(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

/** The errors of the server by field of the form: `config.url` belongs to `url`. */
export function errorsOf(fields: { field: string; detail: string }[], kind: Kind): SourceErrors {
  const errors: SourceErrors = {};
  for (const { field, detail } of fields) {
    const path = field.replace(/^config\./, "");
    if (path === "redriveTo.queue") errors.redriveQueue = detail;
    else if (path === "redriveTo.mode") errors.redriveMode = detail;
    else if (path === "name" || path === "kind" || OWN[kind].includes(path)) errors[path as keyof SourceDraft] = detail;
    else if (path.startsWith("payloadSchema")) errors.payloadSchema = detail;
    else errors.more = errors.more === undefined ? `${path} ${detail}` : `${errors.more}; ${path} ${detail}`;
  }
  return errors;
}
