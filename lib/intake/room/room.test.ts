import { expect, test } from "vitest";
import { resumeBytes, roomSentence } from "./room.pure";

const [MB, GB] = [2 ** 20, 2 ** 30];

test("the distance between stop and go is a tenth of the limit, and never nothing", () => {
  expect([resumeBytes(1), resumeBytes(GB), resumeBytes(7 * MB + 1)]).toEqual([1, 107_374_183, 734_004]);
});

test.each([
  [
    { measure: "disk", limitBytes: 2 * GB, leftBytes: -500 * MB } as const,
    "The disk of the store has 1.5 GB free of the 2 GB that PARKADE_DISK_FREE_MIN keeps: no event is accepted until 2.2 GB are free",
  ],
  [
    { measure: "disk", limitBytes: GB, leftBytes: -2 * GB } as const,
    "The disk of the store has 0 B free of the 1 GB that PARKADE_DISK_FREE_MIN keeps: no event is accepted until 1.1 GB are free",
  ],
  [
    { measure: "store", limitBytes: 20 * GB, leftBytes: -30 * MB } as const,
    "The store has 20 GB of the 20 GB that PARKADE_STORE_SIZE_MAX allows: no event is accepted until it is below 18 GB",
  ],
])("%j is said with its variable and with what ends it", (room, sentence) => {
  expect(roomSentence(room)).toBe(sentence);
});
