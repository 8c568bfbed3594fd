import type { EventStatus } from "@/lib/states/event-state.pure";

/** What other tools filter and count events by: all of an event but its bytes. Times are epoch microseconds. */
export type EventColumns = {
  id: string;
  source: string;
  eventId: string;
  aggregateId: string | null;
  aggregateType: string | null;
  version: bigint | null;
  eventType: string | null;
  errorCode: string;
  fingerprint: string;
  status: EventStatus;
  attempts: number;
  bounces: number;
  firstSeen: bigint;
  lastAttemptAt: bigint | null;
  confirmedAt: bigint | null;
  /** Of the current revision. */
  payloadBytes: number;
  traceId: string | null;
  errorType: string | null;
  errorMessage: string | null;
  /** JSON. */
  tags: string;
};

/** Of a UTC time with up to six digits of a second, as a line or the store writes it; the year may have more than four digits. */
const TIME = /^(\d{4,6})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?Z?$/;

/** Epoch microseconds. Throws RangeError. */
export function microsOf(text: string): bigint {
  const [, year, month, day, hour, minute, second, fraction = ""] = TIME.exec(text) ?? [];
  if (year === undefined) throw new RangeError(`${JSON.stringify(text)} is no UTC time`);
  const ms = Date.UTC(+year, +month! - 1, +day!, +hour!, +minute!, +second!);
  return BigInt(ms) * 1_000n + BigInt(fraction.padEnd(6, "0"));
}

export function microsOrNull(text: string | null): bigint | null {
  return text === null ? null : microsOf(text);
}
