import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import * as one from "@/app/(events)/api/v1/events/[id]/route";
import * as events from "@/app/(events)/api/v1/events/route";
import * as metrics from "@/app/(observe)/metrics/route";
import * as preview from "@/app/(redrive)/api/v1/redrives/preview/route";
import * as redrives from "@/app/(redrive)/api/v1/redrives/route";
import type { EventDetail, ParkAnswer } from "@/lib/events/events.shapes";
import { systemViewer } from "@/lib/guard/viewer/viewer.pure";
import type { ChangedRule, RuleDetail, RuleList, Trial } from "@/lib/intake/admission/admission.shapes";
import { parkEvents } from "@/lib/intake/park-events";
import { foldRollups } from "@/lib/observe/rollups/fold-rollups.write";
import { removeExpired } from "@/lib/observe/rollups/upkeep.write";
import { systemClock } from "@/lib/platform/clock";
import { createDb, type Db } from "@/lib/platform/database/db";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource, deadLetter } from "@/lib/testing/letters";
import { auditGaps, rollupDrift } from "@/lib/testing/rollup-drift";
import * as rule from "./api/v1/admission-rules/[id]/route";
import * as rules from "./api/v1/admission-rules/route";
import * as trying from "./api/v1/admission-rules/try/route";

let web: TestConsole;
/** Another process: a worker with its own connections and its own copy of the rules. */
let worker: Db;
beforeAll(async () => {
  web = await testConsole();
  worker = createDb(web.database.url, { max: 4 });
});
afterAll(async () => {
  const found = [await rollupDrift(worker), await auditGaps(worker)];
  await worker.end();
  await web.close();
  expect(found).toEqual([[], []]);
});

let source: string;
let sourceId: string;
let tests = 0;
beforeEach(async () => {
  source = `source-${++tests}`;
  sourceId = await addSource(worker, source);
});

type RuleDraft = Record<string, unknown>;
/** Puts a parked event through what a delivery would have done to it, with its rollups. */
const REDRIVEN = `with was as (select id, status from dlq_events where source_id = $1 and event_id = $2)
  , moved as (update dlq_events e set status = 'REDRIVEN' from was where e.id = was.id returning e.*)
  , levels as (insert into dlq_levels select source_id, error_code, s, date_trunc('hour', first_seen, 'UTC'), n
                 from moved, (values ('PENDING', -1), ('REDRIVEN', 1)) d (s, n))
  , flow as (insert into dlq_flow (minute, source_id, error_code, fingerprint, kind, n)
             select date_trunc('minute', now(), 'UTC'), source_id, error_code, fingerprint, 'redriven', 1 from moved)
  insert into dlq_group_levels select fingerprint, source_id, s, n from moved, (values ('PENDING', -1), ('REDRIVEN', 1)) d (s, n)`;
const NOISE = [{ field: "errorCode", is: "equals", value: "NOISE" }];

async function create(draft: RuleDraft): Promise<ChangedRule> {
  const body = { name: `rule ${++tests}`, source, enabled: true, reason: "tested", when: [], ...draft };
  const answer = await web.call<ChangedRule>(rules.POST, { body });
  expect(answer.body).toMatchObject({ name: body.name });
  expect(answer.status).toBe(201);
  return answer.body;
}
const change = (id: string, body: RuleDraft) =>
  web.call<ChangedRule>(rule.PATCH, { method: "PATCH", params: { id }, body: { reason: "tested", ...body } });
const detail = async (id: string) => (await web.call<RuleDetail>(rule.GET, { params: { id } })).body;

/** Parks in the process of `db`, whose clock may be ahead of the web's. */
const park = (letters: Partial<DeadLetter>[], db = worker, aheadMs = 0) =>
  parkEvents(
    { db, clock: { ...systemClock, wallMs: () => systemClock.wallMs() + aheadMs } },
    letters.map((letter) => ({ source, letter: deadLetter({ aggregateId: null, version: null, ...letter }) })),
    systemViewer(`source:${source}`),
  );
const post = async (...sent: object[]) => {
  const body = sent.map((each) => ({ source, errorCode: "TIMEOUT", payload: {}, ...each }));
  return (await web.call<ParkAnswer>(events.POST, { body })).body;
};
type Row = { id: string; eventId: string; errorCode: string; admission: string | null; fingerprint: string };
const stored = () =>
  worker.query<Row>(
    `select id, event_id as "eventId", error_code as "errorCode", admission, fingerprint
       from dlq_events where source_id = $1 order by event_id`,
    [sourceId],
  );
