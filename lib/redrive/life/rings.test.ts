import { describe, expect, test } from "vitest";
import type { LaneJob } from "@/lib/lane/jobs.shapes";
import type { JobState, LaneQueue } from "@/lib/lane/port";
import { ringMissing, ringResumed } from "@/lib/redrive/life/rings";

type Queued = { job: LaneJob; state: JobState };

/** A queue that holds these jobs, null = it does not answer, and notes the jobs that are rung. */
function queueOf(queued: Queued[] | null) {
  const rung: LaneJob[] = [];
  const lane = {
    jobs: async (_: string, states?: readonly JobState[]) =>
      queued?.filter(({ state }) => states?.includes(state) ?? true).map(({ job }) => job) ?? null,
    ring: async (_: string, jobs: readonly LaneJob[]) => void rung.push(...jobs),
  } as unknown as LaneQueue;
  return { lane, rung };
}

const slice = (number: number, redriveId = "r1"): LaneJob => ({ kind: "slice", redriveId, slice: number });

describe("the jobs that the queue does not hold", () => {
  test("are rung, and no others", async () => {
    const { lane, rung } = queueOf([
      { job: slice(1), state: "active" },
      { job: slice(2), state: "delayed" },
    ]);
    const wanted: LaneJob[] = [slice(1), slice(2), slice(3), slice(1, "r2"), { kind: "plan", redriveId: "r1" }];
    expect(await ringMissing({ lane }, "main", wanted)).toBe(3);
    expect(rung).toEqual([slice(3), slice(1, "r2"), { kind: "plan", redriveId: "r1" }]);
  });

  test("are left to the job of the canary while the queue holds that: it rings the slices that it releases", async () => {
    const { lane, rung } = queueOf([{ job: { kind: "canary", redriveId: "r1" }, state: "delayed" }]);
    await ringMissing({ lane }, "main", [slice(1), slice(2), slice(1, "r2")]);
    expect(rung).toEqual([slice(1, "r2")]);
  });

  test("are not rung by a queue that does not answer", async () => {
    const { lane, rung } = queueOf(null);
    expect(await ringMissing({ lane }, "main", [slice(1)])).toBe(0);
    expect(rung).toEqual([]);
  });

  test("of a resumed redrive are those that no job waits for: a run that the pause ended may still be active", async () => {
    const { lane, rung } = queueOf([
      { job: slice(1), state: "active" },
      { job: slice(2), state: "delayed" },
      { job: slice(3), state: "waiting" },
    ]);
    await ringResumed({ lane }, { id: "r1", lane: "main", released: null, slices: 5 });
    expect(rung).toEqual([slice(0), slice(1), slice(4)]);
  });
});
