import * as z from "zod/mini";
import { reasonSchema } from "@/lib/contract/selection";
import { BULK_STATES, type BulkKind, type BulkState } from "@/lib/core/bulk-operation";
import { DomainError } from "@/lib/core/problem";

/** GET /api/v1/operations/{id}: an ignore, release or confirm of a set that a worker changes in chunks. */
export type BulkOperationOut = {
  id: string;
  kind: BulkKind;
  state: BulkState;
  /** As asked. */
  selection: unknown;
  /** How many events were selected; `estimated` by the planner where counting them takes too long. */
  expected: { value: number; kind: "exact" | "estimated" };
  changed: number;
  refused: number;
  refusedByReason: Record<string, number>;
  reason: string;
  createdBy: string;
  cancelledBy: string | null;
  /** Its one audit entry, which names each changed event. */
  auditId: string;
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
  /** Events per second since it started; null = no chunk is done. */
  ratePerSecond: number | null;
  /** Until the last event is decided; null = not running, or no rate is known. */
  etaMs: number | null;
  /** Why it does not move, with the way out; null = it moves, is over or has just begun. */
  stalled: string | null;
};
export type BulkOperationList = { items: BulkOperationOut[]; nextCursor: string | null };

/** PATCH /api/v1/operations/{id} */
export const bulkOperationChangeSchema = z.strictObject({
  action: z.enum(["cancel"], "must be cancel"),
  reason: z.optional(reasonSchema),
});
export type BulkOperationChange = z.infer<typeof bulkOperationChangeSchema>;

/** `?state=RUNNING`, comma-separated; absent = all. Throws DomainError. */
export function bulkStatesFrom(value: string | undefined): BulkState[] | null {
  if (value === undefined) return null;
  const states = value.split(",");
  if (states.every((state) => (BULK_STATES as readonly string[]).includes(state))) return states as BulkState[];
  const detail = `must be one or more of ${BULK_STATES.join(", ")}`;
  throw new DomainError("invalid-request", `state: ${detail}`, { fields: [{ field: "state", detail }] });
}
