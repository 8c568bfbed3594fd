import { expect, test } from "vitest";
import { joinStorms } from "@/lib/events/groups/aliases/join-storms";
import { mergeGroup, splitGroup } from "@/lib/events/groups/aliases/merge-groups";
import { moveGroups } from "@/lib/events/groups/aliases/move-groups";
import { readGroupDetail } from "@/lib/events/groups/group-detail.read";
import { listGroups } from "@/lib/events/groups/group-list.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { listAlerts } from "@/lib/observe/alerts/alerts.read";
import { evaluateAlerts } from "@/lib/observe/alerts/evaluate-alerts";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const world = worldOfEachTest();
const ADA = localViewer("ada");

/** Pronounceable words that nothing tells from words of a message: each number has its own. */
function word(index: number): string {
  const [consonants, vowels] = ["ghjklmnprstvwz", "aeiou"];
  let [rest, text] = [index, ""];
  for (let syllable = 0; syllable < 4; syllable++) {
    text += consonants[rest % 14]! + vowels[Math.floor(rest / 14) % 5]!;
    rest = Math.floor(rest / 70);
  }
  return text.slice(0, 2) + text;
}

const error = (message: string) => ({ type: "BankDown", message, stack: null });

/** Events of an outage, each of which names another word: none shares its fingerprint with another. */
const outage = (count: number, { from = 0, source = "orders", code = "TIMEOUT" } = {}) =>
  world.park(
    count,
    (index) => ({
      eventId: `out-${source}-${from + index}`,
      errorCode: code,
      error: error(`no answer from ${word(from + index)} in the zone of ${word(3 * (from + index))}`),
    }),
    source,
  );

const groups = async () => (await listGroups(world.db, ADA, { filter: {}, limit: 50, cursor: null }, Date.now())).items;
const evaluate = () => evaluateAlerts({ ...world.deps, publicUrl: "https://parkade.example.com" });
const alerts = async () =>
  (await listAlerts(world.db, ADA, { limit: 50, cursor: null, state: null, source: null, rule: null }, (name) => name))
    .items;

test("a thousand shapes of one outage are one group, one alert in one evaluation, and one redrive", async () => {
  await outage(1_000);
  const [before] = await world.db.query<{ n: number }>("select count(*) as n from dlq_groups");
  expect(before!.n).toBe(1_000);
  expect(await evaluate()).toMatchObject({ fired: 1 });
  const [group, ...others] = await groups();
  expect(others).toEqual([]);
  expect(group).toMatchObject({
    pattern: "no answer from <*> in the zone of <*>",
    counts: { PENDING: 1_000 },
    errorCode: "TIMEOUT",
    exceptionType: "BankDown",
  });
  const [alert, ...further] = await alerts();
  expect(further).toEqual([]);
  expect(alert).toMatchObject({ kind: "new-group", state: "firing", subject: { fingerprint: group!.fingerprint } });
  // More of the outage belongs to it as it is parked, in its source alone.
  await outage(200, { from: 1_000 });
  await world.source("billing");
  await outage(3, { from: 1_200, source: "billing" });
  expect((await groups()).map(({ counts, sources }) => [counts.PENDING, sources])).toEqual([
    [1_200, ["orders"]],
    ...[1, 1, 1].map((n) => [n, ["billing"]]),
  ]);
  const select = { filter: { fingerprint: [group!.fingerprint] } };
  expect(await world.request({ select })).toMatchObject({ total: 1_200, refused: 0 });
  await moveGroups(world.db);
  const stored = await world.db.query("select distinct fingerprint from dlq_events where fingerprint <> $1", [
    group!.fingerprint,
  ]);
  expect(stored).toHaveLength(3);
  expect(await evaluate()).toMatchObject({ fired: 0 });
});

