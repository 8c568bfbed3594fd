import type { Violation } from "@/lib/retry/check-fields";

/** A policy may not run: it is malformed, or its attempts do not fit its deadline. */
export class PolicyError extends Error {
  readonly violations: readonly Violation[];

  constructor(violations: readonly Violation[]) {
    super(`policy refused: ${violations.map((v) => `${v.field} = ${show(v.value)}, ${v.bound}`).join("; ")}`);
    this.name = "PolicyError";
    this.violations = violations;
  }
}

function show(value: unknown): string {
  return value === undefined ? "nothing" : (JSON.stringify(value) ?? String(value));
}
