import { describe, expect, it } from "vitest";
import { AWS_CASES } from "@/lib/retry/testing/vectors/aws";
import { BACKOFF_CASES } from "@/lib/retry/testing/vectors/backoff";
import { BREAKER_CASES } from "@/lib/retry/testing/vectors/breaker";
import { BUDGET_CASES } from "@/lib/retry/testing/vectors/budget";
import { CLASSIFY_CASES } from "@/lib/retry/testing/vectors/classify";
import { CONTENTION_CASES } from "@/lib/retry/testing/vectors/contention";
import { GRPC_CASES } from "@/lib/retry/testing/vectors/grpc";
import { NOT_APPLICABLE } from "@/lib/retry/testing/vectors/not-applicable";
import { RATE_CASES } from "@/lib/retry/testing/vectors/rate";
import { RETRY_AFTER_CASES } from "@/lib/retry/testing/vectors/retry-after";
import type { Cases, Check, Vector } from "@/lib/retry/testing/vectors/vector";
import file from "@/lib/retry/vectors.json";

const VECTORS = file.vectors as unknown as Vector[];

const CASES: Cases = {
  ...AWS_CASES,
  ...BACKOFF_CASES,
  ...BREAKER_CASES,
  ...BUDGET_CASES,
  ...CLASSIFY_CASES,
  ...CONTENTION_CASES,
  ...GRPC_CASES,
  ...RATE_CASES,
  ...RETRY_AFTER_CASES,
};

function sourceOf({ source }: Vector): string {
  return [source.repo ?? source.url, source.path, source.test].filter(Boolean).join(" ");
}

function assertCheck({ what, actual, expected, tolerance }: Check): void {
  if (tolerance === undefined) expect(actual, what).toEqual(expected);
  else
    expect(Math.abs(Number(actual) - Number(expected)), `${what}: ${actual}, not ${expected}`).toBeLessThanOrEqual(
      tolerance,
    );
}

describe("vectors", () => {
  for (const vector of VECTORS.filter(({ id }) => CASES[id])) {
    it(`${vector.id}: ${vector.title} (${sourceOf(vector)})`, async () => {
      const checks = await CASES[vector.id]!(vector);
      expect(checks.length).toBeGreaterThan(0);
      checks.forEach(assertCheck);
    });
  }

  it("runs every vector or says why not", () => {
    const listed = NOT_APPLICABLE.map(({ id }) => id);
    expect(VECTORS.map(({ id }) => id).filter((id) => !CASES[id] && !listed.includes(id))).toEqual([]);
  });

  it("lists as not applicable in full only what is not run", () => {
    const whole = NOT_APPLICABLE.filter(({ rows }) => rows === undefined).map(({ id }) => id);
    expect(whole.filter((id) => CASES[id])).toEqual([]);
    const partly = NOT_APPLICABLE.filter(({ rows }) => rows !== undefined).map(({ id }) => id);
    expect(partly.filter((id) => !CASES[id])).toEqual([]);
  });

  it("runs and lists only vectors that exist", () => {
    const known = VECTORS.map(({ id }) => id);
    expect([...Object.keys(CASES), ...NOT_APPLICABLE.map(({ id }) => id)].filter((id) => !known.includes(id))).toEqual(
      [],
    );
    expect(VECTORS).toHaveLength(file.total);
  });
});
