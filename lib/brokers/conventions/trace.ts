import type { HeaderView } from "@/lib/brokers/message";

const TRACEPARENT = /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-[\da-f]{2}/;
const ZERO = /^0+$/;

/** Trace id of a W3C `traceparent` (https://www.w3.org/TR/trace-context/): 32 hex digits, null when invalid. */
export function traceIdOf(traceparent: string | null): string | null {
  const text = traceparent?.trim().toLowerCase() ?? "";
  const match = TRACEPARENT.exec(text);
  if (match === null || text.startsWith("ff") || ZERO.test(match[1]!) || ZERO.test(match[2]!)) return null;
  return match[1]!;
}

/** 64-bit B3 ids are padded to the 128 bits of W3C, as the OpenTelemetry bridge does. */
function b3TraceId(text: string | null): string | null {
  const id = text?.trim().toLowerCase().split("-", 1)[0] ?? "";
  if (!/^([\da-f]{16}|[\da-f]{32})$/.test(id) || ZERO.test(id)) return null;
  return id.padStart(32, "0");
}

/** Trace id from W3C headers, MassTransit's activity id, or B3; null when none is valid. */
export function traceIdIn(headers: HeaderView): string | null {
  return (
    traceIdOf(headers.text("traceparent")) ??
    traceIdOf(headers.text("MT-Activity-Id")) ??
    b3TraceId(headers.text("x-b3-traceid")) ??
    b3TraceId(headers.text("b3"))
  );
}
