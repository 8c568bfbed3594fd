import { isExhausted } from "@/lib/order/after-failure.pure";
import { applyingControls, type ControlIndex, ruleControls } from "@/lib/order/controls/control.pure";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { type Check, withFix } from "@/lib/redrive/gate/dry-run.pure";
import type { GateFacts } from "@/lib/selection/gate-facts.pure";
import type { AdmissionMark } from "@/lib/states/admission-mark.pure";
import type { EventStatus } from "@/lib/states/event-state.pure";
import { type ConfirmableRefusal, type GateRefusal, REFUSAL_TEXT } from "@/lib/states/refusal.pure";

export type GateRules = {
  controls: ControlIndex;
  redriveLimit: number;
  nowMs: number;
  /** At request time the event must be PENDING; at run time its own open item has made it QUEUED. */
  at: "request" | "run";
  /** The refusals that a person set aside for this redrive. */
  despite: readonly ConfirmableRefusal[];
};

export type GateRuling = { pass: true; whitelisted: boolean } | { pass: false; refusal: GateRefusal };

/**
 * Decides whether this event may be sent. Asked when a redrive freezes the event and again when a worker examines it,
 * since controls may have changed between. The first reason found is the one that a person most needs to know.
 */
export function gate(facts: GateFacts, rules: GateRules): GateRuling {
  const state = refuseByStatus(facts.status, rules.at);
  if (state) return { pass: false, refusal: state };
  const { whitelisted, blacklisted, cooling, exhausted, asked } = ruleAll(facts, rules);
  if (blacklisted) return { pass: false, refusal: "blacklisted" };
  if (cooling) return { pass: false, refusal: "cooling" };
  if (exhausted) return { pass: false, refusal: "redrive-limit" };
  if (asked !== null) return { pass: false, refusal: asked };
  return { pass: true, whitelisted };
}

/** Every rule of the gate as a check of the dry run: a person sees all that is wrong, not only the first reason. */
export function gateChecks(facts: GateFacts, rules: GateRules): Check[] {
  const state = refuseByStatus(facts.status, rules.at);
  const { whitelisted, blacklisted, cooling, exhausted, asked } = ruleAll(facts, rules);
  const allowed = whitelisted ? " (whitelisted)" : "";
  const checkOf = (check: string, refusal: GateRefusal | null, passed: string, failed?: string): Check =>
    refusal === null
      ? { check, ok: true, detail: passed }
      : withFix({ check, ok: false, detail: failed ?? `it ${REFUSAL_TEXT[refusal]}` }, refusal);
  const until = facts.cooldownUntilMs;
  return [
    ...(state === null ? [] : [checkOf("state", state, "")]),
    checkOf("blacklist", blacklisted ? "blacklisted" : null, `no blacklist holds it${allowed}`),
    checkOf(
      "cooldown",
      cooling ? "cooling" : null,
      `no cooldown holds it${allowed}`,
      until !== null && until > rules.nowMs && Number.isFinite(until) ? `it cools down until ${iso(until)}` : undefined,
    ),
    checkOf(
      "redrive-limit",
      exhausted ? "redrive-limit" : null,
      `sent by ${facts.redrives} of at most ${rules.redriveLimit} redrives${allowed}`,
      `it was sent by ${facts.redrives} redrives, the limit is ${rules.redriveLimit}`,
    ),
    checkOf("admission", asked, "admission rules allow it"),
  ];
}

function ruleAll(facts: GateFacts, rules: GateRules) {
  const ruling = ruleControls(applyingControls(rules.controls, facts, rules.nowMs));
  const { whitelisted, blacklisted } = ruling;
  const coolingDown = facts.cooldownUntilMs !== null && facts.cooldownUntilMs > rules.nowMs;
  const asked = refuseByAdmission(facts.admission);
  return {
    whitelisted,
    blacklisted,
    cooling: ruling.cooling || (coolingDown && !whitelisted),
    exhausted: isExhausted(facts.redrives, rules.redriveLimit) && !whitelisted,
    asked: asked !== null && rules.despite.includes(asked) ? null : asked,
  };
}

/** `superseded` is no reason here: the dry run reads which version is processed now, which may have changed. */
function refuseByAdmission(mark: AdmissionMark | null): (ConfirmableRefusal & GateRefusal) | null {
  switch (mark) {
    case "early":
      return "parked-early";
    case "confirm":
      return "needs-confirmation";
    case "superseded":
    case null:
      return null;
  }
}

function refuseByStatus(status: EventStatus, at: "request" | "run"): GateRefusal | null {
  switch (status) {
    case "PENDING":
      return null;
    case "QUEUED":
      return at === "run" ? null : "already-queued";
    case "REDRIVEN":
      return "already-redriven";
    case "IGNORED":
      return "ignored";
  }
}
