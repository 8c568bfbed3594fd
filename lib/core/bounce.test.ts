import { expect, test } from "vitest";
import { type ArrivalMeaning, type KnownEvent, meaningOf } from "./bounce";

const LIMIT = 4;
const known: KnownEvent = {
  status: "PENDING",
  isFirstLetter: false,
  bouncedRedrives: [],
  sendingRedrive: null,
  deliveredRedrive: null,
  redrives: LIMIT - 1,
};
const duplicate: ArrivalMeaning = { kind: "duplicate" };
const bounce = (status: KnownEvent["status"], redriveId: string | null): ArrivalMeaning => ({
  kind: "bounce",
  status,
  redriveId,
});

test.each<[string, Partial<KnownEvent>, string | null, ArrivalMeaning]>([
  ["pending, unmarked: the queue delivered it twice", {}, null, duplicate],
  ["ignored, unmarked", { status: "IGNORED" }, null, duplicate],
  ["redriven, marked", { status: "REDRIVEN", deliveredRedrive: "r2" }, "r2", bounce("PENDING", "r2")],
  [
    "redriven, unmarked: the consumer drops our headers",
    { status: "REDRIVEN", deliveredRedrive: "r2" },
    null,
    bounce("PENDING", "r2"),
  ],
  [
    "redriven, and its log is read again",
    { status: "REDRIVEN", deliveredRedrive: "r2", isFirstLetter: true },
    null,
    duplicate,
  ],
  [
    "under way, and its log is read again",
    { status: "QUEUED", sendingRedrive: "r2", isFirstLetter: true },
    null,
    duplicate,
  ],
  ["redriven, of a redrive not on record", { status: "REDRIVEN" }, null, bounce("PENDING", null)],
  ["the same bounce again", { bouncedRedrives: ["r2"] }, "r2", duplicate],
  [
    "redriven again, the earlier bounce delivered twice",
    { status: "REDRIVEN", bouncedRedrives: ["r1"], deliveredRedrive: "r2" },
    "r1",
    duplicate,
  ],
  [
    "redriven again, and back again",
    { status: "REDRIVEN", bouncedRedrives: ["r1"], deliveredRedrive: "r2" },
    "r2",
    bounce("PENDING", "r2"),
  ],
  [
    "the bounce of an older redrive comes again after a newer one was counted",
    { status: "REDRIVEN", bouncedRedrives: ["r1", "r2"], deliveredRedrive: "r3" },
    "r1",
    duplicate,
  ],
  ["the bounce overtakes the finish", { status: "QUEUED", sendingRedrive: "r2" }, "r2", bounce("QUEUED", "r2")],
  [
    "the same from a consumer that drops our headers",
    { status: "QUEUED", sendingRedrive: "r2" },
    null,
    bounce("QUEUED", "r2"),
  ],
  ["overtaking, delivered twice", { status: "QUEUED", sendingRedrive: "r2", bouncedRedrives: ["r2"] }, null, duplicate],
  ["queued, nothing sent yet", { status: "QUEUED" }, null, duplicate],
  ["a send that counted as failed arrived after all, and bounced", {}, "r1", bounce("PENDING", "r1")],
  [
    "back for the last time: the redrive limit is reached",
    { status: "REDRIVEN", deliveredRedrive: "r2", redrives: LIMIT },
    "r2",
    bounce("IGNORED", "r2"),
  ],
  [
    "the limit is for what was redriven, not for what is still sent",
    { status: "QUEUED", sendingRedrive: "r2", redrives: LIMIT },
    "r2",
    bounce("QUEUED", "r2"),
  ],
  ["ignored meanwhile: a bounce does not release", { status: "IGNORED" }, "r1", bounce("IGNORED", "r1")],
])("%s", (_, facts, mark, meaning) => {
  expect(meaningOf({ ...known, ...facts }, mark, LIMIT)).toEqual(meaning);
});
