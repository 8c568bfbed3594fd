import { fromSearchParams } from "@/lib/contract/event-filter";
import type { RedriveRequest } from "@/lib/contract/redrives";
import { EARLIER_CHOICES } from "@/lib/core/order-gate";
import { DomainError } from "@/lib/core/problem";

const OWN_NAMES = ["lane", "mode", "reason", "ratePerSecond", "earlier"];

/**
 * POST /ops/dlq/redrive: the one call of scripts and runbooks. The filter's own names select, and at least one must be
 * given; `lane` defaults to slow. Throws DomainError `invalid-filter`, `empty-selection`, `unknown-lane`, `invalid-request`.
 */
export function opsRedriveFrom(params: URLSearchParams): RedriveRequest {
  const filter = fromSearchParams(params, OWN_NAMES);
  if (Object.keys(filter).length === 0) {
    throw fault("empty-selection", "eventId", "name what to redrive: eventId, aggregateId, from and to, or any filter");
  }
  const lane = params.get("lane") ?? "slow";
  if (lane !== "main" && lane !== "slow") throw fault("unknown-lane", "lane", "must be main or slow");
  const mode = params.get("mode") ?? "deliver";
  if (mode !== "deliver" && mode !== "verify") throw fault("invalid-request", "mode", "must be deliver or verify");
  const rate = params.get("ratePerSecond");
  const ratePerSecond = rate === null ? null : Number(rate);
  if (ratePerSecond !== null && !(ratePerSecond > 0 && ratePerSecond <= 100_000)) {
    throw fault("invalid-request", "ratePerSecond", "must be a number above 0, events per second");
  }
  const reason = params.get("reason")?.trim().slice(0, 2_000) || "POST /ops/dlq/redrive";
  const earlier = EARLIER_CHOICES.find((choice) => choice === (params.get("earlier") ?? "hold"));
  if (earlier === undefined) {
    throw fault("invalid-request", "earlier", `must be one of ${EARLIER_CHOICES.join(", ")}`);
  }
  return { select: { filter }, lane, mode, ratePerSecond, reason, earlier };
}

function fault(
  code: "empty-selection" | "unknown-lane" | "invalid-request",
  field: string,
  detail: string,
): DomainError {
  return new DomainError(code, `${field}: ${detail}`, { fields: [{ field, detail }] });
}