const audits = (id: string) =>
  worker.query<{ action: string; after: Record<string, unknown> }>(
    "select action, after from audit_entries where subject_kind = 'rule' and subject_id = $1 order by id",
    [id],
  );

describe("an arrival that a rule matches", () => {
  test("gets its error code, group and mark, on every way in, and the event names the rule", async () => {
    const { id } = await create({
      name: "stock is gone",
      when: [{ field: "errorType", is: "endsWith", value: "StockException" }],
      do: { errorCode: { from: "body", pointer: "/code" }, group: "stock", park: "early" },
    });
    await create({
      do: { group: "others" },
      when: [{ field: "errorCode", is: "glob", value: "STOCK_*" }],
      source: null,
      enabled: false,
    });
    const error = { type: "com.acme.StockException", message: "left: 7" };
    await post(
      { eventId: "by-http", error, payload: { code: "STOCK_EMPTY" } },
      { eventId: "other", error: { type: "X" } },
    );
    await park([
      { eventId: "by-worker", payload: Buffer.from('{"code": "STOCK_EMPTY"}'), error: { ...error, stack: "at a.b.C" } },
    ]);
    const [byHttp, byWorker, other] = await stored();
    expect([byHttp, byWorker]).toMatchObject([
      { errorCode: "STOCK_EMPTY", admission: "early" },
      { errorCode: "STOCK_EMPTY", admission: "early" },
    ]);
    expect(byHttp!.fingerprint).toBe(byWorker!.fingerprint);
    expect(other).toMatchObject({ errorCode: "TIMEOUT", admission: null });
    const { body } = await web.call<EventDetail>(one.GET, { params: { id: byHttp!.id } });
    expect(body.admission).toBe("early");
    expect(body.admitted).toEqual({
      rules: [{ id, name: "stock is gone", version: 1 }],
      arrivedAs: "TIMEOUT",
      group: "stock",
    });
    expect(body.group).toMatchObject({ pattern: "stock", parked: 2 });
    expect((await detail(id)).lastHour).toEqual({ matched: 2, dropped: 0, failed: 0 });
  });

  test("is judged by the rules of its own source and of all, in their order", async () => {
    await create({ do: { errorCode: { value: "FIRST" } } });
    const all = await create({
      source: null,
      when: [{ field: "errorCode", is: "equals", value: "FIRST" }],
      do: { park: "confirm" },
    });
    const late = await create({ do: { errorCode: { value: "LATE" } } });
    await park([{ eventId: "a" }]);
    expect((await stored())[0]).toMatchObject({ errorCode: "LATE", admission: "confirm" });
    // Before all others, the rule of every source no longer finds the code.
    await change(late.id, { position: 1 });
    await change(all.id, { position: 1 });
    await park([{ eventId: "b" }]);
    expect((await stored())[1]).toMatchObject({ errorCode: "FIRST", admission: null });
    await change(all.id, { enabled: false });
  });
});

