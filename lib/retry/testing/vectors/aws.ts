import type { CostClass } from "@/lib/retry/budget/budget";
import { quotaPool } from "@/lib/retry/budget/pools";
import { quotaBudget } from "@/lib/retry/budget/strategies";
import type { Policy } from "@/lib/retry/policy";
import { parseDelayMs } from "@/lib/retry/retry-after";
import { BARE, httpError, quotaScript, runScript } from "@/lib/retry/testing/vectors/operation";
import {
  type Case,
  type Cases,
  type Cell,
  type Check,
  eachRow,
  sameFor,
  type Vector,
} from "@/lib/retry/testing/vectors/vector";

/** AWS calls it throttling, we throttled. */
const COST_CLASS: Record<string, CostClass> = { transient: "transient", throttling: "throttled" };

function costOf(params: Vector["params"]): Record<CostClass, number> {
  return { transient: params.cost.transient, throttled: params.cost.throttling };
}

function policyOf(params: Vector["params"]): Policy {
  const backoff = (baseMs: number) =>
    ({ kind: "exponential", baseMs, factor: 2, capMs: params.capMs, jitter: { kind: "full" } }) as const;
  return {
    ...BARE,
    maxAttempts: params.maxAttempts,
    backoff: backoff(params.baseMs),
    throttledBackoff: backoff(Math.min(params.throttleBaseMs, params.capMs)),
  };
}

const OUTCOMES: Record<string, string> = {
  success: "ok",
  retry_quota_exceeded: "budget",
  max_attempts_exceeded: "exhausted",
};

type Step = {
  newOperation?: boolean;
  response: { status: number };
  expect: { outcome: string; retry_quota: number; delay_ms?: number };
};

/** Plays the responses of each operation and compares the quota after each, the delays and the outcome. */
const sequence: Case = async ({ params, steps }) => {
  const script = quotaScript(policyOf(params), params.maxTokens, params.initialTokens, costOf(params));
  const checks: Check[] = [];
  for (const operation of operationsOf(steps)) {
    const responses = operation.map(({ response }) => (response.status === 200 ? "ok" : httpError(response.status)));
    const left: number[] = [];
    script.delays.length = 0;
    const outcome = await runScript(script, responses, () => left.push(script.budget.left));
    const expected = operation.map((step) => step.expect);
    const final = expected.at(-1)!;
    // The reward of a success is given as its attempt is settled, before its record is written.
    checks.push(
      { what: "quota", actual: left, expected: expected.map((step) => step.retry_quota) },
      { what: "delays", actual: [...script.delays], expected: expected.flatMap((step) => step.delay_ms ?? []) },
      {
        what: "outcome",
        actual: outcome.kind === "failed" ? outcome.reason : outcome.kind,
        expected: OUTCOMES[final.outcome] ?? final.outcome,
      },
    );
  }
  return checks;
};

function operationsOf(steps: Step[]): Step[][] {
  const operations: Step[][] = [[]];
  for (const step of steps) {
    if (step.newOperation) operations.push([]);
    operations.at(-1)!.push(step);
  }
  return operations;
}

/** Which base and which cost each failure takes, while one exponent counts them all. */
const errorTypes: Case = async ({ params, rows, finalCapacity }) => {
  const script = quotaScript(policyOf(params), 500, params.initialTokens, costOf(params));
  const responses = rows.map(([type]: Cell[]) => httpError(type === "THROTTLING" ? 429 : 500));
  const left: number[] = [params.initialTokens];
  await runScript(script, responses, () => left.push(script.budget.left));
  const costs = rows.map((_: Cell[], index: number) => left[index]! - left[index + 1]!);
  return [
    { what: "delays", actual: script.delays, expected: rows.map((row: Cell[]) => row[3]) },
    { what: "costs", actual: costs, expected: rows.map((row: Cell[]) => row[2]) },
    { what: "capacity", actual: script.budget.left, expected: finalCapacity },
  ];
};

/** acquire takes the cost of a class, success and fail settle what the last acquire took. */
const quotaOps: Case = (vector) => {
  const { params } = vector;
  const drained = vector.steps[0][0] === "drain" ? vector.steps[0][1] : 0;
  const budget = quotaBudget(
    { kind: "quota", capacity: params.max, cost: costOf(params), reward: 1 },
    params.max - drained,
  );
  let taken = 0;
  return eachRow(vector, ([op, arg, result, capacityAfter]) => {
    let granted: boolean | null = null;
    if (op === "acquire") {
      const amount = budget.withdraw(COST_CLASS[String(arg)]!, 0);
      granted = amount !== null;
      taken = amount ?? 0;
    } else if (op !== "drain") budget.settle(op !== "fail", taken, 0);
    return { actual: [granted, budget.left], expected: [result, capacityAfter] };
  });
};

const quotaRaw: Case = (vector) => {
  const pool = quotaPool(vector.params.max);
  return eachRow(vector, ([op, amount, result, capacityAfter]) => {
    const granted = op === "acquire" ? pool.take(Number(amount)) : null;
    if (op === "release") pool.give(Number(amount));
    return { actual: [granted, pool.left], expected: [result, capacityAfter] };
  });
};

/** A malformed x-amz-retry-after is no hint: the local backoff holds. */
const malformedHint: Case = async (vector) => [
  { what: "hint", actual: parseDelayMs(vector.params.retryAfterHeaderMs), expected: null },
  ...(await sequence(vector)),
];

export const AWS_CASES: Cases = {
  ...sameFor(["aws-standard-003", "aws-standard-004", "aws-standard-005", "aws-standard-006"], sequence),
  ...sameFor(["aws-standard-007", "aws-standard-008", "aws-standard-010"], sequence),
  ...sameFor(["aws-standard-014", "aws-standard-015"], malformedHint),
  ...sameFor(["aws-standard-021", "aws-standard-023", "aws-standard-024"], errorTypes),
  ...sameFor(["aws-quota-025", "aws-quota-026", "aws-quota-027", "aws-quota-028"], quotaOps),
  "aws-quota-031": quotaRaw,
};
