/**
 * Why an event is not sent. The first group is decided by the gate (at request time and again at run time), the second
 * by the dry run.
 */
export const GATE_REFUSALS = [
  "already-queued",
  "already-redriven",
  "ignored",
  "blacklisted",
  "cooling",
  "redrive-limit",
  "parked-early",
  "needs-confirmation",
  "not-found",
  "changed-since",
] as const;
export type GateRefusal = (typeof GATE_REFUSALS)[number];

const DRY_RUN_REFUSALS = [
  "payload-unparsable",
  "schema-mismatch",
  "schema-timeout",
  "payload-too-large",
  "no-target",
  "target-unreachable",
  "breaker-open",
  "version-superseded",
  "held-by-head",
  "check-refused",
  "check-unanswered",
] as const;
export type DryRunRefusal = (typeof DRY_RUN_REFUSALS)[number];

export type Refusal = GateRefusal | DryRunRefusal;

/** Refusals that a person can set aside for one redrive, which then names them. */
export const CONFIRMABLE_REFUSALS = [
  "parked-early",
  "needs-confirmation",
  "payload-unparsable",
] as const satisfies readonly Refusal[];
export type ConfirmableRefusal = (typeof CONFIRMABLE_REFUSALS)[number];

/** The text that a person reads, and what the person can do. */
export const REFUSAL_TEXT: Record<Refusal, string> = {
  "already-queued": "is already in another open redrive",
  "already-redriven": "was redriven and has not bounced",
  ignored: "is ignored: release it first",
  blacklisted: "is blacklisted: lift the control first",
  cooling: "is cooling down after a failure: wait, or whitelist it",
  "redrive-limit": "has reached the redrive limit",
  "parked-early": "was parked early as permanent. Repair it, or confirm that this redrive sends it",
  "needs-confirmation": "is marked by an admission rule: confirm that this redrive sends it",
  "not-found": "no longer exists",
  "changed-since": "has changed since the dry run checked it: verify it again",
  "payload-unparsable":
    "has a payload that does not parse as its content type. Repair it, or confirm that this redrive sends it as it is",
  "schema-mismatch": "has a payload that does not match the source's JSON Schema",
  "schema-timeout": "has a payload for which the source's JSON Schema takes too long: simplify the schema",
  "payload-too-large": "is larger than its target accepts",
  "no-target": "has no target on this lane: configure its source",
  "target-unreachable": "has a target that cannot be reached",
  "breaker-open": "has a target whose circuit breaker is open",
  "version-superseded": "is older than a version of its aggregate that was already processed",
  "held-by-head": "is held back: an earlier event of its aggregate is parked, failed or cooling down",
  "check-refused": "would be rejected by the owner of its target",
  "check-unanswered": "has a target whose owner did not answer the check call",
};

/** What a person can do so that the event is sent after all. */
export const REFUSAL_FIX: Record<Refusal, string> = {
  "already-queued": "wait for the other redrive, or cancel it",
  "already-redriven": "wait: if its consumer fails to process it, it is parked again",
  ignored: "release it",
  blacklisted: "lift the blacklist under Controls once its cause is fixed",
  cooling: "wait until the cooldown is over, or whitelist it under Controls",
  "redrive-limit": "repair it first; then whitelist it, or raise the redrive limit in the settings",
  "parked-early": "repair it, or confirm in the redrive that it is sent as it is",
  "needs-confirmation": "confirm in the redrive that it is sent",
  "not-found": "leave it out of the selection",
  "changed-since": "verify it again, and redrive what passes",
  "payload-unparsable":
    "edit the payload so that it is valid JSON in UTF-8, correct its content type, or confirm in the redrive that it is sent as it is",
  "schema-mismatch": "mend the payload, or correct the schema where it is stricter than the consumer",
  "schema-timeout": "simplify the patterns and references of the schema",
  "payload-too-large": "make the payload smaller, or raise the largest payload in the settings",
  "no-target": "give its source a target on this lane, or name a target in the redrive",
  "target-unreachable": "bring the target back, or correct its address under Sources",
  "breaker-open": "wait until the target answers again, or close its breaker under Targets",
  "version-superseded": "ignore it: its consumer has a newer version",
  "held-by-head": "redrive the earlier event first, or include it in this redrive",
  "check-refused": "mend what the owner names, or ask them to accept it",
  "check-unanswered": "bring the check endpoint back, or let events pass without its answer",
};
