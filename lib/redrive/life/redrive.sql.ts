import type { Earlier } from "@/lib/order/order-gate.pure";
import type { Brake, Canary } from "@/lib/redrive/request/redrive-request.shapes";
import type { FrozenSelection } from "@/lib/selection/scope.shapes";
import { ITEM_ENDS } from "@/lib/states/item-state.pure";
import type { RedriveCounts, RedriveState } from "@/lib/states/redrive-state.pure";
import type { ConfirmableRefusal } from "@/lib/states/refusal.pure";

/** What was asked of a redrive, as it is now. */
export type AskedRedrive = {
  id: string;
  state: RedriveState;
  mode: "verify" | "deliver";
  lane: "main" | "slow";
  ratePerSecond: number | null;
  /** Walked while it is PLANNING; later it says what was asked for. */
  selection: FrozenSelection;
  canary: Canary | null;
  /** The current step of the canary; null = every event may be sent. */
  released: number | null;
  brake: Brake | null;
  earlier: Earlier;
  /** Refusals that its requester set aside. */
  despite: ConfirmableRefusal[];
  createdBy: string;
  reason: string;
  /** Epoch ms; null = at once. */
  startAtMs: number | null;
  /** It waits until the breakers of its targets close, at most until this time; null = it does not. */
  breakerUntilMs: number | null;
};

/** What every reader of a redrive needs of its row. */
export type RedriveFacts = AskedRedrive &
  RedriveCounts & {
    /** The target that it delivers to; null = that of each event's source on the lane. */
    targetId: string | null;
    /** Sends at once for each worker; null = the places of its targets. */
    concurrency: number | null;
    bounced: number;
    confirmed: number;
    awaitsApproval: boolean;
  };

/** SQL: `RedriveFacts` of the redrive `r`. */
export const REDRIVE_FACTS = `r.id, r.state, r.mode, r.lane, r.target_id as "targetId", r.rate_per_second as "ratePerSecond", r.concurrency,
  r.selection, r.canary, r.released, r.brake, r.earlier, r.despite, r.total, ${ITEM_ENDS.map((end) => `r.${end}`).join(", ")}, r.bounced,
  r.confirmed, r.reason, r.created_by as "createdBy", r.awaits_approval as "awaitsApproval", r.start_at as "startAtMs",
  r.breaker_until as "breakerUntilMs"`;