describe("a message that a rule drops", () => {
  test("is acknowledged, counted once and sampled, and not stored", async () => {
    const { id } = await create({ when: NOISE, do: { drop: true } });
    const noise = { errorCode: "NOISE", error: { type: "Heartbeat", message: "tick of 10.0.0.7" } };
    expect(await post({ eventId: "n-1", ...noise }, { eventId: "kept" }, { eventId: "n-1", ...noise })).toMatchObject({
      accepted: 1,
      dropped: 1,
      duplicates: 1,
    });
    // Delivered again, to another process.
    expect(
      await park([
        { eventId: "n-1", errorCode: "NOISE" },
        { eventId: "n-2", errorCode: "NOISE" },
      ]),
    ).toEqual(["duplicate", "dropped"]);
    expect((await stored()).map(({ eventId }) => eventId)).toEqual(["kept"]);
    const shown = await detail(id);
    expect(shown.lastHour).toEqual({ matched: 0, dropped: 2, failed: 0 });
    expect(shown.samples).toMatchObject([
      {
        outcome: "dropped",
        source,
        eventId: "n-1",
        errorCode: "NOISE",
        errorType: "Heartbeat",
        errorMessage: "tick of 10.0.0.7",
      },
    ]);
    expect((await web.call(metrics.GET)).text).toContain(`admission_24h{source="${source}",outcome="dropped"} 2`);
    // The log of counts folds into the same numbers.
    await foldRollups(worker);
    expect((await detail(id)).lastHour).toEqual({ matched: 0, dropped: 2, failed: 0 });
    const rows = await worker.query("select 1 from admission_counts where rule_id = $1", [id]);
    expect(rows).toHaveLength(1);
  });

  test("of an event that is stored is a duplicate, and a bounce is never dropped", async () => {
    await park([
      { eventId: "known", errorCode: "NOISE" },
      { eventId: "sent", errorCode: "NOISE" },
    ]);
    const { id } = await create({ when: NOISE, do: { drop: true } });
    await worker.run(REDRIVEN, [sourceId, "sent"]);
    const redrive = { redriveId: "019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a50", attempt: 1 };
    expect(
      await park([
        { eventId: "known", errorCode: "NOISE" },
        { eventId: "sent", errorCode: "NOISE" },
        // Marked as sent by Parkade: its event has left the store.
        { eventId: "gone", errorCode: "NOISE", redrive },
      ]),
    ).toEqual(["duplicate", "bounced", "parked"]);
    expect((await detail(id)).lastHour.dropped).toBe(0);
  });

  test("that comes back is judged anew: its code, group and mark are those of the last arrival", async () => {
    const broken = { field: "errorMessage", is: "contains", value: "broken" };
    await create({ when: [broken], do: { errorCode: { value: "BROKEN" }, group: "broken", park: "early" } });
    await park([{ eventId: "e", errorCode: "TIMEOUT" }]);
    await worker.run(REDRIVEN, [sourceId, "e"]);
    const comesBack = (message: string) =>
      park([{ eventId: "e", errorCode: "TIMEOUT", error: { type: null, message, stack: null } }]);
    expect(await comesBack("payload is broken")).toEqual(["bounced"]);
    expect(await stored()).toMatchObject([{ errorCode: "BROKEN", admission: "early" }]);
    const [{ id }] = (await stored()) as [Row];
    const { body } = await web.call<EventDetail>(one.GET, { params: { id } });
    expect(body).toMatchObject({ admitted: { arrivedAs: "TIMEOUT", group: "broken" }, group: { pattern: "broken" } });
    await worker.run(REDRIVEN, [sourceId, "e"]);
    expect(await comesBack("slow again")).toEqual(["bounced"]);
    expect(await stored()).toMatchObject([{ errorCode: "TIMEOUT", admission: null }]);
  });

  test("is remembered for an hour, and samples stay few", async () => {
    const { id } = await create({ when: NOISE, do: { drop: true } });
    await park([{ eventId: "n", errorCode: "NOISE" }]);
    await worker.run("update admission_drops set at = now() - interval '61 minutes' where source_id = $1", [sourceId]);
    await worker.run(
      `insert into admission_samples (id, rule_id, source_id, outcome, event_id, error_code, at)
       select gen_random_uuid(), rule_id, source_id, outcome, event_id, error_code, at
         from admission_samples, generate_series(1, 40) where rule_id = $1`,
      [id],
    );
    await removeExpired(worker);
    expect(await park([{ eventId: "n", errorCode: "NOISE" }])).toEqual(["dropped"]);
    expect((await detail(id)).lastHour.dropped).toBe(2);
    const samples = await worker.query("select 1 from admission_samples where rule_id = $1", [id]);
    expect(samples).toHaveLength(20);
  });
});

describe("a rule that changes while messages arrive", () => {
  test("holds from its change on, in every process", async () => {
    const park2 = () => park([{ eventId: `e-${++tests}` }], web.deps.db);
    await Promise.all([park([{ eventId: "before" }]), park2()]);
    const { id } = await create({ do: { park: "early" } });
    await Promise.all([park([{ eventId: "on" }]), park2()]);
    await change(id, { enabled: false });
    await Promise.all([park([{ eventId: "off" }]), park2()]);
    await web.call(rule.DELETE, { method: "DELETE", params: { id } });
    const marks = new Map((await stored()).map(({ eventId, admission }) => [eventId, admission]));
    expect([marks.get("before"), marks.get("on"), marks.get("off")]).toEqual([null, "early", null]);
    expect([...marks.values()].filter((mark) => mark === "early")).toHaveLength(2);
  });

  test("splits no batch, and loses no event, while two processes park and a person switches it", async () => {
    const { id } = await create({ do: { errorCode: { value: "RULED" } } });
    const batches = Array.from({ length: 24 }, (_, batch) => {
      const letters = Array.from({ length: 20 }, (_, index) => ({ eventId: `b${batch}-${index}`, errorCode: "RAW" }));
      return () => park(letters, batch % 2 === 0 ? worker : web.deps.db);
    });
    const switching = (async () => {
      for (let times = 0; times < 6; times++) await change(id, { enabled: times % 2 === 1 });
    })();
    const outcomes = await Promise.all(batches.map((batch) => batch()));
    await switching;
    expect(outcomes.flat().filter((outcome) => outcome !== "parked")).toEqual([]);
    const codes = Map.groupBy(await stored(), ({ eventId }) => eventId.split("-")[0]);
    expect(codes.size).toBe(24);
    for (const [batch, rows] of codes)
      expect([batch, new Set(rows.map(({ errorCode }) => errorCode)).size]).toEqual([batch, 1]);
  });
});