test("what is no storm stays as it is: few shapes, different messages, other codes, groups of before", async () => {
  // Of before, and with a message that the template holds.
  await outage(1);
  await world.db.run("update dlq_groups set first_seen = now() - interval '1 day'");
  await world.park(60, (index) => ({
    ...{ eventId: `different-${index}`, errorCode: "MANY" },
    error: error(`${word(index)} ${word(100 + index)} ${word(200 + index)}`),
  }));
  await outage(50, { from: 300, code: "OTHER" });
  expect(await joinStorms(world.deps)).toBe(0);
  await outage(60, { from: 100 });
  expect(await joinStorms(world.deps)).toBe(60);
  await outage(1);
  await world.park(1, () => ({
    eventId: "again",
    errorCode: "TIMEOUT",
    error: error(`no answer from ${word(0)} in the zone of ${word(0)}`),
  }));
  const timeouts = (await groups()).filter(({ errorCode }) => errorCode === "TIMEOUT");
  expect(timeouts.map(({ counts }) => counts.PENDING)).toEqual([60, 2]);
  const [all] = await world.db.query<{ n: number }>(
    "select count(distinct fingerprint) as n from dlq_events where error_code <> 'TIMEOUT'",
  );
  expect(all!.n).toBe(110);
});

test("a storm that goes on in another form, and events of a process that did not know it, join it", async () => {
  await outage(60);
  await joinStorms(world.deps);
  const [storm] = await groups();
  const family = async (change: string) => {
    await world.db.run(`update group_aliases set family = ${change} where family is not null`);
    await world.db.run("update admission_revision set revision = revision + 1");
  };
  await family("'unknown to ' || family");
  await outage(3, { from: 60 });
  expect(await groups()).toHaveLength(4);
  await family("replace(family, 'unknown to ', '')");
  expect(await joinStorms(world.deps)).toBe(3);
  expect(await groups()).toHaveLength(1);
  await world.park(60, (index) => ({
    ...{ eventId: `wider-${index}`, errorCode: "TIMEOUT" },
    error: error(`no reply from ${word(500 + index)} in the zone of ${word(700 + index)}`),
  }));
  expect(await joinStorms(world.deps)).toBe(60);
  await moveGroups(world.db);
  const [wider, ...others] = await groups();
  expect(others).toEqual([]);
  expect(wider).toMatchObject({
    fingerprint: storm!.fingerprint,
    pattern: "no <*> from <*> in the zone of <*>",
    counts: { PENDING: 123 },
  });
});

test("a group that is split off a storm stays apart, and a merged storm goes on in its target until it is split off", async () => {
  await outage(60);
  await joinStorms(world.deps);
  const [storm] = await groups();
  const { joined } = await readGroupDetail(world.db, ADA, { fingerprint: storm!.fingerprint, within: {} }, Date.now());
  expect(joined.total).toBe(60);
  const own = joined.items[0]!;
  await splitGroup(world.deps, own.fingerprint, ADA);
  const parked = async () => (await groups()).map(({ pattern, counts }) => [pattern, counts.PENDING]);
  expect(await parked()).toEqual([
    [storm!.pattern, 59],
    [own.pattern, 1],
  ]);
  expect(await joinStorms(world.deps)).toBe(0);
  await world.park(2, (index) => ({
    eventId: `own-${index}`,
    errorCode: "TIMEOUT",
    error: error(own.pattern),
  }));
  await world.park(1, () => ({ eventId: "till", errorCode: "TIMEOUT", error: error("the till is away") }));
  const till = (await groups()).find(({ pattern }) => pattern === "the till is away")!;
  const request = { into: till.fingerprint, reason: "one outage" };
  await mergeGroup(world.deps, { fingerprint: storm!.fingerprint, request }, ADA);
  await outage(5, { from: 70 });
  expect(await parked()).toEqual([
    ["the till is away", 65],
    [own.pattern, 3],
  ]);
  await splitGroup(world.deps, storm!.fingerprint, ADA);
  await outage(1, { from: 80 });
  expect(await parked()).toEqual([
    [storm!.pattern, 65],
    [own.pattern, 3],
    ["the till is away", 1],
  ]);
});
