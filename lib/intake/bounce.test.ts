import { describe, expect, test } from "vitest";
import type { Origin } from "@/lib/platform/plain/dead-letter.pure";
import { type ArrivalMeaning, BROKER_SKEW_MS, classifyArrival, type KnownEvent, placeOf } from "./bounce.pure";

const LIMIT = 4;
const known: KnownEvent = {
  status: "PENDING",
  hasBytes: true,
  isStoredLetter: false,
  firstSeenMs: 1_000_000,
  firstStoredMs: null,
  sentAtMs: null,
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
  failed: true,
});
const changed: ArrivalMeaning = { kind: "changed" };
const parkedAgain: ArrivalMeaning = { kind: "bounce", status: "PENDING", redriveId: null, failed: false };

test.each<[string, Partial<KnownEvent>, string | null, ArrivalMeaning]>([
  ["pending, unmarked: the queue delivered it twice", {}, null, duplicate],
  ["ignored, unmarked", { status: "IGNORED" }, null, duplicate],
  ["pending, with bytes that no revision holds", { hasBytes: false }, null, changed],
  ["ignored, with other bytes: a person's decision stays", { status: "IGNORED", hasBytes: false }, null, changed],
  ["queued, with other bytes, nothing sent yet", { status: "QUEUED", hasBytes: false }, null, changed],
  [
    "the same bounce again, with other bytes",
    { status: "QUEUED", bouncedRedrives: ["r2"], hasBytes: false },
    "r2",
    changed,
  ],
  ["a bounce with other bytes is a bounce", { status: "REDRIVEN", hasBytes: false }, "r2", bounce("PENDING", "r2")],
  [
    "redriven, and other bytes lie at the place of its letter: nothing has failed",
    { status: "REDRIVEN", deliveredRedrive: "r2", isStoredLetter: true, hasBytes: false, redrives: LIMIT },
    null,
    parkedAgain,
  ],
  [
    "redriven again, and a late bounce of an earlier redrive has other bytes",
    { status: "REDRIVEN", bouncedRedrives: ["r1"], deliveredRedrive: "r2", hasBytes: false },
    "r1",
    parkedAgain,
  ],
  ["redriven, marked", { status: "REDRIVEN", deliveredRedrive: "r2" }, "r2", bounce("PENDING", "r2")],
  [
    "redriven, unmarked: the consumer drops our headers",
    { status: "REDRIVEN", deliveredRedrive: "r2" },
    null,
    bounce("PENDING", "r2"),
  ],
  [
    "redriven, and its log is read again",
    { status: "REDRIVEN", deliveredRedrive: "r2", isStoredLetter: true },
    null,
    duplicate,
  ],
  [
    "under way, and its log is read again",
    { status: "QUEUED", sendingRedrive: "r2", isStoredLetter: true },
    null,
    duplicate,
  ],
  [
    "its first letter, of which the store has lost the event that came before it, and its log is read again",
    { status: "REDRIVEN", deliveredRedrive: "r2", isStoredLetter: true },
    "r1",
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
  expect(classifyArrival({ ...known, ...facts }, { markedRedrive: mark, storedMs: null }, LIMIT)).toEqual(meaning);
});

/** The store's clock, and a broker whose clock shows `aheadMs` more. */
describe.each([
  ["as the store's", 0],
  ["three hours ahead", 3 * 3_600_000],
  ["three hours behind", -3 * 3_600_000],
])("by a broker whose clock is %s", (_, aheadMs) => {
  const [diedMs, seenMs, sentMs] = [1_000_000, 1_004_000, 5_000_000];
  const meaning = (letterMs: number, change: Partial<KnownEvent> = {}) => {
    const times = { firstSeenMs: seenMs, firstStoredMs: diedMs + aheadMs, sentAtMs: sentMs };
    const event: KnownEvent = { ...known, status: "REDRIVEN", deliveredRedrive: "r2", ...times, ...change };
    return classifyArrival(event, { markedRedrive: null, storedMs: letterMs + aheadMs }, LIMIT).kind;
  };

  test("a letter from before the send is no bounce", () => {
    expect(meaning(diedMs)).toBe("duplicate");
    expect(meaning(diedMs - 20_000)).toBe("duplicate");
    expect(meaning(sentMs - BROKER_SKEW_MS - 10_000)).toBe("duplicate");
    const sending = { status: "QUEUED", deliveredRedrive: null, sendingRedrive: "r2" } as const;
    expect(meaning(diedMs, sending)).toBe("duplicate");
  });

  test("a letter from after the send is a bounce, also of another node whose clock is a minute behind", () => {
    expect(meaning(sentMs + 1)).toBe("bounce");
    expect(meaning(sentMs + 1 - BROKER_SKEW_MS)).toBe("bounce");
    expect(meaning(sentMs + 86_400_000)).toBe("bounce");
  });

  test("a letter that died in the same second as the first one is a bounce when the send was in that second, too", () => {
    expect(meaning(diedMs, { firstSeenMs: diedMs + 10, sentAtMs: diedMs + 20 })).toBe("bounce");
  });

  test("a letter is a bounce when the broker or the store does not say when", () => {
    expect(meaning(diedMs, { firstStoredMs: null })).toBe("bounce");
    expect(meaning(diedMs, { sentAtMs: null })).toBe("bounce");
  });
});

test.each<[string, Origin, object | null]>([
  ["Kafka", { deadLetter: { topic: "t", partition: 0, offset: "4" } }, { topic: "t", partition: 0, offset: "4" }],
  ["NATS", { deadLetter: { stream: "S", subject: "s", sequence: "7", storedAtMs: 4 } }, { stream: "S", sequence: "7" }],
  ["Redis, read by another group", { deadLetter: { stream: "s", group: "g", id: "1-0" } }, { stream: "s", id: "1-0" }],
  ["Sidekiq", { deadLetter: { set: "dead", score: 1.5 } }, { set: "dead", score: 1.5 }],
  ["AMQP 1.0", { deadLetter: { address: "a", sequence: "9" } }, { address: "a", sequence: "9" }],
  ["a RabbitMQ queue", { deadLetter: { queue: "q" }, properties: { messageId: "m" } }, null],
  ["a BullMQ job", { deadLetter: { queue: "q", set: "failed", id: "7" } }, null],
  ["a row of an outbox", { deadLetter: { table: "t", id: "7", status: "FAILED" } }, null],
  ["a producer that writes anything", { deadLetter: { topic: {}, partition: [], offset: null } }, null],
])("a letter of %s has a place where no other letter is, or none", (_, origin, deadLetter) => {
  expect(placeOf(origin)).toEqual(deadLetter === null ? null : { deadLetter });
});

test.each([
  ["SQS", { deadLetter: { queue: "q" }, properties: { MessageId: "m", SentTimestamp: "4" } }],
  ["Pub/Sub", { deadLetter: { subscription: "s" }, properties: { messageId: "m", publishTimeMs: 4 } }],
  ["Celery", { deadLetter: { queue: "q" }, properties: { delivery_tag: "m", priority: "0" } }],
])("a letter of %s is known by the id that its broker gave it", (_, origin) => {
  const [name] = Object.keys(origin.properties);
  expect(placeOf(origin)).toEqual({ deadLetter: origin.deadLetter, properties: { [name!]: "m" } });
});