describe("a rule that cannot be applied", () => {
  test("never keeps an event away: what is stored is no rule of this version", async () => {
    const { id } = await create({ when: NOISE, do: { drop: true } });
    for (const body of [
      { when: [{ field: "mood" }], do: {} },
      { when: "*", do: 7 },
      { when: [], do: { drop: true } },
    ]) {
      await worker.run("update admission_rules set body = $2 where id = $1", [id, body]);
      await worker.run("update admission_revision set revision = revision + 1");
      expect(await park([{ eventId: `n-${++tests}`, errorCode: "NOISE" }])).toEqual(["parked"]);
    }
    const { when, fault } = await detail(id);
    expect({ when, fault }).toEqual({ when: null, fault: expect.stringContaining("when: a rule that drops needs") });
    expect((await web.call<RuleList>(rules.GET)).status).toBe(200);
    // It can be repaired.
    expect((await change(id, { when: NOISE, do: { drop: true } })).status).toBe(200);
    expect(await park([{ eventId: "m", errorCode: "NOISE" }])).toEqual(["dropped"]);
  });
});

describe("a version that is older than a processed one", () => {
  const version = (eventId: string, number: bigint, aggregateId = "order-1") => ({
    eventId,
    aggregateId,
    version: number,
  });

  test("is marked when it arrives, by the report of a consumer and by a confirmed redrive", async () => {
    await park([version("v5", 5n), version("w5", 5n, "order-2")]);
    await worker.run(
      `insert into processed_events (consumer, source_id, event_id, aggregate_type, aggregate_id, version)
       values ('stock', $1, 'v5', 'order', 'order-1', 5)`,
      [sourceId],
    );
    await worker.run(
      `with moved as (
         update dlq_events set status = 'REDRIVEN', confirmed_at = now() where source_id = $1 and event_id = 'w5' returning *)
       , levels as (insert into dlq_levels select source_id, error_code, s, date_trunc('hour', first_seen, 'UTC'), n
                      from moved, (values ('PENDING', -1), ('REDRIVEN', 1)) d (s, n))
       , flow as (insert into dlq_flow (minute, source_id, error_code, fingerprint, kind, n)
                  select date_trunc('minute', now(), 'UTC'), source_id, error_code, fingerprint, k, 1
                    from moved, unnest('{redriven,confirmed}'::text[]) k)
       , confirmed as (insert into aggregates (source_id, aggregate_type, aggregate_id, confirmed_version, confirmed_event)
                       select source_id, aggregate_type, aggregate_id, version, id from moved)
       insert into dlq_group_levels select fingerprint, source_id, s, n from moved, (values ('PENDING', -1), ('REDRIVEN', 1)) d (s, n)`,
      [sourceId],
    );
    await park([version("v4", 4n), version("v6", 6n), version("w4", 4n, "order-2"), version("x1", 1n, "order-3")]);
    const marks = Object.fromEntries((await stored()).map(({ eventId, admission }) => [eventId, admission]));
    expect(marks).toEqual({ v4: "superseded", v5: null, v6: null, w4: "superseded", w5: null, x1: null });
    const [v4] = await stored();
    const { body } = await web.call<EventDetail>(one.GET, { params: { id: v4!.id } });
    expect(body.admitted).toEqual({
      rules: [],
      finding: "version 5 of the aggregate was already processed; this is version 4",
    });
    expect((await web.call<RuleList>(rules.GET)).body.superseded).toEqual({ lastHour: 2, lastDay: 2 });
  });
});

