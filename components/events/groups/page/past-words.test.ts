import { expect, test } from "vitest";
import { pastWords } from "./past-words";

const redrive = { what: "redrive", by: "ada", redriveId: "r", operationId: null, events: 1_419 } as const;

test.each([
  [
    { ...redrive, delivered: 223, failed: 3, state: "DONE" },
    "Redrive of 1,419 events by ada: 223 sent, 3 failed, 1,193 not sent",
  ],
  [{ ...redrive, delivered: 12, failed: 0, state: "RUNNING" }, "Redrive of 1,419 events by ada: 12 sent so far"],
  [
    { ...redrive, delivered: 0, failed: 0, state: "CANCELLED" },
    "Redrive of 1,419 events by ada: cancelled, nothing was sent",
  ],
  [{ ...redrive, what: "ignored", delivered: null, failed: null, state: null } as const, "1,419 events ignored by ada"],
])("the history of a group says what was asked for and what was sent: %j", (past, words) => {
  expect(pastWords(past)).toBe(words);
});
