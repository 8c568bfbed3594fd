import { describe, expect, it } from "vitest";
import { causeViews, outcomeTabs } from "@/components/redrive/page/cause-words";
import type { RedriveItemOut } from "@/lib/redrive/list/redrive-items.shapes";

const item = (over: Partial<RedriveItemOut> = {}): RedriveItemOut => ({
  eventId: "order-77-created",
  id: "019aa1c4-0000-7000-8000-000000000001",
  source: "orders",
  aggregateId: "order-77",
  version: 3,
  revision: 1,
  errorCode: "UPSTREAM_5XX",
  state: "failed",
  outcome: "failed",
  result: "UPSTREAM_5XX",
  detail: null,
  attempts: 4,
  stopped: null,
  findings: [],
  finishedAt: null,
  ...over,
});

describe("failures by cause", () => {
  it("offers no mend for a cause that other bytes do not change", () => {
    const mendable = (outcome: "failed" | "refused", result: string) =>
      causeViews([{ outcome, result, count: 1, samples: [] }])[0]!.mendable;
    expect(mendable("refused", "schema-mismatch")).toBe(true);
    expect(mendable("refused", "held-by-head")).toBe(false);
    expect(mendable("refused", "already-redriven")).toBe(false);
    expect(mendable("failed", "UPSTREAM_4XX")).toBe(true);
  });

  it("merges the same cause, failures before refusals, larger before smaller", () => {
    const views = causeViews([
      { outcome: "refused", result: "blacklisted", count: 120, samples: [] },
      { outcome: "failed", result: "TIMEOUT", count: 3, samples: [] },
      { outcome: "failed", result: "UPSTREAM_5XX", count: 30, samples: [item({ detail: "503" })] },
      { outcome: "failed", result: "UPSTREAM_5XX", count: 7, samples: [item({ detail: "502" })] },
    ]);
    expect(views.map((view) => [view.key, view.count])).toEqual([
      ["failed:UPSTREAM_5XX", 37],
      ["failed:TIMEOUT", 3],
      ["refused:blacklisted", 120],
    ]);
    expect(views[0]?.texts.map((entry) => entry.text)).toEqual(["503", "502"]);
    expect(views.reduce((sum, view) => sum + view.share, 0)).toBeCloseTo(1);
  });

  it("warns where sending again cannot help, and only there", () => {
    const advice = causeViews([
      { outcome: "refused", result: "blacklisted", count: 1, samples: [] },
      { outcome: "refused", result: "breaker-open", count: 1, samples: [] },
      { outcome: "failed", result: "TIMEOUT", count: 1, samples: [] },
    ]).map((view) => [view.result, view.advice !== null]);
    expect(Object.fromEntries(advice)).toEqual({ blacklisted: true, "breaker-open": false, TIMEOUT: false });
  });
});

describe("outcomes that can be listed", () => {
  const counts = {
    confirmed: 41,
    bounced: 4,
    unknown: 15,
    passed: 9,
    failed: 7,
    refused: 12,
    refusedByReason: {},
    cancelled: 3,
    open: 18,
  };

  it("carry the count of their own outcome; what is not known yet was sent or deduplicated", () => {
    const tabs = outcomeTabs({ ...counts, mode: "deliver" });
    expect(tabs.map((tab) => [tab.name, tab.outcome.join(), tab.count])).toEqual([
      ["confirmed", "confirmed", 41],
      ["unknown", "sent,deduplicated", 15],
      ["bounced", "bounced", 4],
      ["failed", "failed", 7],
      ["refused", "refused", 12],
      ["open", "open", 18],
      ["cancelled", "cancelled", 3],
    ]);
  });
});
