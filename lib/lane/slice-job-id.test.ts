import { describe, expect, test } from "vitest";
import { parseSliceJobId, sliceJobId } from "./slice-job-id";

const job = { redriveId: "0198c0de-7777-7abc-8def-0123456789ab", slice: 4711 };

describe("slice job ids", () => {
  test("give the slice back", () => {
    expect(parseSliceJobId(sliceJobId(job, 1_767_000_000_000))).toEqual(job);
  });

  test("differ with every ring, since BullMQ ignores an id it has seen", () => {
    const ids = Array.from({ length: 100 }, () => sliceJobId(job, 1_767_000_000_000));
    expect(new Set(ids).size).toBe(100);
  });

  test("are such as BullMQ takes: no colon, never digits alone", () => {
    const id = sliceJobId({ redriveId: "01234567-1234-7123-8123-012345678901", slice: 0 }, 0);
    expect(id).not.toContain(":");
    expect(id).not.toMatch(/^\d+$/);
  });

  test.each(["", "17", "something.else", `${job.redriveId}.x.${job.redriveId}`, `${job.redriveId}.1`])(
    "an id of somebody else is none: %j",
    (id) => {
      expect(parseSliceJobId(id)).toBeNull();
    },
  );
});
