import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as metrics from "@/app/(observe)/metrics/route";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { systemClock } from "@/lib/platform/clock";
import type { RedriveRuleList, RedriveRuleOut, RedriveRuleTrial } from "@/lib/rules/redrive-rules.shapes";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource, deadLetter } from "@/lib/testing/letters";
import * as rule from "./api/v1/redrive-rules/[id]/route";
import * as rules from "./api/v1/redrive-rules/route";
import * as trying from "./api/v1/redrive-rules/try/route";

let web: TestConsole;
beforeAll(async () => {
  web = await testConsole();
  await addSource(web.deps.db, "orders");
});
afterAll(() => web.close());

const BODY = { filter: { source: ["orders"], errorCode: ["TIMEOUT"] }, delayMs: 1_800_000 };
type Problem = { code: string; errors: { field: string; detail: string }[] };
let names = 0;
const post = (body: object) =>
  web.call<RedriveRuleOut & Problem>(rules.POST, {
    body: { name: `rule ${++names}`, ...BODY, reason: "tested", ...body },
  });
const change = (id: string, body: object) =>
  web.call<RedriveRuleOut & Problem>(rule.PATCH, {
    method: "PATCH",
    params: { id },
    body: { reason: "tested", ...body },
  });
const attempt = async (body: object = {}) =>
  (await web.call<RedriveRuleTrial>(trying.POST, { body: { rule: { ...BODY, ...body } } })).body;

describe("a refusal names the field and the fix", () => {
  test.each<[string, object, string, string, RegExp]>([
    ["a filter that matches everything", { filter: {} }, "invalid-request", "filter", /name a source, an error code/],
    ["a filter of times alone", { filter: { from: "-24h" } }, "invalid-request", "filter", /matches every event/],
    [
      "a filter that only excludes",
      { filter: { "not.source": ["orders"] } },
      "invalid-request",
      "filter",
      /matches every/,
    ],
    [
      "a status that is excluded",
      { filter: { source: ["orders"], "not.status": ["IGNORED"] } },
      "invalid-request",
      "filter.not.status",
      /leave it out/,
    ],
    [
      "a status",
      { filter: { source: ["orders"], status: ["IGNORED"] } },
      "invalid-request",
      "filter.status",
      /leave it out/,
    ],
    [
      "a delay of 0 without a limit",
      { delayMs: 0, limits: { eventsPerHour: null, eventsPerDay: null } },
      "invalid-request",
      "delayMs",
      /0 needs limits\.eventsPerHour or limits\.eventsPerDay/,
    ],
    [
      "a window that is over",
      { filter: { source: ["orders"], to: "2026-11-01" } },
      "invalid-request",
      "filter.to",
      /in the past/,
    ],
    ["an unknown source", { filter: { source: ["odrers"] } }, "unknown-source", "filter.source", /list sources/],
    [
      "an unknown field of the filter",
      { filter: { sorce: ["orders"], errorCode: ["X"] } },
      "invalid-request",
      "filter.sorce",
      /unknown/,
    ],
    ["too many redrives of an event", { redrivesPerEvent: 11 }, "invalid-request", "redrivesPerEvent", /at most 10/],
    ["an empty name", { name: " " }, "invalid-request", "name", /must not be empty/],
    ["a rate of 0", { ratePerSecond: 0 }, "invalid-request", "ratePerSecond", /above 0/],
  ])("%s", async (_what, body, code, field, detail) => {
    const answer = await post(body);
    expect(answer.body).toMatchObject({ code, errors: [{ field, detail: expect.stringMatching(detail) }] });
  });

  test("two rules with one name", async () => {
    expect((await post({ name: "once" })).status).toBe(201);
    expect((await post({ name: "once" })).body).toMatchObject({ code: "name-taken", errors: [{ field: "name" }] });
  });

  test("a rule that is not there", async () => {
    const answer = await change("019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b30", { position: 1 });
    expect(answer.body).toMatchObject({ code: "unknown-redrive-rule" });
  });
});

