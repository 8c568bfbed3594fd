import type { OutboundMessage } from "@/lib/brokers/port";

let serial = 0;

/** A message of a redrive, with an id of its own. */
export function outboundMessage(change: Partial<OutboundMessage> = {}): OutboundMessage {
  serial += 1;
  return {
    eventId: `event-${serial}`,
    payload: Buffer.from(`{"n":${serial}}`),
    contentType: "application/json",
    headers: [],
    origin: {},
    idempotencyKey: `orders:event-${serial}`,
    redriveId: "018f9c4e-1111-7000-8000-000000000001",
    attempt: 1,
    from: "orders",
    traceId: null,
    ...change,
  };
}