describe("a redrive of marked events", () => {
  const redriveOf = async (body: object) => {
    const [shown, made] = [
      await web.call<{ eligible: number; refused: object }>(preview.POST, { body: { ...body, sample: false } }),
      await web.call<{ total: number; refusedByReason: object }>(redrives.POST, {
        body: { ...body, mode: "verify", reason: "tested" },
        headers: { "idempotency-key": `k-${++tests}` },
      }),
    ];
    return [shown.body.eligible, shown.body.refused, made.body.refusedByReason];
  };

  test("refuses them, in the preview and in the freeze, unless it says that it sends them", async () => {
    await create({ when: [{ field: "errorCode", is: "equals", value: "BAD" }], do: { park: "early" } });
    await create({ when: [{ field: "errorCode", is: "equals", value: "RISKY" }], do: { park: "confirm" } });
    await park(["BAD", "BAD", "RISKY", "FINE"].map((errorCode, index) => ({ eventId: `e-${index}`, errorCode })));
    const select = { filter: { source: [source] } };
    const both = { "parked-early": 2, "needs-confirmation": 1 };
    expect(await redriveOf({ select, mode: "verify" })).toEqual([1, both, both]);
    const ids = { ids: (await stored()).filter(({ errorCode }) => errorCode !== "FINE").map(({ id }) => id) };
    expect(await redriveOf({ select: ids, despite: ["needs-confirmation"] })).toEqual([
      1,
      { "parked-early": 2 },
      { "parked-early": 2 },
    ]);
    const [early] = await stored();
    expect(await redriveOf({ select: { ids: [early!.id] }, despite: ["parked-early"] })).toEqual([1, {}, {}]);
    const [entry] = await worker.query<{ after: { despite: string[] } }>(
      "select after from audit_entries where action = 'redrive.requested' order by id desc limit 1",
    );
    expect(entry!.after.despite).toEqual(["parked-early"]);
  });
});

describe("a try", () => {
  const draft = {
    when: [{ field: "errorMessage", is: "contains", value: "503" }],
    do: { errorCode: { value: "UPSTREAM" }, park: "early" },
  };
  const tryIt = async (body: object) => (await web.call<Trial>(trying.POST, { body })).body;

  test("says what a rule would do to the newest events, and changes nothing", async () => {
    await park([
      { eventId: "a", errorCode: "X" },
      { eventId: "b", errorCode: "Y", error: { type: null, message: "other", stack: null } },
      { eventId: "c", errorCode: "UPSTREAM" },
    ]);
    const before = await stored();
    const trial = await tryIt({ rule: { source, ...draft } });
    expect(trial).toMatchObject({ checked: 3, matched: 2, changed: 2, dropped: 0, failed: 0 });
    expect(trial.samples.map(({ eventId, before, after }) => [eventId, before, after])).toEqual([
      ["c", { errorCode: "UPSTREAM", group: null, mark: null }, { errorCode: "UPSTREAM", group: null, mark: "early" }],
      ["a", { errorCode: "X", group: null, mark: null }, { errorCode: "UPSTREAM", group: null, mark: "early" }],
    ]);
    expect(await tryIt({ rule: { source, ...draft }, newest: 1 })).toMatchObject({ checked: 1 });
    expect(await tryIt({ rule: { source, when: draft.when, do: { drop: true } } })).toMatchObject({
      matched: 2,
      dropped: 2,
      samples: [{ after: null }, { after: null }],
    });
    expect(await stored()).toEqual(before);
  });

  test("of a rule in force compares with the letter as it arrived", async () => {
    const { id } = await create(draft);
    // Two processes measure the clock of the store with a difference of up to a second.
    await park([{ eventId: "a", errorCode: "X" }], worker, 1_000);
    const trial = await tryIt({ id, rule: { source, when: draft.when, do: { errorCode: { value: "NEW" } } } });
    expect(trial.samples).toMatchObject([{ before: { errorCode: "X", mark: null }, after: { errorCode: "NEW" } }]);
  });

  test("is made whenever a rule is switched on, and the audit keeps it", async () => {
    await park([{ eventId: "a" }, { eventId: "b" }]);
    const { id, trial } = await create({ ...draft, enabled: false });
    expect(trial).toBeNull();
    const { body } = await change(id, { enabled: true });
    expect(body.trial).toMatchObject({ checked: 2, matched: 2 });
    await change(id, { enabled: false });
    await change(id, { when: NOISE });
    await web.call(rule.DELETE, { method: "DELETE", params: { id } });
    const entries = await audits(id);
    expect(entries.map(({ action }) => action)).toEqual([
      "rule.created",
      "rule.enabled",
      "rule.disabled",
      "rule.changed",
      "rule.deleted",
    ]);
    expect(entries[1]!.after).toMatchObject({ enabled: true, tried: { checked: 2, matched: 2, dropped: 0 } });
    expect(entries[3]!.after).toMatchObject({ version: 2 });
    const versions = await worker.query(
      "select version, reason from admission_rule_versions where rule_id = $1 order by 1",
      [id],
    );
    expect(versions).toEqual([
      { version: 1, reason: "tested" },
      { version: 2, reason: "tested" },
    ]);
  });
});

