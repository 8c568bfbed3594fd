/** The ids of one span as W3C Trace Context has them (https://www.w3.org/TR/trace-context/), in lower case. */
export type SpanIds = { traceId: string; spanId: string; sampled: boolean };

const TRACEPARENT = /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-|$)/;
const ZERO = /^0+$/;
/** A traceparent has 55 characters; a later version may have more behind them. */
const LENGTH_MAX = 512;

/** null: it is missing or not valid, and the trace begins anew. */
export function parseTraceparent(text: string | null | undefined): SpanIds | null {
  if (text === null || text === undefined || text.length > LENGTH_MAX) return null;
  const written = text.trim().toLowerCase();
  const match = TRACEPARENT.exec(written);
  if (match === null || written.startsWith("ff")) return null;
  const [, traceId, spanId, flags] = match as unknown as [string, string, string, string];
  if (ZERO.test(traceId) || ZERO.test(spanId)) return null;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function formatTraceparent({ traceId, spanId, sampled }: SpanIds): string {
  return `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`;
}
