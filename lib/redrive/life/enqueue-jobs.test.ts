import { describe, expect, test } from "vitest";
import type { LaneJob } from "@/lib/lane/jobs.shapes";
import type { JobState, LaneQueue } from "@/lib/lane/port";
import { enqueueMissing, enqueueResumed } from "@/lib/redrive/life/enqueue-jobs";

type Queued = { job: LaneJob; state: JobState };

/** A queue that holds these jobs, null = it does not answer, and notes the jobs that are enqueued. */
function queueOf(queued: Queued[] | null) {
  const enqueued: LaneJob[] = [];
  const lane = {
    jobs: async (_: string, states?: readonly JobState[]) =>
      queued?.filter(({ state }) => states?.includes(state) ?? true).map(({ job }) => job) ?? null,
    enqueue: async (_: string, jobs: readonly LaneJob[]) => void enqueued.push(...jobs),
  } as unknown as LaneQueue;
  return { lane, enqueued };
}

const slice = (number: number, redriveId = "r1"): LaneJob => ({ kind: "slice", redriveId, slice: number });

describe("the jobs that the queue does not hold", () => {
  test("are enqueued, and no others", async () => {
    const { lane, enqueued } = queueOf([
      { job: slice(1), state: "active" },
      { job: slice(2), state: "delayed" },
    ]);
    const wanted: LaneJob[] = [slice(1), slice(2), slice(3), slice(1, "r2"), { kind: "plan", redriveId: "r1" }];
    expect(await enqueueMissing({ lane }, "main", wanted)).toBe(3);
    expect(enqueued).toEqual([slice(3), slice(1, "r2"), { kind: "plan", redriveId: "r1" }]);
  });

  test("are left to the job of the canary while the queue holds that: it enqueues the slices that it releases", async () => {
    const { lane, enqueued } = queueOf([{ job: { kind: "canary", redriveId: "r1" }, state: "delayed" }]);
    await enqueueMissing({ lane }, "main", [slice(1), slice(2), slice(1, "r2")]);
    expect(enqueued).toEqual([slice(1, "r2")]);
  });

  test("are not enqueued by a queue that does not answer", async () => {
    const { lane, enqueued } = queueOf(null);
    expect(await enqueueMissing({ lane }, "main", [slice(1)])).toBe(0);
    expect(enqueued).toEqual([]);
  });

  test("of a resumed redrive are those that no job waits for: a run that the pause ended may still be active", async () => {
    const { lane, enqueued } = queueOf([
      { job: slice(1), state: "active" },
      { job: slice(2), state: "delayed" },
      { job: slice(3), state: "waiting" },
    ]);
    await enqueueResumed({ lane }, { id: "r1", lane: "main", released: null, slices: 5 });
    expect(enqueued).toEqual([slice(0), slice(1), slice(4)]);
  });
});
