import type { Convention, Reading } from "@/lib/brokers/conventions/convention";
import type { HeaderView, Message } from "@/lib/brokers/message";
import { type DeadLetterError, readFailedAt } from "@/lib/platform/plain/dead-letter.pure";

/** Names under which consumers without a framework describe their failure. */
const TYPE_NAMES = ["x-error-type", "x-exception-type", "error-type", "exception-type"];
const MESSAGE_NAMES = [
  "x-error-message",
  "x-exception-message",
  "error-message",
  "exception-message",
  "x-error",
  "error",
];
const STACK_NAMES = ["x-error-stack", "x-exception-stacktrace", "x-exception-stack", "error-stack", "exception-stack"];
const COUNT_NAMES = ["x-attempts", "x-retry-count", "x-retries", "retry-count", "x-delivery-count"];

/** The failure as a consumer wrote it into headers of its own. */
export function consumerError(headers: HeaderView): DeadLetterError {
  return {
    type: headers.firstText(TYPE_NAMES),
    message: headers.firstText(MESSAGE_NAMES),
    stack: headers.firstText(STACK_NAMES),
  };
}

/** Documented headers for consumers that dead-letter by hand. A redrive drops them: the next failure would be filed under the old error. */
const DOCUMENTED = new Set([
  "x-error-code",
  "x-error-type",
  "x-error-message",
  "x-error-stack",
  "x-attempts",
  "x-failed-at",
]);

export function isConsumerErrorHeader(headerName: string): boolean {
  return DOCUMENTED.has(headerName);
}

function read({ headers, messageId }: Message): Reading {
  const error = consumerError(headers);
  const counts = COUNT_NAMES.map((name) => headers.count(name)).filter((count) => count !== null);
  return {
    convention: "generic",
    origin: {},
    error,
    exceptionTypes: error.type === null ? [] : [error.type],
    reason: null,
    attempts: counts[0] ?? 0,
    ...readFailedAt(headers.text("x-failed-at")),
    messageId,
    eventType: null,
    inner: null,
  };
}

/** Any other message of a dead-letter queue. Reads every message, so it comes last. */
export const generic: Convention = { name: "generic", owns: isConsumerErrorHeader, read };
