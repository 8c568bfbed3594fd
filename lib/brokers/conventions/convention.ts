import type { Message } from "@/lib/brokers/message";
import type { DeadLetterError, Origin, Unread } from "@/lib/platform/plain/dead-letter.pure";

/** A message as one convention reads it. Facts that the message does not state are null or absent. */
export type Reading = {
  convention: string;
  origin: Origin;
  error: DeadLetterError;
  /** Exception types from the outermost to the innermost, for the error code. */
  exceptionTypes: string[];
  /** Why it was dead-lettered, in the word of the broker or framework: `rejected`, `expired`, `dead-letter` ... */
  reason: string | null;
  /** Deliveries to a consumer before it was dead-lettered, by its headers. */
  attempts: number;
  failedAtMs: number | null;
  /** The text given as a time that cannot be read. */
  unread?: Unread;
  /** The framework's own message id and message type; they precede those of the broker. */
  messageId: string | null;
  /** Within which the message id is unique; absent = in all that a source reads. See `SCOPES` in lib/intake/producer.ts. */
  within?: string | null;
  eventType: string | null;
  /** Set when the original message was wrapped: the message inside, to be parked instead of the wrapper. */
  inner: Message | null;
};

/** How one framework, or the broker itself, writes dead letters. */
export type Convention = {
  name: string;
  /** Whether a header (lower case) was added by the act of dead-lettering, and must not go back with a redrive. */
  owns(headerName: string): boolean;
  /** null: not this convention. */
  read(message: Message): Reading | null;
};

/** Text safe for PostgreSQL and JSON: no NUL, no lone surrogate. */
export function clean(text: string): string {
  return text.replaceAll("\u0000", "\uFFFD").toWellFormed();
}

/** `Acme.OrderPlaced, Acme, Version=1.0.0.0;Acme.IEvent, Acme` -> `Acme.OrderPlaced`. */
export function dotnetTypeName(text: string | null): string | null {
  const name = text?.split(/[,;]/, 1)[0]?.trim();
  return name ? name : null;
}

/** Set in `origin.payloadState` for a dead letter that only names one record, or several. There is nothing to send back. */
export type PayloadState = "reference-only" | "batch-reference";

export function isReferenceOnly({ payloadState }: Origin): boolean {
  return payloadState === "reference-only" || payloadState === "batch-reference";
}
