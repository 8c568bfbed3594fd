import { loadFactor, type ScheduleStep, schedule, upperBoundMs } from "@/lib/retry/bounds";
import { type Policy, validatePolicy } from "@/lib/retry/policy";

export type PolicyView =
  | { ok: false; problems: { field: string; detail: string }[] }
  | {
      ok: true;
      policy: Policy;
      /** W: the longest time of a call by the policy, ms. */
      upperBoundMs: number;
      /** The part of the deadline beyond W and the margin, ms. */
      slackMs: number;
      steps: ScheduleStep[];
      /** The load on a target that fails every call, per original call. */
      loadFactor: number;
    };

export function policyView(body: unknown): PolicyView {
  const violations = validatePolicy(body);
  if (violations.length > 0) {
    return {
      ok: false,
      problems: violations.map(({ field, value, bound }) => ({
        field,
        detail: `is ${value === undefined ? "missing" : JSON.stringify(value)}, must be ${bound}`,
      })),
    };
  }
  const policy = body as Policy;
  const bound = upperBoundMs(policy);
  return {
    ok: true,
    policy,
    upperBoundMs: bound,
    slackMs: policy.deadlineMs - policy.marginMs - bound,
    steps: schedule(policy),
    loadFactor: loadFactor(policy.maxAttempts, policy.budget.kind === "ratio" ? policy.budget.ratio : null),
  };
}

/** `exponential from 1 s × 2 up to 30 s, full jitter` */
export function backoffWords(backoff: Policy["backoff"], duration: (ms: number) => string): string {
  const jitter =
    backoff.jitter.kind === "none"
      ? "no jitter"
      : backoff.jitter.kind === "fraction"
        ? `± ${Math.round(backoff.jitter.fraction * 100)}% jitter`
        : backoff.jitter.kind === "absolute"
          ? `± ${duration(backoff.jitter.ms)} jitter`
          : `${backoff.jitter.kind} jitter`;
  switch (backoff.kind) {
    case "fixed":
      return `fixed ${duration(backoff.delayMs)}, ${jitter}`;
    case "linear":
      return `linear by ${duration(backoff.baseMs)} up to ${duration(backoff.capMs)}, ${jitter}`;
    case "exponential":
      return `exponential from ${duration(backoff.baseMs)} × ${backoff.factor} up to ${duration(backoff.capMs)}, ${jitter}`;
    case "ladder":
      return `ladder ${backoff.stepsMs.map(duration).join(", ")}, ${jitter}`;
  }
}

/** `250 ms`, `1.2 s`, `2.5 min`: not rounded, because a person compares the times of a policy. */
export function preciseDuration(ms: number): string {
  if (ms === 0) return "0";
  if (ms < 1_000) return `${Number(ms.toFixed(1))} ms`;
  if (ms < 60_000) return `${Number((ms / 1_000).toFixed(2))} s`;
  if (ms < 3_600_000) return `${Number((ms / 60_000).toFixed(2))} min`;
  return `${Number((ms / 3_600_000).toFixed(2))} h`;
}

type ParsedBody = { ok: true; body: Record<string, unknown> } | { ok: false; detail: string };

export function parseBody(text: string): ParsedBody {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    return { ok: false, detail: error instanceof SyntaxError ? error.message : "is not JSON" };
  }
  return typeof body === "object" && body !== null && !Array.isArray(body)
    ? { ok: true, body: body as Record<string, unknown> }
    : { ok: false, detail: "must be one JSON object" };
}