describe("a rule is off until it was tried as it is", () => {
  const on = (id: string, trial?: string) => change(id, { enabled: true, ...(trial ? { trial } : {}) });

  test("it is switched on with a trial of the same rule, and with no other", async () => {
    const { body: made } = await post({});
    expect(made).toMatchObject({ enabled: false, trial: null, version: 1 });
    expect((await on(made.id)).body).toMatchObject({ code: "not-tried", errors: [{ field: "trial" }] });
    const other = await attempt({ delayMs: 60_000 });
    expect((await on(made.id, other.id)).body).toMatchObject({ code: "not-tried" });
    const trial = await attempt();
    expect(trial.digest).toBe(made.digest);
    expect((await on(made.id, trial.id)).body).toMatchObject({
      enabled: true,
      enabledBy: "local",
      trial: { id: trial.id, taken: 0 },
    });
    const [entry] = await web.deps.db.query<{ after: object }>(
      "select after from audit_entries where action = 'redrive-rule.enabled' and subject_id = $1",
      [made.id],
    );
    expect(entry!.after).toMatchObject({ enabled: true, tried: { taken: 0, stayed: 0, never: 0 } });
  });

  test("a rule that is on is changed with a trial of what it becomes, and switched off without", async () => {
    const { body: made } = await post({});
    await on(made.id, (await attempt()).id);
    expect((await change(made.id, { delayMs: 60_000 })).body).toMatchObject({ code: "not-tried" });
    const trial = await attempt({ delayMs: 60_000 });
    expect((await change(made.id, { delayMs: 60_000, trial: trial.id })).body).toMatchObject({
      enabled: true,
      delayMs: 60_000,
      version: 2,
    });
    expect((await change(made.id, { version: 1, enabled: false })).body).toMatchObject({ code: "illegal-transition" });
    expect((await change(made.id, { name: `renamed ${names}`, enabled: false })).body).toMatchObject({
      enabled: false,
      version: 3,
    });
  });

  test("rules are moved and deleted without gaps, and counted by state in the metrics", async () => {
    const all = async () => (await web.call<RedriveRuleList>(rules.GET, {})).body.items;
    const last = (await all()).at(-1)!;
    expect((await change(last.id, { position: 1 })).body.position).toBe(1);
    expect((await all()).map(({ position }) => position)).toEqual((await all()).map((_each, index) => index + 1));
    expect((await web.call(rule.DELETE, { method: "DELETE", params: { id: last.id } })).status).toBe(204);
    const left = await all();
    expect(left.map(({ position }) => position)).toEqual(left.map((_each, index) => index + 1));
    const { text } = await web.call(metrics.GET, {});
    expect(text).toContain(`redrive_rules{state="off"} ${left.filter(({ enabled }) => !enabled).length}`);
    expect(text).toContain(`redrive_rule_events_24h{rule="once"} 0`);
  });
});

test("a trial says what the rule would have redriven, and what became of it in fact", async () => {
  const { db } = web.deps;
  const hoursAgo = (hours: number) => systemClock.wallMs() - hours * 3_600_000;
  const park = (hours: number, ...eventIds: string[]) =>
    parkEvents(
      web.deps,
      eventIds.map((eventId) => ({
        source: "orders",
        letter: deadLetter({ eventId, errorCode: "LATE", aggregateId: null, version: null }),
      })),
      localViewer("tester"),
      { atMs: hoursAgo(hours) },
    );
  await park(5, "stayed", "came-back", "sent", "never", "marked", "soon");
  await park(0.1, "young");
  const idOf = async (eventId: string) =>
    (await db.query<{ id: string }>("select id from dlq_events where event_id = $1", [eventId]))[0]!.id;
  // What others did with them: a redrive four hours ago, and one six minutes after the parking.
  const redriven = async (eventId: string, hours: number, facts: string) => {
    await db.run(
      `with r as (
         insert into redrives (id, state, mode, lane, selection, cutoff, slices, created_by, reason, created_at)
         values (gen_random_uuid(), 'DONE', 'deliver', 'slow', '{}', gen_random_uuid(), 1, 'ada', 'x', to_timestamp($2::float8 / 1000))
         returning id)
       insert into redrive_items (id, redrive_id, slice, source_id, error_code, state)
       select $1, r.id, 0, s.id, 'LATE', 'delivered' from r, sources s where s.name = 'orders'`,
      [await idOf(eventId), hoursAgo(hours)],
    );
    await db.run(
      `with moved as (update dlq_events set ${facts} where event_id = $1 returning fingerprint, source_id, status)
       insert into dlq_group_levels select fingerprint, source_id, status, 1 from moved`,
      [eventId],
    );
  };
  await redriven("stayed", 4, "status = 'REDRIVEN', confirmed_at = now() - interval '1 hour'");
  await redriven("came-back", 4, "bounces = 1, redrives = 1");
  await redriven("sent", 4, "status = 'REDRIVEN'");
  await redriven("soon", 4.9, "status = 'REDRIVEN', confirmed_at = now() - interval '1 hour'");
  await db.run("update dlq_events set admission = 'early' where event_id = 'marked'");
  const late = { filter: { source: ["orders"], errorCode: ["LATE"] } };
  const trial = await attempt(late);
  expect(trial).toMatchObject({
    ...{ checked: 7, bounded: false, taken: 4, stayed: 1, cameBack: 1, sent: 1, never: 1 },
    ...{ left: 1, waits: 1, limited: 0, marked: 1 },
  });
  expect(trial.samples.map(({ eventId, outcome }) => [eventId, outcome]).sort()).toEqual([
    ["came-back", "came-back"],
    ["never", "never"],
    ["sent", "sent"],
    ["stayed", "stayed"],
  ]);
  // The group succeeded an hour ago: until then the rule would have waited, and by then only one was left to it.
  const careful = await attempt({ ...late, onlyIf: { groupSucceeded: true } });
  expect(careful).toMatchObject({ taken: 1, never: 1, left: 4, waits: 1 });
  const strict = await attempt({ ...late, limits: { eventsPerRun: 2, eventsPerHour: 2, eventsPerDay: 2 } });
  expect(strict).toMatchObject({ taken: 2, limited: 2 });
});
