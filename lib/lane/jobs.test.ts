import { describe, expect, test } from "vitest";
import { laneJobSchema } from "./jobs.shapes";

const redriveId = "0198c0de-7777-7abc-8def-0123456789ab";

describe("the payload of a lane job", () => {
  test.each([
    { kind: "plan", redriveId },
    { kind: "canary", redriveId },
    { kind: "bulk", operationId: redriveId },
    { kind: "slice", redriveId, slice: 7 },
  ])("is read as it was written: %j", (job) => {
    expect(laneJobSchema.parse(JSON.parse(JSON.stringify(job)))).toEqual(job);
  });

  test.each([
    { kind: "plan", redriveId, slice: 7 },
    { kind: "slice", redriveId },
    { kind: "slice", redriveId, slice: -1 },
    { kind: "other", redriveId },
    { redriveId, slice: 7 },
  ])("with missing, foreign or further fields is refused: %j", (job) => {
    expect(laneJobSchema.safeParse(job).success).toBe(false);
  });
});
