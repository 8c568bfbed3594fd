import { describe, expect, it } from "vitest";
import { approvalsShown, gaugeLevel, laneWords, problemsOf, workerHealth } from "./status-view";

describe("the gauge of a lane", () => {
  it.each([
    [0, 5, 0],
    [null, 5, 0],
    [0.1, 50, 1],
    [21, 50, 2],
    [4.9, 5, 4],
    [5, 5, 5],
    [60, 50, 5],
    [12, null, 1],
  ])("%s of %s lights %i bars", (now, set, level) => {
    expect(gaugeLevel({ ratePerSecondNow: now, ratePerSecondSet: set })).toBe(level);
  });
});

it.each([
  [null, null, null, "?", null],
  [0, null, 0, "no target", null],
  [0, null, 2, "0/s", "no limit"],
  [2, 35, 7, "2/s", "of 35"],
])("a lane at %s of %s over %s targets reads %s %s", (ratePerSecondNow, ratePerSecondSet, targets, now, of) => {
  expect(laneWords({ lane: "main", ratePerSecondNow, ratePerSecondSet, targets })).toMatchObject({ now, of });
});

it("tells a dead worker from an unknown one", () => {
  expect(workerHealth(null)).toMatchObject({ ok: false, unknown: true });
  expect(workerHealth({ alive: 0, lastSeenAt: null })).toMatchObject({ ok: false, unknown: false });
  expect(workerHealth({ alive: 2, lastSeenAt: null })).toMatchObject({ ok: true, detail: "2 workers are running" });
});

it.each([
  [5, 2, { count: 2, what: "your approval" }],
  [5, 0, { count: 5, what: "approval" }],
  [0, 0, null],
  [null, null, null],
])("of %s requests for approval, %s of them for the viewer, shows %j", (approvalsWaiting, approvalsForViewer, shown) =>
  expect(approvalsShown({ approvalsWaiting, approvalsForViewer })).toEqual(shown),
);

describe("problems in the status strip", () => {
  const well = {
    worker: { alive: 2, lastSeenAt: null },
    trouble: { openBreakers: [], failingSources: [], archive: null, alerts: null, channelsOff: 0 },
  };

  it("is nothing when all is well, or when it is not known", () => {
    expect(problemsOf(well)).toEqual([]);
    expect(problemsOf({ worker: null, trouble: null })).toEqual([]);
  });

  it("is each cause, with the page where it is mended", () => {
    const status = {
      worker: { alive: 0, lastSeenAt: null },
      trouble: {
        openBreakers: ["orders.slow", "orders"],
        failingSources: ["billing"],
        archive: "s3://x does not answer",
        alerts: "no alert rule has been evaluated since 03:00: nobody is notified",
        channelsOff: 2,
      },
    };
    expect(problemsOf(status)).toEqual([
      { key: "worker", words: "no worker is running: nothing is sent", href: "/targets" },
      { key: "breakers", words: "breaker open: orders.slow and 1 more", href: "/targets" },
      { key: "sources", words: "sources failing: billing", href: "/sources" },
      { key: "archive", words: "the archive is failing: nothing is removed", href: "/operations" },
      {
        key: "channels",
        words: "restored from a backup: 2 channels disabled; enable those that must notify",
        href: "/alerts/channels",
      },
      {
        key: "alerts",
        words: "no alert rule has been evaluated since 03:00: nobody is notified",
        href: "/alerts",
      },
    ]);
  });
});
