import type { Sent } from "@/lib/retry/classify/verdict";
import { parseDelayMs } from "@/lib/retry/retry-after";

/** Facts of one link of an error chain, read by shape: no client library is imported. */
export type Facts = {
  name: string;
  code: string | number | null;
  status: number | null;
  /** Stated by our own adapters; null in any other error. */
  sent: Sent | null;
  retryAfter: string | null;
  /** A hint in whole milliseconds, as an adapter reads it from `retry-after-ms` and the like. */
  retryAfterMs: number | null;
  /** gRPC pushback that names a delay. */
  pushbackMs: number | null;
  /** The system call that failed was `connect`: nothing had been sent yet, whatever the code. */
  connecting: boolean;
  /** A layer below has retried already, or the target forbids a repeat. */
  stop: boolean;
  /** The error itself, for what a single family reads. */
  link: Readonly<Record<string, unknown>>;
};

/** How deep a chain of causes is followed. */
const DEPTH_MAX = 10;

/** The error and its causes, outermost first; a cycle ends it. An AggregateError is followed through its first error. */
export function chain(error: unknown): Record<string, unknown>[] {
  const links: Record<string, unknown>[] = [];
  let next = error;
  while (isObject(next) && links.length < DEPTH_MAX && !links.includes(next)) {
    links.push(next);
    next = next.cause ?? (Array.isArray(next.errors) ? next.errors[0] : undefined);
  }
  return links;
}

export function factsOf(link: Record<string, unknown>): Facts {
  return {
    name: text(link.name) ?? "",
    code: codeOf(link),
    status: statusOf(link),
    sent: link.sent === "no" || link.sent === "maybe" ? link.sent : null,
    retryAfter: text(link.retryAfter),
    retryAfterMs: delayOf(link.retryAfterMs),
    pushbackMs: delayOf(link.pushback),
    connecting: link.syscall === "connect",
    stop: link.retriesExhausted === true || forbids(link.pushback),
    link,
  };
}

/** gRPC pushback: anything but a non-negative decimal number of milliseconds forbids the repeat. Source: gRPC A6. */
function forbids(pushback: unknown): boolean {
  if (pushback === undefined || pushback === null) return false;
  return delayOf(pushback) === null;
}

function delayOf(value: unknown): number | null {
  return typeof value === "string" ? parseDelayMs(value) : null;
}

function codeOf(link: Record<string, unknown>): string | number | null {
  const code = link.code ?? link.Code;
  return typeof code === "string" || typeof code === "number" ? code : null;
}

function statusOf(link: Record<string, unknown>): number | null {
  return (
    numberOf(link.status) ??
    numberOf(link.statusCode) ??
    numberOf(memberOf(link.$metadata, "httpStatusCode")) ??
    numberOf(memberOf(link.response, "status"))
  );
}

export function memberOf(value: unknown, key: string): unknown {
  return isObject(value) ? value[key] : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

export function numberOf(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}
