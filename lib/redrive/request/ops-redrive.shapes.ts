import * as z from "zod/mini";
import { EARLIER_CHOICES } from "@/lib/order/order-gate.pure";
import { thenRead } from "@/lib/platform/api/query.shapes";
import { described, listText } from "@/lib/platform/api/schemas.shapes";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { laneSchema, type RedriveRequest, targetName } from "@/lib/redrive/request/redrive-request.shapes";
import { filterQuery } from "@/lib/selection/filter/event-filter.shapes";
import { NOT_PREFIX } from "@/lib/selection/filter/filter-params.shapes";
import { CONFIRMABLE_REFUSALS, type ConfirmableRefusal } from "@/lib/states/refusal.pure";

const RATE_TEXT = "must be a number above 0, events per second";

const query = filterQuery(
  {
    lane: z._default(laneSchema, "slow"),
    target: described(targetName, "Name of the target; default: that of each event's source, on the lane"),
    mode: z._default(z.enum(["deliver", "verify"], "must be deliver or verify"), "deliver"),
    ratePerSecond: described(
      z.optional(z.number(RATE_TEXT).check(z.gt(0, RATE_TEXT), z.lte(100_000, RATE_TEXT))),
      "Events per second; default the rate of the target",
    ),
    earlier: described(
      z._default(z.enum(EARLIER_CHOICES, `must be one of ${EARLIER_CHOICES.join(", ")}`), "hold"),
      "What to do with earlier versions that are parked",
    ),
    despite: described(
      z.optional(listText(CONFIRMABLE_REFUSALS)),
      "Refusals to override, comma-separated: such events are sent anyway",
    ),
    reason: described(z.optional(z.string()), "The reason; the audit log keeps the first 2,000 characters"),
  },
  { lane: "unknown-lane" },
);

/**
 * POST /ops/dlq/redrive: the one call of scripts and runbooks. The filter's own names select, and at least one must be
 * given: what is only excluded is nearly everything, and all of it where the value is misspelt.
 */
export const opsRedriveQuery = thenRead(
  query,
  ["empty-selection"],
  ({ filter, reason, despite, ...rest }): RedriveRequest => {
    if (Object.keys(filter).some((name) => !name.startsWith(NOT_PREFIX))) {
      const confirmed = despite?.split(",") as ConfirmableRefusal[] | undefined;
      return {
        select: { filter },
        ...rest,
        despite: confirmed,
        reason: reason?.trim().slice(0, 2_000) || "POST /ops/dlq/redrive",
      };
    }
    const detail = "name what to redrive: eventId, aggregateId, from and to, or any filter that does not only exclude";
    throw new DomainError("empty-selection", `eventId: ${detail}`, { fields: [{ field: "eventId", detail }] });
  },
);
