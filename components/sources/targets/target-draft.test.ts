import { describe, expect, it } from "vitest";
import {
  changesSomething,
  type TargetDraft,
  targetChange,
  targetDraft,
} from "@/components/sources/targets/target-draft";
import type { TargetOut } from "@/lib/sources/sources.shapes";
import { targetChangeSchema } from "@/lib/sources/targets/targets.shapes";

const target: TargetOut = {
  id: "019aa1c4-0000-7000-8000-000000000001",
  name: "orders-slow",
  source: "orders",
  kind: "http",
  lane: "slow",
  destination: null,
  plainSecrets: [],
  address: null,
  unreachable: null,
  ratePerSecond: 7,
  burst: 3,
  bulkhead: 12,
  policyName: "ladder",
  retryable: false,
  breakerForce: null,
  warmUpMs: 4_500,
  noBursts: true,
  fallback: { kind: "defer", deferMs: 90_000 },
  contract: null,
  needsApproval: false,
  engine: [],
  sentPerSecondNow: null,
};
const change = (over: Partial<TargetDraft>) => targetChange(target, { ...targetDraft(target), ...over }, "month end");

describe("changing a target", () => {
  it("sends only what was changed", () => {
    const result = change({ rate: "20", policyName: "slow-lane" });
    expect(result.ok && targetChangeSchema.parse(result.request)).toEqual({
      ratePerSecond: 20,
      policyName: "slow-lane",
      reason: "month end",
    });
    expect(change({ unlimited: true })).toMatchObject({ request: { ratePerSecond: null } });
    expect(change({ burst: "" })).toMatchObject({ request: { burst: null } });
  });

  it("knows when nothing was changed", () => {
    const same = change({});
    expect(same.ok && changesSomething(same.request)).toBe(false);
    const other = change({ retryable: true });
    expect(other.ok && changesSomething(other.request)).toBe(true);
  });

  it("sends pace and fallback as they were typed", () => {
    expect(change({ warmUp: "", noBursts: false, fallback: "none" })).toMatchObject({
      request: { warmUpMs: 0, noBursts: false, fallback: null },
    });
    const other = change({ fallback: "target:billing.main", warmUp: "30" });
    expect(other.ok && targetChangeSchema.parse(other.request)).toEqual({
      warmUpMs: 30_000,
      fallback: { kind: "target", target: "billing.main" },
      reason: "month end",
    });
    expect(change({ deferMinutes: "2" })).toMatchObject({ request: { fallback: { kind: "defer", deferMs: 120_000 } } });
  });

  it("lets a slow target hold one event", () => {
    expect(change({ rate: "0.5", burst: "1" }).ok).toBe(true);
    expect(change({ rate: "0.5", burst: "2" }).ok).toBe(false);
  });

  it.each([
    [{ rate: "0" }, "rate"],
    [{ rate: "" }, "rate"],
    [{ burst: "8" }, "burst"],
    [{ burst: "-1" }, "burst"],
    [{ bulkhead: "1.5" }, "bulkhead"],
    [{ bulkhead: "1001" }, "bulkhead"],
    [{ warmUp: "-1" }, "warmUp"],
    [{ deferMinutes: "0" }, "deferMinutes"],
  ] as const)("names what is wrong with %o", (over, field) => {
    const result = change(over);
    expect(result.ok ? [] : Object.keys(result.errors)).toEqual([field]);
  });
});
