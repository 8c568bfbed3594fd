import { describe, expect, test } from "vitest";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { shownCheck } from "@/lib/guard/audit-chain/chain.pure";
import { sealEntries } from "@/lib/guard/audit-chain/seal-entries";
import { readChain } from "@/lib/guard/audit-chain/verifications.read";
import { workVerifications } from "@/lib/guard/audit-chain/work-verifications";
import { localViewer, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { silenceChannels } from "@/lib/keep/backup/silence-channels.write";
import { acknowledgeAlerts } from "@/lib/observe/alerts/acknowledge-alerts";
import { countAlerts, listAlerts } from "@/lib/observe/alerts/alerts.read";
import { type Evaluation, evaluateAlerts } from "@/lib/observe/alerts/evaluate-alerts";
import type { AlertWatch } from "@/lib/observe/alerts/kinds/alert-kinds.pure";
import { addAlertRule, changeAlertRule, removeAlertRule } from "@/lib/observe/alerts/rules/alert-rules";
import { alertRuleRequestSchema } from "@/lib/observe/alerts/rules/alert-rules.shapes";
import type { AlertMessage } from "@/lib/observe/channels/alert-message.pure";
import { addChannel } from "@/lib/observe/channels/channels";
import { channelRequestSchema } from "@/lib/observe/channels/channels.shapes";
import { readStatus } from "@/lib/observe/health/status.read";
import { beginMaintenance, endMaintenance } from "@/lib/observe/maintenance/maintenances";
import { readMetrics } from "@/lib/observe/metrics/metrics.read";
import type { Clock } from "@/lib/platform/clock";
import type { Db } from "@/lib/platform/database/db";
import { writeConsumer } from "@/lib/sources/source-consumers.write";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const world = worldOfEachTest();
const ADA = localViewer("ada");
const CLERK: Viewer = { name: "clerk", means: "session", sources: ["billing"], actions: "all" };
const MINUTE = 60_000;

/** Evaluates at once, on a clock that may be ahead of the store's. */
function evaluate({ aheadMs = 0, db = world.db }: { aheadMs?: number; db?: Db } = {}): Promise<Evaluation | null> {
  const clock: Clock = { ...world.deps.clock, wallMs: () => world.deps.clock.wallMs() + aheadMs };
  return evaluateAlerts({ ...world.deps, db, clock, publicUrl: "https://parkade.example.com" });
}

async function onlyRule(watch: Partial<AlertWatch> & Pick<AlertWatch, "kind">, severity = "warning"): Promise<string> {
  await world.db.run("delete from alert_rules");
  const request = alertRuleRequestSchema.parse({ name: "Tested", severity, watch: { clearMs: 0, ...watch } });
  return (await addAlertRule({ ...world.deps, expires: true }, request, ADA)).id;
}

async function channel(name: string, change: object = {}): Promise<void> {
  const request = channelRequestSchema.parse({
    ...{ name, severities: ["critical", "warning"], config: { kind: "webhook", url: "https://ops.example.com/" } },
    ...change,
  });
  await addChannel({ ...world.deps, limits: world.deps.env }, request, ADA);
}

type Told = Pick<AlertMessage, "event" | "sentence" | "firing"> & { channel: string; message: AlertMessage };
const told = async (): Promise<Told[]> => {
  const rows = await world.db.query<{ channel: string; message: AlertMessage }>(
    `select c.name as channel, convert_from(o.payload, 'UTF8')::jsonb as message
       from alert_outbox o join alert_channels c on c.id::text = o.destination order by o.seq`,
  );
  return rows.map(({ channel: to, message }) => ({ channel: to, message, ...message }));
};
const events = async () => (await told()).map(({ event }) => event);
const alerts = async (viewer: Viewer = ADA, state: string | null = null) =>
  (await listAlerts(world.db, viewer, { limit: 50, cursor: null, state, source: null, rule: null }, (name) => name))
    .items;

const NEW_GROUP = { kind: "new-group", atLeast: 5, quietMs: 24 * 60 * MINUTE } as const;
const timeouts = (index: number) => ({
  eventId: `t-${index}`,
  errorCode: "TIMEOUT",
  error: { type: null, message: `stock ${index} timed out, token=sk_live_abcdef1234567890`, stack: null },
});

/** A regular check, this much later. */
async function checkAudit(aheadMs: number): Promise<void> {
  const clock: Clock = { ...world.deps.clock, wallMs: () => world.deps.clock.wallMs() + aheadMs };
  await sealEntries(world.db);
  await workVerifications({ db: world.db, clock, log: world.deps.log, places: [] });
}

async function auditVerdicts() {
  const metrics = await readMetrics(world.db, ADA, world.deps.clock.wallMs());
  const { samples } = metrics.find(({ name }) => name === "parkade_audit_good")!;
  return {
    metric: samples.map(({ value }) => value),
    alert: (await alerts()).map(({ state }) => state),
    page: shownCheck(await readChain(world.db, ADA))?.good,
  };
}

describe("an alert", () => {
  test("of the audit fires when a check found something, is for viewers of all sources, and ends with metric and page", async () => {
    await onlyRule({ kind: "audit" }, "critical");
    await channel("ops");
    await evaluate();
    expect(await alerts()).toEqual([]);
    await checkAudit(0);
    expect(await evaluate()).toMatchObject({ fired: 0 });
    await world.db.run("update audit_entries set actor = 'eve'");
    await checkAudit(25 * 60 * MINUTE);
    expect(await evaluate()).toMatchObject({ fired: 1, messages: 1 });
    const sentence = expect.stringMatching(
      /^Verification of the audit log found \d+ faults?, the first: the entry, .+ not what was sealed$/,
    );
    expect(await alerts()).toMatchObject([
      { kind: "audit", state: "firing", severity: "critical", source: null, sentence },
    ]);
    expect(await told()).toMatchObject([{ event: "fired", sentence }]);
    expect(await alerts(CLERK)).toEqual([]);
    // What is new is good: nobody has looked at what was changed again.
    await checkAudit(25 * 60 * MINUTE + 6 * MINUTE);
    await evaluate();
    expect(await readChain(world.db, ADA)).toMatchObject({ last: { extent: "recent", good: true } });
    expect(await auditVerdicts()).toEqual({ metric: [0, 0], alert: ["firing"], page: false });
    await world.db.run("update audit_entries set actor = 'ada'");
    await checkAudit(50 * 60 * MINUTE);
    await evaluate();
    expect(await auditVerdicts()).toEqual({ metric: [1, 1], alert: ["resolved"], page: true });
  });

  test("fires once, is told with samples and groups, and is resolved when its events have left", async () => {
    await onlyRule(NEW_GROUP);
    await channel("ops");
    await world.park(4, timeouts);
    expect(await evaluate()).toMatchObject({ fired: 0, messages: 0 });
    await world.park(3, (index) => timeouts(index + 4));
    expect(await evaluate()).toMatchObject({ fired: 1, messages: 1 });
    expect(await evaluate()).toMatchObject({ fired: 0, messages: 0 });
    const [alert] = await alerts();
    expect(alert).toMatchObject({
      ...{ state: "firing", kind: "new-group", source: "orders", value: 7, severity: "warning" },
      sentence: expect.stringMatching(/^New group in orders: TIMEOUT ".*", 7 events$/),
      evidence: { groups: [{ count: 7, errorCode: "TIMEOUT" }] },
    });
    const [fired] = await told();
    const [first] = fired!.message.alerts;
    expect(fired).toMatchObject({ event: "fired", sentence: alert!.sentence, firing: 1 });
    // What an alert is about is where a person acts: the page of the group, which lists the alert.
    const group = `https://parkade.example.com/groups/${alert!.subject.fingerprint}?source=orders`;
    expect([fired!.message.url, first!.url, first!.groups[0]!.url]).toEqual([group, group, group]);
    expect(fired!.message.runbookUrl).toBe("https://parkade.example.com/runbooks/new-group");
    expect(first!.samples.map(({ eventId }) => eventId)).toEqual(["t-6", "t-5", "t-4"]);
    expect(first!.samples[0]!.url).toMatch(/^https:\/\/parkade\.example\.com\/events\/[0-9a-f-]{36}$/);
    expect(JSON.stringify(fired!.message)).not.toContain("sk_live_abcdef1234567890");

    await ignoreEvents(world.deps, { select: { filter: {} }, reason: "fixed" }, ADA);
    expect(await evaluate()).toMatchObject({ resolved: 1, messages: 1 });
    expect((await alerts())[0]).toMatchObject({ state: "resolved", resolvedBecause: "cleared" });
    expect((await told()).map(({ event, sentence }) => [event, sentence])).toEqual([
      ["fired", alert!.sentence],
      ["resolved", alert!.sentence],
    ]);
    expect(new Set((await told()).map(({ message }) => message.recordKey)).size).toBe(1);
    // What arrived before the end raises no other alert, what comes after does.
    expect(await evaluate()).toMatchObject({ fired: 0 });
    await world.db.run("update alerts set resolved_at = resolved_at - interval '2 minutes'");
    await world.db.run("update dlq_flow set minute = minute - interval '5 minutes'");
    await world.park(5, (index) => timeouts(index + 10));
    expect(await evaluate()).toMatchObject({ fired: 1 });
  });

  test.each([
    ["years behind", "1971-03-01T00:00:00Z"],
    ["years ahead", "2071-03-01T00:00:00Z"],
  ])("goes by the time of arrival where a source's clock is %s", async (_, failedAt) => {
    await onlyRule({ kind: "age", aboveMs: 60 * MINUTE });
    await addAlertRule(
      { ...world.deps, expires: true },
      alertRuleRequestSchema.parse({ name: "New", severity: "warning", watch: { ...NEW_GROUP, clearMs: 0 } }),
      ADA,
    );
    const before = Date.now();
    await world.park(6, (index) => ({ ...timeouts(index), failedAtMs: Date.parse(failedAt) }));
    expect(await evaluate()).toMatchObject({ fired: 1 });
    const [alert] = await alerts();
    expect(alert!.rule.name).toBe("New");
    expect(Math.abs(Date.parse(alert!.since) - before)).toBeLessThan(5 * MINUTE);
  });

  test("waits for its time, and is forgotten when the condition ends before", async () => {
    await onlyRule({ kind: "size", above: 2, perSource: true, forMs: 5 * MINUTE });
    await world.park(3);
    await evaluate();
    expect(await alerts()).toEqual([]);
    expect(await alerts(ADA, "pending")).toHaveLength(1);
    expect(await evaluate({ aheadMs: 4 * MINUTE })).toMatchObject({ fired: 0 });
    await ignoreEvents(world.deps, { select: { filter: {} }, reason: "fixed" }, ADA);
    await evaluate({ aheadMs: 4.5 * MINUTE });
    expect(await alerts(ADA, "pending,firing,resolved")).toEqual([]);
    await world.park(3, (index) => ({ eventId: `again-${index}` }));
    await evaluate({ aheadMs: 5 * MINUTE });
    expect(await evaluate({ aheadMs: 10 * MINUTE })).toMatchObject({ fired: 1 });
  });

  test("lists a group with parked events before one with more arrivals and none parked", async () => {
    await onlyRule({ kind: "size", above: 2, perSource: true });
    await world.park(5, timeouts);
    await ignoreEvents(world.deps, { select: { filter: {} }, reason: "fixed" }, ADA);
    await world.park(3, (index) => ({ eventId: `later-${index}`, errorCode: "LATER" }));
    await evaluate();
    const [alert] = await alerts();
    expect(alert!.evidence.groups.map(({ errorCode, count }) => [errorCode, count])).toEqual([
      ["LATER", 3],
      ["TIMEOUT", 5],
    ]);
  });

  test("that is acknowledged is not repeated, and who did it is on record", async () => {
    await onlyRule({ kind: "size", above: 2, perSource: true, repeatMs: 10 * MINUTE });
    await channel("ops");
    await channel("pager", { config: { kind: "pagerduty", routingKey: "env:PARKADE_SECRET_PD" } });
    await world.park(3);
    await evaluate();
    expect(await evaluate({ aheadMs: 11 * MINUTE })).toMatchObject({ messages: 2 });
    const [alert] = await alerts();
    expect(await acknowledgeAlerts(world.deps, { ids: [alert!.id], note: "on it", acknowledged: true }, ADA)).toEqual({
      changed: 1,
      unchanged: 0,
    });
    expect(await acknowledgeAlerts(world.deps, { ids: [alert!.id], acknowledged: true }, ADA)).toEqual({
      changed: 0,
      unchanged: 1,
    });
    expect(await countAlerts(world.db, ADA)).toEqual({ firing: 1, unacknowledged: 0, worst: null });
    await evaluate({ aheadMs: 30 * MINUTE });
    expect((await told()).slice(4).map(({ channel: to, event }) => [to, event])).toEqual([["pager", "acknowledged"]]);
    expect((await told()).map(({ message }) => message.alerts[0]!.acknowledgedBy)).toEqual([
      ...Array(4).fill(null),
      "ada",
    ]);
    const [entry] = await world.db.query(
      "select action, actor, reason from audit_entries where subject_kind = 'alert'",
    );
    expect(entry).toEqual({ action: "alert.acknowledged", actor: "ada", reason: "on it" });
  });

  test("in a maintenance window is told to nobody, and after it to everybody when it still fires", async () => {
    await onlyRule({ kind: "size", above: 2, perSource: true });
    await channel("ops");
    const until = new Date(Date.now() + 60 * MINUTE).toISOString();
    const { id } = await beginMaintenance(world.deps, { sources: ["orders"], until, reason: "stock moves" }, ADA);
    await world.park(3);
    expect(await evaluate()).toMatchObject({ fired: 1, messages: 0 });
    expect((await alerts())[0]).toMatchObject({ state: "firing", maintenanceUntil: until });
    await endMaintenance(world.deps, id, ADA);
    await expect(endMaintenance(world.deps, id, ADA)).rejects.toMatchObject({ code: "unknown-maintenance" });
    expect(await evaluate()).toMatchObject({ messages: 1 });
    expect(await events()).toEqual(["fired"]);
    const past = new Date(Date.now() - MINUTE).toISOString();
    await expect(beginMaintenance(world.deps, { sources: null, until: past, reason: "x" }, ADA)).rejects.toMatchObject({
      ...{ code: "invalid-window", fields: [{ field: "until" }] },
    });
    const misspelt = beginMaintenance(world.deps, { sources: ["odrers"], until, reason: "x" }, ADA);
    await expect(misspelt).rejects.toMatchObject({
      ...{
        code: "unknown-source",
        message: 'There is no source "odrers": is orders meant?',
        fields: [{ field: "sources" }],
      },
    });
  });

  test("goes to the channels that take its severity and source", async () => {
    await world.source("billing");
    await onlyRule({ kind: "size", above: 2, perSource: true }, "critical");
    await channel("critical", { severities: ["critical"] });
    await channel("warnings", { severities: ["warning"] });
    await channel("billing", { sources: ["billing"] });
    await channel("off", { enabled: false });
    await world.park(3);
    await evaluate();
    await world.park(3, (index) => ({ eventId: `b-${index}` }), "billing");
    await evaluate();
    expect((await told()).map(({ channel: to, firing, sentence }) => [to, firing, sentence.slice(0, 8)])).toEqual([
      ["critical", 1, "orders: "],
      ["critical", 2, "Tested: "],
      ["billing", 1, "billing:"],
    ]);
    expect((await alerts(CLERK)).map(({ source }) => source)).toEqual(["billing"]);
    expect(await countAlerts(world.db, CLERK)).toEqual({ firing: 1, unacknowledged: 1, worst: "critical" });
  });

  test("ends with its rule, and says so to those who were told", async () => {
    const id = await onlyRule({ kind: "size", above: 2, perSource: true });
    await channel("ops");
    await world.park(3);
    await evaluate();
    const deps = { ...world.deps, expires: true };
    await changeAlertRule(deps, { id, change: { name: "Renamed" } }, ADA);
    expect((await alerts())[0]!.state).toBe("firing");
    await changeAlertRule(deps, { id, change: { enabled: false } }, ADA);
    expect((await alerts())[0]).toMatchObject({ state: "resolved", resolvedBecause: "rule-off" });
    await evaluate();
    await changeAlertRule(deps, { id, change: { enabled: true } }, ADA);
    await evaluate();
    await removeAlertRule(deps, { id, reason: "another covers it" }, ADA);
    await evaluate();
    expect(await events()).toEqual(["fired", "resolved", "fired", "resolved"]);
    expect((await alerts()).map(({ resolvedBecause }) => resolvedBecause)).toEqual(["rule-removed", "rule-off"]);
  });
});

describe("evaluations", () => {
  test("of several leaders at once notify once", async () => {
    await onlyRule({ kind: "size", above: 2, perSource: true });
    await channel("ops");
    await world.park(3);
    const made = await Promise.all([evaluate(), evaluate(), evaluate()]);
    expect(made.some((evaluation) => evaluation !== null)).toBe(true);
    expect(await events()).toEqual(["fired"]);
  });

  test("whose worker was overtaken while it read store nothing", async () => {
    await onlyRule({ kind: "size", above: 2, perSource: true });
    await channel("ops");
    await world.park(3);
    let overtaken = false;
    const slow: Db = {
      ...world.db,
      transaction: async (work, options) => {
        if (!overtaken) {
          overtaken = true;
          await evaluate();
        }
        return world.db.transaction(work, options);
      },
    };
    expect(await evaluate({ db: slow })).toBeNull();
    expect(await events()).toEqual(["fired"]);
  });

  describe.each([
    ["back", -60],
    ["forward", 60],
  ])("after the clock of the store was set %s by an hour", (_, minutes) => {
    /** All stored times were written before the clock was set back. */
    const step = async () => {
      const columns = await world.db.query<{ table: string; column: string }>(
        `select c.table_name as "table", c.column_name as "column" from information_schema.columns c
           join information_schema.tables t using (table_schema, table_name)
          where c.table_schema = 'public' and c.data_type = 'timestamp with time zone' and t.table_type = 'BASE TABLE'
            and c.table_name in ('alerts', 'alert_evaluation', 'alert_notices', 'alert_outbox', 'alert_rules')`,
      );
      expect(columns.length).toBeGreaterThan(10);
      for (const { table, column } of columns)
        await world.db.run(`update ${table} set ${column} = ${column} - interval '${minutes} minutes'`);
    };
    test("a new alert is told, the first one repeats, and what has ended is told", async () => {
      await world.source("billing");
      await onlyRule({ kind: "size", above: 2, perSource: true, repeatMs: 10 * MINUTE });
      await channel("ops");
      await world.park(3);
      await evaluate();
      await step();
      await world.park(3, (index) => ({ eventId: `b-${index}` }), "billing");
      expect(await evaluate()).toMatchObject({ fired: 1, messages: 1 });
      expect((await told()).at(-1)).toMatchObject({ event: "fired", firing: 2 });
      await step();
      expect(await evaluate()).toMatchObject({ fired: 0, messages: 1 });
      expect(await events()).toEqual(["fired", "fired", "repeated"]);
      await ignoreEvents(world.deps, { select: { filter: {} }, reason: "fixed" }, ADA);
      await step();
      expect(await evaluate()).toMatchObject({ resolved: 2 });
      expect((await events()).at(-1)).toBe("resolved");
    });

    test("a group whose alert has ended raises another one", async () => {
      await onlyRule(NEW_GROUP);
      await channel("ops");
      await world.park(5, timeouts);
      await evaluate();
      await ignoreEvents(world.deps, { select: { filter: {} }, reason: "fixed" }, ADA);
      await evaluate();
      await step();
      await world.db.run("update dlq_flow set minute = minute - interval '5 minutes'");
      await world.park(5, (index) => timeouts(index + 10));
      expect(await evaluate()).toMatchObject({ fired: 1 });
    });

    test("a consumer that has died since does not count as reading its source", async () => {
      await onlyRule({ kind: "source", states: ["unread"] });
      await world.db.run(`update sources set kind = 'rabbitmq', mode = 'running' where name = 'orders'`);
      const [source] = await world.db.query<{ id: string; modeAt: string }>(
        `select id, mode_at::text as "modeAt" from sources where name = 'orders'`,
      );
      await writeConsumer(world.db, {
        ...{ sourceId: source!.id, worker: "w-1", modeAt: source!.modeAt, ratePerSecond: null, state: "running" },
        ...{ lag: null, parked: 0, parts: [], lastError: null, retryAtMs: null, lastErrorAtMs: null },
      });
      await world.db.run(`update source_consumers set at = at - interval '${minutes} minutes'`);
      expect(await evaluate()).toMatchObject({ fired: 1 });
    });
  });

  test("of a store that was restored begin at once, and notify of what fires once its channels are on again", async () => {
    await onlyRule({ kind: "size", above: 2, perSource: true });
    await channel("ops");
    await world.park(3);
    await evaluate();
    await world.db.transaction(silenceChannels);
    expect(await evaluate()).toMatchObject({ messages: 0 });
    const channelsOff = async () => (await readStatus(world.db, ADA)).trouble!.channelsOff;
    expect(await channelsOff()).toBe(1);
    await world.db.run("update alert_channels set enabled = true");
    expect(await channelsOff()).toBe(0);
    expect(await evaluate()).toMatchObject({ messages: 1 });
    expect(await events()).toEqual(["fired"]);
  });

  test("that are not stored for a minute are on /readyz and in the strip, as is a rule that cannot be evaluated", async () => {
    const fault = async () => (await readStatus(world.db, ADA)).trouble!.alerts;
    const begun = (ago: string) =>
      world.db.run(
        `insert into worker_heartbeats (id, started_at, seen_at, info) values ($1, now() - interval '${ago}', now(), '{}')
         on conflict (id) do update set started_at = excluded.started_at, seen_at = now()`,
        ["0199aaaa-0000-7000-8000-000000000001"],
      );
    const stored = (at: string) => world.db.run(`update alert_evaluation set stored_at = ${at}`);
    await stored("now() - interval '2 minutes'");
    // Without a worker, its absence is reported instead; a worker that has just started gets time for an evaluation.
    expect(await fault()).toBeNull();
    await begun("10 seconds");
    expect(await fault()).toBeNull();
    await begun("2 minutes");
    expect(await fault()).toMatch(/^no alert rule has been evaluated since 20.*Z: nobody is notified$/);
    // One before the clock was set back does not count.
    await stored("now() + interval '1 hour'");
    expect(await fault()).toMatch(/nobody is notified$/);
    const age = (await readMetrics(world.db, ADA, world.deps.clock.wallMs())).find(
      ({ name }) => name === "parkade_alert_evaluation_age_seconds",
    );
    expect(age!.samples[0]!.value).toBeGreaterThan(3_500);
    await evaluate();
    expect(await fault()).toBeNull();
    await world.db.run(
      "update alert_rules set fault = 'its ages could not be read' where name in (select min(name) from alert_rules)",
    );
    expect(await fault()).toBe("1 alert rule cannot be evaluated in full");
  });

  test("write nothing about an alert that says the same", async () => {
    await onlyRule({ kind: "size", above: 2, perSource: true });
    await world.park(3);
    await evaluate();
    const row = () => world.db.query("select xmin::text, ctid::text, sentence from alerts");
    const before = await row();
    await evaluate({ aheadMs: MINUTE });
    expect(await row()).toEqual(before);
    await world.park(1, () => ({ eventId: "one-more" }));
    await evaluate({ aheadMs: 2 * MINUTE });
    expect(await row()).toMatchObject([{ sentence: "orders: 4 events are parked, the limit is 2" }]);
    await ignoreEvents(world.deps, { select: { filter: {} }, reason: "fixed" }, ADA);
    await evaluate({ aheadMs: 3 * MINUTE });
    expect(await alerts(ADA, "resolved")).toMatchObject([{ sentence: "orders: 4 events are parked, the limit is 2" }]);
  });

  test("that break before the commit leave all to the next one", async () => {
    await onlyRule({ kind: "size", above: 2, perSource: true });
    await channel("ops");
    await world.park(3);
    const broken: Db = {
      ...world.db,
      transaction: (work, options) =>
        world.db.transaction(async (tx) => {
          await work(tx);
          throw new Error("the connection is lost");
        }, options),
    };
    await expect(evaluate({ db: broken })).rejects.toThrow("lost");
    expect(await alerts(ADA, "pending,firing")).toEqual([]);
    expect(await events()).toEqual([]);
    expect(await evaluate()).toMatchObject({ fired: 1, messages: 1 });
  });

  test("go on where one kind of facts cannot be read", async () => {
    await onlyRule({ kind: "size", above: 2, perSource: true });
    const other = alertRuleRequestSchema.parse({ name: "Ages", watch: { kind: "age", aboveMs: 60_000 } });
    await addAlertRule({ ...world.deps, expires: false }, other, ADA);
    await world.park(3);
    const query: Db["query"] = (text, ...rest) =>
      text.includes("dlq_level_ages")
        ? Promise.reject(new Error("canceling statement"))
        : world.db.query(text, ...rest);
    expect(await evaluate({ db: { ...world.db, query } })).toMatchObject({ fired: 1 });
    const faults = await world.db.query("select name, fault from alert_rules where fault is not null");
    expect(faults).toEqual([{ name: "Ages", fault: "its ages could not be read: the worker's log says why" }]);
    await evaluate();
    expect(await world.db.query("select 1 from alert_rules where fault is not null")).toEqual([]);
  });

  test("judge no group while the groups of a storm cannot be joined", async () => {
    await onlyRule({ kind: "new-group", atLeast: 1, quietMs: 86_400_000 });
    await world.park(3);
    const query: Db["query"] = (text, ...rest) =>
      text.includes("group_aliases a where a.family")
        ? Promise.reject(new Error("too slow"))
        : world.db.query(text, ...rest);
    expect(await evaluate({ db: { ...world.db, query } })).toMatchObject({ fired: 0 });
    expect(await world.db.query("select fault from alert_rules")).toEqual([
      { fault: "its groups could not be read: the worker's log says why" },
    ]);
    expect(await evaluate()).toMatchObject({ fired: 1 });
  });

  test("of ten thousand alerts make few messages", async () => {
    await world.db.run("delete from alert_rules");
    const deps = { ...world.deps, expires: true };
    for (let index = 0; index < 40; index++) {
      const watch = { kind: "size", above: index, perSource: true };
      await addAlertRule(
        deps,
        alertRuleRequestSchema.parse({ name: `r${index}`, watch: { ...watch, clearMs: 0 } }),
        ADA,
      );
    }
    await channel("ops");
    await world.park(60);
    expect(await evaluate()).toMatchObject({ fired: 40, messages: 20 });
    const all = await told();
    expect(all.at(-1)).toMatchObject({ event: "digest", sentence: "21 more rules fire" });
    await ignoreEvents(world.deps, { select: { filter: {} }, reason: "fixed" }, ADA);
    expect(await evaluate()).toMatchObject({ resolved: 40, messages: 20 });
  });
});

describe("a rule", () => {
  const add = (watch: object, viewer = ADA) =>
    addAlertRule({ ...world.deps, expires: true }, alertRuleRequestSchema.parse({ name: "x", watch }), viewer);

  test("that can never fire is refused", async () => {
    for (const [watch, field, detail] of [
      [{ kind: "size", above: 5, sources: ["order"] }, "watch.sources", /orders meant/],
      [{ kind: "age", aboveMs: 31 * 86_400_000 }, "watch.aboveMs", /never fire/],
      [{ ...NEW_GROUP, forMs: 3_600_000 }, "watch.forMs", /never fire/],
    ] as const)
      await expect(add(watch)).rejects.toMatchObject({
        code: "invalid-config",
        fields: [{ field, detail: expect.stringMatching(detail) }],
      });
  });

  test("is changed by those who see its sources, and in the version that they read", async () => {
    await world.source("billing");
    await expect(add({ kind: "size", above: 5 }, CLERK)).rejects.toMatchObject({ code: "forbidden" });
    const { id } = await add({ kind: "size", above: 5, sources: ["billing"] }, CLERK);
    const deps = { ...world.deps, expires: true };
    await changeAlertRule(deps, { id, change: { severity: "critical", version: 1 } }, CLERK);
    await expect(changeAlertRule(deps, { id, change: { enabled: false, version: 1 } }, CLERK)).rejects.toMatchObject({
      code: "illegal-transition",
    });
    const foreign: Viewer = { ...CLERK, sources: ["orders"] };
    await expect(changeAlertRule(deps, { id, change: { enabled: false } }, foreign)).rejects.toMatchObject({
      code: "unknown-alert-rule",
    });
    await expect(add({ kind: "size", above: 6 })).rejects.toMatchObject({ code: "name-taken" });
  });

  test("of the first start exists for each that needs no numbers of the users, and is judged without a fault", async () => {
    await world.park(3);
    await evaluate();
    const rules = await world.db.query<{ enabled: boolean; fault: string | null }>(
      "select enabled, fault from alert_rules",
    );
    expect(rules.length).toBeGreaterThanOrEqual(11);
    expect(rules.filter(({ enabled, fault }) => !enabled || fault !== null)).toEqual([]);
  });
});
