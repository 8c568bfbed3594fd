import type { AdmissionMark } from "@/lib/core/admission";
import { applyingControls, type ControlFacts, type ControlIndex, ruleControls } from "@/lib/core/control";
import type { EventStatus } from "@/lib/core/event-state";
import { isExhausted } from "@/lib/core/redrive-limit";
import type { ConfirmableRefusal, GateRefusal } from "@/lib/core/refusal";

/** The input of the gate. Times are epoch milliseconds of the wall clock. */
export type GateFacts = ControlFacts & {
  status: EventStatus;
  cooldownUntilMs: number | null;
  /** Deliver redrives that already sent this event. */
  redrives: number;
  /** What the admission at intake marked the event with. */
  admission: AdmissionMark | null;
};

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
 * Decides whether this event may be sent. Asked when a redrive freezes the event and again when a worker claims it,
 * since controls may have changed between. The first reason found is the one that a person most needs to know.
 */
export function gate(facts: GateFacts, rules: GateRules): GateRuling {
  const state = refuseByStatus(facts.status, rules.at);
  if (state) return { pass: false, refusal: state };
  const ruling = ruleControls(applyingControls(rules.controls, facts, rules.nowMs), facts.aggregateBlacklisted);
  if (ruling.blacklisted) return { pass: false, refusal: "blacklisted" };
  const { whitelisted } = ruling;
  const coolingDown = facts.cooldownUntilMs !== null && facts.cooldownUntilMs > rules.nowMs;
  if (ruling.cooling || (coolingDown && !whitelisted)) return { pass: false, refusal: "cooling" };
  if (isExhausted(facts.redrives, rules.redriveLimit) && !whitelisted) return { pass: false, refusal: "redrive-limit" };
  const asked = refuseByAdmission(facts.admission);
  if (asked !== null && !rules.despite.includes(asked)) return { pass: false, refusal: asked };
  return { pass: true, whitelisted };
}

/** `superseded` is no reason here: the dry run reads which version is processed now, which may have changed. */
function refuseByAdmission(mark: AdmissionMark | null): ConfirmableRefusal | null {
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
