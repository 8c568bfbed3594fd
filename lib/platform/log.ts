import pino, { type DestinationStream, type Logger } from "pino";
import { currentIds } from "@/lib/platform/tracing/spans";

/**
 * JSON lines on stdout. Facts are fields (`eventId`, `traceId`, `redriveId`, `requestId`), the message is constant
 * text. A line that is written within a span has its `traceId` and `spanId`. A payload, a header value or a secret is never a field: the redaction below is the net, not the rule.
 */
export type Log = Logger;

const NEVER_LOGGED = new Set([
  ...["payload", "payloadBase64", "body", "headers", "config", "password", "authorization", "cookie", "set-cookie"],
  ...["secret", "secrets", "token", "apiKey", "routingKey", "privateKey", "passphrase", "credentials", "creds"],
  ...["secretAccessKey", "nkeySeed", "connectionString", "databaseUrl", "redisUrl"],
]);
const REDACTED = "[redacted]";

export function createLog(options: { level?: string; process: string; destination?: DestinationStream }): Log {
  const settings = {
    level: options.level ?? "info",
    base: { process: options.process, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }), log: redactLine },
    // An error has its fields only once it is serialized.
    serializers: { err: (error: unknown) => redactObject(serialized(error as Error)) },
  };
  return options.destination ? pino(settings, options.destination) : pino(settings);
}

/** pino appends the message of each cause to that of the error. A message that quotes its cause already stays as it is. */
function serialized(error: Error): object {
  const { cause, message } = error;
  const shown = pino.stdSerializers.err(error);
  return cause instanceof Error && message.includes(cause.message) ? { ...shown, message } : shown;
}

/** The fields of a line, and those of each object in it. pino's own redaction costs more than writing the line. */
function redactLine(line: Record<string, unknown>): Record<string, unknown> {
  const ids = currentIds();
  let safe = redactFields(ids === null ? line : { ...ids, ...line });
  for (const name of Object.keys(safe)) {
    if (name === "err") continue;
    const redacted = redactObject(safe[name]);
    if (redacted === safe[name]) continue;
    if (safe === line) safe = { ...line };
    safe[name] = redacted;
  }
  return safe;
}

function redactObject(value: unknown): unknown {
  return typeof value === "object" && value !== null ? redactFields(value) : value;
}

/** The object itself while none of its names is forbidden. */
function redactFields<T extends object>(fields: T): T {
  let safe = fields;
  for (const name of Object.keys(fields)) {
    if (!NEVER_LOGGED.has(name)) continue;
    if (safe === fields) safe = { ...fields };
    (safe as Record<string, unknown>)[name] = REDACTED;
  }
  return safe;
}