describe("a request that is wrong names the field and the fix", () => {
  const faults = async (body: RuleDraft) => {
    const answer = await web.call<{ errors: { field: string; detail: string }[] }>(rules.POST, {
      body: { name: "x", source, reason: "r", when: [], do: { park: "early" }, ...body },
    });
    return [answer.status, answer.body.errors?.map(({ field, detail }) => `${field}: ${detail}`)];
  };

  test.each<[string, RuleDraft, string]>([
    ["an unknown field", { when: [{ field: "mood", is: "present" }] }, "when[0].field: field must be one of errorCode"],
    [
      "an unknown test",
      { when: [{ field: "errorCode", is: "matches", value: "(a+)+$" }] },
      "when[0].is: must be one of equals",
    ],
    ["no value", { when: [{ field: "errorCode", is: "equals" }] }, "when[0].value: is missing: must be text"],
    [
      "an empty value",
      { when: [{ field: "errorCode", is: "contains", value: "" }] },
      "when[0].value: must not be empty",
    ],
    [
      "a path that is no pointer",
      { when: [{ field: "body", pointer: "order.id", is: "present" }] },
      "when[0].pointer: must be a JSON pointer",
    ],
    [
      "a header without a name",
      { when: [{ field: "header", is: "present" }] },
      "when[0].name: is missing: must be text",
    ],
    [
      "a number as text",
      { when: [{ field: "attempts", is: "above", value: "3" }] },
      "when[0].value: must be a whole number",
    ],
    ["too many conditions", { when: Array.from({ length: 11 }, () => NOISE[0]) }, "when: at most 10 conditions"],
    ["nothing to do", { do: {} }, "do: must say what to do"],
    ["a drop with something else", { when: NOISE, do: { drop: true, park: "early" } }, "do: drop cannot be combined"],
    ["a drop of everything", { do: { drop: true } }, "when: a rule that drops needs a condition"],
    [
      "an error code from nowhere",
      { do: { errorCode: { from: "mood" } } },
      "do.errorCode.from: must be errorType, header or body",
    ],
    ["no reason", { reason: " " }, "reason: say why"],
  ])("%s", async (_name, draft, expected) => {
    const [status, errors] = await faults(draft);
    expect(errors).toEqual([expect.stringContaining(expected)]);
    expect(status).toBe(400);
  });

  test("a source that does not exist, a name that is taken, a version that has passed", async () => {
    expect((await faults({ source: "nowhere" }))[0]).toBe(404);
    const { id, name } = await create({ do: { park: "early" } });
    expect(await faults({ name })).toEqual([409, ["name: is taken"]]);
    expect((await change(id, { name: `${name} b`, version: 1 })).body.version).toBe(2);
    const late = await change(id, { enabled: false, version: 1 });
    expect([late.status, late.body]).toMatchObject([
      409,
      { code: "illegal-transition", detail: "The rule has version 2 now: read it again" },
    ]);
    const whole = await change(id, { do: { drop: true } });
    expect([whole.status, whole.body]).toMatchObject([400, { errors: [{ field: "when" }] }]);
  });

  test("more rules than a source may have", async () => {
    await worker.run(
      `insert into admission_rules (id, position, name, source, version, body, created_by, updated_by)
       select gen_random_uuid(), 1000 + n, $1 || n, $1, 1, '{"when": [], "do": {"park": "early"}}', 't', 't' from generate_series(1, 50) n`,
      [source],
    );
    expect(await faults({})).toEqual([400, ["source: at most 50 rules"]]);
    await worker.run("delete from admission_rules where source = $1", [source]);
  });
});
