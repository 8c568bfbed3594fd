/**
 * The meaning of a failure for the next step.
 * - transient: may pass on its own. - throttled: the target asks for less. - permanent: repeating cannot help.
 * - cancelled: our own side stopped it. - ambiguous: it was sent and its answer is unknown.
 */
type VerdictKind = "transient" | "throttled" | "permanent" | "cancelled" | "ambiguous";

/** Whether the target may have acted on the send: `maybe` is repeated only with an idempotency key. */
export type Sent = "no" | "maybe";

export type Verdict = {
  kind: VerdictKind;
  /** Stable, upper snake case: `HTTP_503`, `ECONNRESET`, `TIMEOUT_CONNECT`, `AMQP_404`, ... */
  code: string;
  sent: Sent;
  /** How often this same code may be repeated within one operation; null = as often as the policy allows. */
  repeatsMax: number | null;
  /** `local`: our own machine is short of something; says nothing about the target and costs it no budget. */
  blame: "target" | "local";
  /** Raw Retry-After value, when the target gave one. */
  retryAfter: string | null;
  /** A hint given in milliseconds (`retry-after-ms`, `x-amz-retry-after`). Absent in records of older versions. */
  retryAfterMs?: number | null;
  /** gRPC pushback: the repeat is due after exactly this many ms. Absent in records of older versions. */
  pushbackMs?: number | null;
  /** The target, or a layer below us that has already retried, asks not to be called again. */
  stop: boolean;
  /** No rule knows the failure: its kind is a guess. Absent where one does. */
  unknown?: true;
  /** No target was there to be sent to, whatever is sent. Absent where one was. */
  away?: true;
};

/** An entry of a table of codes; `verdict` adds the other fields. */
export type CodeRule = {
  kind: VerdictKind;
  sent: Sent;
  repeatsMax?: number;
  blame?: "local";
  away?: true;
};

/** A table that answers only for own entries: codes come from outside, and a plain object would know `constructor`. */
export function tableOf<Rule>(entries: Readonly<Record<string | number, Rule>>): Readonly<Record<string, Rule>> {
  return Object.freeze(Object.assign(Object.create(null), entries));
}

/** `EC2ThrottledException` -> `EC2_THROTTLED_EXCEPTION`. */
export function upperSnake(name: string): string {
  return name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toUpperCase();
}

export function verdict(code: string, rule: CodeRule): Verdict {
  return {
    kind: rule.kind,
    code,
    sent: rule.sent,
    repeatsMax: rule.repeatsMax ?? null,
    blame: rule.blame ?? "target",
    retryAfter: null,
    retryAfterMs: null,
    pushbackMs: null,
    stop: false,
    ...(rule.away && { away: true }),
  };
}

/** For an outcome: no target was found, or our own side could not send, so what was to be sent has no part in it. */
export function awayOf(last: Verdict | null): { away: true } | null {
  return last?.away || (last?.blame === "local" && last.sent === "no") ? { away: true } : null;
}

/** Shorthand for the tables. */
export const NOT_SENT = { kind: "transient", sent: "no" } as const satisfies CodeRule;
/** No connection, no name, no leader: the target's fault and never the message's. */
export const AWAY = { ...NOT_SENT, away: true } as const satisfies CodeRule;
export const MAYBE_SENT = { kind: "transient", sent: "maybe" } as const satisfies CodeRule;
export const UNKNOWN = { kind: "ambiguous", sent: "maybe" } as const satisfies CodeRule;
export const THROTTLED = { kind: "throttled", sent: "no" } as const satisfies CodeRule;
export const PERMANENT = { kind: "permanent", sent: "no" } as const satisfies CodeRule;
export const CANCELLED = { kind: "cancelled", sent: "maybe" } as const satisfies CodeRule;
