import { describe, expect, it } from "vitest";
import { engineView, neediestFirst } from "@/components/sources/targets/engine-view";
import type { TargetEngine, TargetOut } from "@/lib/sources/sources.shapes";

const engine = (over: Partial<TargetEngine> = {}): TargetEngine => ({
  breaker: { state: "closed", forced: false, waitMs: null },
  budget: { left: 31, retryRatio: 0.04 },
  bulkhead: { inUse: 3, queued: 1, permits: 20 },
  latency: { p50Ms: 41, p95Ms: 212, p99Ms: null, samples: 100 },
  counters: { attempts: 10, retries: 0, retryRate: 0.5, retryRatePerAttempt: 0.3, errorRatio: 0.2 },
  asOf: "2026-11-20T14:02:11.000Z",
  ...over,
});

describe("a target as its workers see it together", () => {
  it("is unknown, not well, when none has used it", () => {
    expect(engineView([])).toBeNull();
  });

  it("adds up what is shared and keeps the worst of the rest", () => {
    const view = engineView([
      engine(),
      engine({
        breaker: { state: "open", forced: true, waitMs: 12_000 },
        budget: { left: 4, retryRatio: 0.31 },
        latency: { p50Ms: null, p95Ms: 99, p99Ms: 804, samples: 5 },
        asOf: "2026-11-20T14:02:07.000Z",
      }),
      engine({ breaker: { state: "half-open", forced: false, waitMs: 0 } }),
    ]);
    expect(view).toEqual({
      workers: 3,
      breaker: { state: "open", forced: true, waitMs: 12_000 },
      bulkhead: { inUse: 9, queued: 3, permits: 60 },
      budget: { left: 66, retryRatio: 0.31 },
      latency: { p50Ms: 41, p95Ms: 212, p99Ms: 804, samples: 205 },
      counters: [{ name: "attempts", value: 30 }],
      asOf: "2026-11-20T14:02:07.000Z",
    });
  });

  it("reads a budget that JSON could not carry as unlimited", () => {
    const unlimited = JSON.parse(JSON.stringify(engine({ budget: { left: Number.POSITIVE_INFINITY, retryRatio: 0 } })));
    expect(engineView([engine(), unlimited])?.budget.left).toBeNull();
  });
});

describe("the order of the targets", () => {
  it("puts first those to which nothing can be sent", () => {
    const target = (name: string, over: Partial<TargetOut>) =>
      ({
        name,
        address: "https://orders.example",
        breakerForce: null,
        unreachable: null,
        engine: [engine()],
        ...over,
      }) as TargetOut;
    const broken = engine({ breaker: { state: "open", forced: false, waitMs: 900 } });
    const targets = [
      target("a well", {}),
      target("b unused", { engine: [] }),
      target("c held closed", { breakerForce: "closed", engine: [broken] }),
      target("d held open", { breakerForce: "open", engine: [] }),
      target("e stopped", {}),
      target("f open", { engine: [engine(), broken] }),
      target("g without destination", { address: null, engine: [] }),
      target("h not reached", { unreachable: { since: "2026-11-20T14:02:07.000Z", detail: "ECONNREFUSED" } }),
    ];
    expect(
      neediestFirst(targets, new Set([null, "e stopped"]))
        .map(({ name }) => name[0])
        .join(""),
    ).toBe("defghcab");
  });
});
