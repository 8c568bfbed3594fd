import type { OutboundMessage, PublishReceipt } from "@/lib/brokers/port";
import type { Header } from "@/lib/platform/plain/dead-letter.pure";
import { inSpan, isTracing, type Span, type SpanLink, startSpan, withSpan } from "@/lib/platform/tracing/spans";
import { formatTraceparent, parseTraceparent } from "@/lib/platform/tracing/traceparent.pure";
import type { SliceItem } from "@/lib/redrive/run/store/slice-items.read";
import type { SliceTarget } from "@/lib/redrive/targets/target";
import type { EventBody } from "@/lib/selection/bodies.read";

/**
 * The span of one attempt, from before its intent is written until its end is decided. The trace in which the message was
 * parked is a link of it: that trace ended, and the redrive is another one.
 */
export function startAttemptSpan(
  item: SliceItem,
  body: EventBody,
  { target, attempt }: { target: SliceTarget; attempt: number },
): Span | null {
  if (!isTracing()) return null;
  return startSpan("attempt", {
    kind: "internal",
    attributes: {
      "parkade.redrive_id": item.redriveId,
      "parkade.event_id": item.eventId,
      "parkade.id": item.id,
      "parkade.source": item.source,
      "parkade.target": target.row.name,
      "parkade.lane": target.row.lane ?? undefined,
      "parkade.error_code": item.errorCode,
      "parkade.attempt": attempt,
    },
    links: parkedLinks(item, body.headers),
  });
}

/** One publish, in a span below that of its attempt. What goes out continues the trace of that span. */
export function publishInSpan(
  attempt: Span | null,
  { target, message }: { target: SliceTarget; message: OutboundMessage },
  publish: (message: OutboundMessage) => Promise<PublishReceipt>,
): Promise<PublishReceipt> {
  if (attempt === null) return publish(message);
  const attributes = {
    "messaging.operation.type": "send",
    "messaging.system": target.row.kind,
    "messaging.destination.name": target.row.name,
    "messaging.message.body.size": message.payload.byteLength,
    "parkade.event_id": message.eventId,
  };
  return withSpan(attempt, () =>
    inSpan("publish", { kind: "producer", attributes, links: parkedLinks(message, message.headers) }, async (span) => {
      const receipt = await publish(span === null ? message : continued(message, formatTraceparent(span.ids)));
      if (receipt.deduplicated) span?.set({ "parkade.deduplicated": true });
      return receipt;
    }),
  );
}

/** The state of the parked trace (`tracestate`) belongs to the vendor of that trace alone. */
function continued(message: OutboundMessage, traceparent: string): OutboundMessage {
  const others = message.headers.filter(([name]) => !/^trace(?:parent|state)$/i.test(name));
  const traceparentAdded = others.length === message.headers.length;
  return { ...message, traceparent, traceparentAdded, headers: [...others, ["traceparent", traceparent]] };
}

/** Where only the trace is known the link names the trace and, for want of a span, its first half. */
function parkedLinks({ traceId }: { traceId: string | null }, headers: readonly Header[]): SpanLink[] {
  const written = headers.find(([name]) => name.toLowerCase() === "traceparent")?.[1];
  const parked = parseTraceparent(written);
  const attributes = { "parkade.link": "parked" };
  if (parked !== null && (traceId === null || parked.traceId === traceId)) return [{ to: parked, attributes }];
  const known = parseTraceparent(`00-${traceId ?? ""}-${(traceId ?? "").slice(0, 16)}-01`);
  return known === null ? [] : [{ to: known, attributes: { ...attributes, "parkade.span_unknown": true } }];
}
