import { idempotencyKeyOf } from "@/app/_server/idempotency";
import { once } from "@/app/_server/once";
import type { ParkAnswer } from "@/lib/events/events.shapes";
import { digested } from "./digested";
import { type IngestCall, ingest, ingestSigned } from "./ingest";

/**
 * POST /api/v1/events under an Idempotency-Key. Event ids keep an event from being parked twice, but they cannot tell a
 * request that was sent again from a dead letter that came back: a repeat whose first answer was lost, and whose event
 * was redriven meanwhile, would count as a bounce and be redriven once more. The key tells them apart, and the repeat
 * gets the counts of the first.
 */
export async function ingestOnce(call: IngestCall): Promise<ParkAnswer> {
  if (call.viewer.means === "signature") return ingestSigned(call, (run, sent) => once(call, run, sent));
  if (idempotencyKeyOf(call.request) === null) return ingest(call);
  const { request, digest } = digested(call.request);
  return once(call, () => ingest({ ...call, request }), { fingerprint: digest });
}
