import pino, { type DestinationStream, type Logger } from "pino";

/**
 * JSON lines on stdout. Facts are fields (`eventId`, `traceId`, `redriveId`, `requestId`), the message is constant
 * text. A payload, a header value or a secret is never a field: the redaction below is the net, not the rule.
 */
export type Log = Logger;

const NEVER_LOGGED = ["payload", "payloadBase64", "body", "headers", "config", "password", "authorization"];

export function createLog(options: { level?: string; process: string; destination?: DestinationStream }): Log {
  const settings = {
    level: options.level ?? "info",
    base: { process: options.process, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: NEVER_LOGGED.flatMap((name) => [name, `*.${name}`]), censor: "[redacted]" },
  };
  return options.destination ? pino(settings, options.destination) : pino(settings);
}
