import { describe, expect, test } from "vitest";
import type { LaneJob } from "@/lib/lane/jobs.shapes";
import { laneJobId, parseLaneJobId } from "./lane-job-id";

const redriveId = "0198c0de-7777-7abc-8def-0123456789ab";
const job: LaneJob = { kind: "slice", redriveId, slice: 4711 };

describe("ids of lane jobs", () => {
  test.each<LaneJob>([
    job,
    { kind: "plan", redriveId },
    { kind: "canary", redriveId },
    { kind: "bulk", operationId: redriveId },
  ])("give %j back", (each) => {
    expect(parseLaneJobId(laneJobId(each, 1_767_000_000_000))).toEqual(each);
  });

  test("differ with every enqueue, since BullMQ ignores an id it has seen", () => {
    const ids = Array.from({ length: 100 }, () => laneJobId(job, 1_767_000_000_000));
    expect(new Set(ids).size).toBe(100);
  });

  test("are such as BullMQ takes: no colon, never digits alone", () => {
    const id = laneJobId({ kind: "slice", redriveId: "01234567-1234-7123-8123-012345678901", slice: 0 }, 0);
    expect(id).not.toContain(":");
    expect(id).not.toMatch(/^\d+$/);
  });

  test.each(["", "17", "something.else", `${redriveId}.x.${redriveId}`, `${redriveId}.1`])(
    "an id that was made elsewhere is none: %j",
    (id) => {
      expect(parseLaneJobId(id)).toBeNull();
    },
  );
});
