import { describe, expect, test } from "vitest";
import { mergeGroup, splitGroup } from "@/lib/events/groups/aliases/merge-groups";
import { moveGroups } from "@/lib/events/groups/aliases/move-groups";
import { regroupEvents } from "@/lib/events/groups/aliases/regroup-events";
import { readGroupDetail } from "@/lib/events/groups/group-detail.read";
import { listGroups } from "@/lib/events/groups/group-list.read";
import { muteGroups } from "@/lib/events/groups/mutes/change-group-mute";
import { localViewer, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { evaluateAlerts } from "@/lib/observe/alerts/evaluate-alerts";
import { addAlertRule } from "@/lib/observe/alerts/rules/alert-rules";
import { alertRuleRequestSchema } from "@/lib/observe/alerts/rules/alert-rules.shapes";
import { foldRollups } from "@/lib/observe/rollups/fold-rollups.write";
import type { Db, Tx } from "@/lib/platform/database/db";
import { cutoffOf, readCandidates } from "@/lib/selection/candidates.read";
import { scopeSelection } from "@/lib/selection/scope.shapes";
import { deadLetter } from "@/lib/testing/letters";
import { worldOfEachTest } from "@/lib/testing/redrive-world";
import { rollupDrift } from "@/lib/testing/rollup-drift";
import { dyingDb, slowDb } from "@/lib/testing/troubled-db";

const world = worldOfEachTest();
const ADA = localViewer("ada");
const CLERK: Viewer = { name: "clerk", means: "session", sources: ["billing"], actions: "all" };
const REASON = "one outage of the bank";

/** Events of one error code, whose message names the group. */
async function park(group: string, count: number, { from = 0, source = "orders" } = {}): Promise<string> {
  const error = { type: "BankDown", message: `${group} is away`, stack: null };
  await world.park(count, (index) => ({ eventId: `${group}-${from + index}`, errorCode: "TIMEOUT", error }), source);
  return fingerprintOf(group);
}

async function fingerprintOf(group: string): Promise<string> {
  const [row] = await world.db.query<{ fingerprint: string }>(
    "select fingerprint from dlq_groups where message_pattern = $1",
    [`${group} is away`],
  );
  return row!.fingerprint;
}

const merge = (fingerprint: string, into: string, viewer = ADA) =>
  mergeGroup(world.deps, { fingerprint, request: { into, reason: REASON } }, viewer);
const listed = async () =>
  (await listGroups(world.db, ADA, { filter: {}, limit: 50, cursor: null }, Date.now())).items.map(
    ({ fingerprint, counts }) => [fingerprint, counts.PENDING],
  );
const groupsOfEvents = () =>
  world.db.query("select fingerprint, count(*)::int as n from dlq_events group by 1 order by 2 desc");
const detail = async (fingerprint: string) =>
  (await readGroupDetail(world.db, ADA, { fingerprint, within: {} }, Date.now())).group;

async function selectedBy(fingerprint: string): Promise<number> {
  const selection = scopeSelection(ADA, "view", { filter: { fingerprint: [fingerprint] } });
  const asOfMs = Date.now();
  const page = { selection, asOfMs, cutoff: cutoffOf(selection, asOfMs), after: null, limit: 5_000 };
  return (await readCandidates(world.db, page)).length;
}

describe("a merged group", () => {
  test("is one group with the other: its events, its history, its links, and what arrives later", async () => {
    const bank = await park("bank", 12);
    const till = await park("till", 3);
    await foldRollups(world.db);
    await park("bank", 1, { from: 12 });
    expect(await merge(bank, till)).toEqual({ fingerprint: bank, into: till });
    expect(await groupsOfEvents()).toEqual([{ fingerprint: till, n: 16 }]);
    await park("bank", 1, { from: 20 });
    expect(await listed()).toEqual([[till, 17]]);
    expect(await detail(bank)).toMatchObject({ fingerprint: till, arrivals: { count: 17 } });
    expect(await selectedBy(bank)).toBe(17);
    const until = new Date(Date.now() + 3_600_000).toISOString();
    await muteGroups(world.deps, { fingerprints: [bank], source: null, until, reason: REASON }, ADA);
    expect((await detail(till)).mute).toMatchObject({ reason: REASON });
    const entries = await world.db.query(
      "select actor, subject_id as group, reason, after from audit_entries where action = 'group.merged'",
    );
    expect(entries).toEqual([{ actor: "ada", group: bank, reason: REASON, after: { into: till } }]);
  });

  test("is seen as one before its events have moved, and a redrive takes all of it", async () => {
    const [bank, till] = [await park("bank", 5), await park("till", 2)];
    await world.db.run(
      `insert into group_aliases (fingerprint, target, reason, pattern, created_by) values ($1, $2, 'merge', '', 'ada')`,
      [bank, till],
    );
    expect(await listed()).toEqual([[till, 7]]);
    expect(await selectedBy(till)).toBe(7);
    expect(await world.request({ select: { filter: { fingerprint: [bank] } } })).toMatchObject({ total: 7 });
  });

  test("needs one error code, two groups, and a viewer who sees all events of both", async () => {
    const bank = await park("bank", 1);
    await world.source("billing");
    const till = await park("till", 1, { source: "billing" });
    await world.park(1, () => ({ eventId: "other", errorCode: "OTHER" }));
    const [other] = await world.db.query<{ fingerprint: string }>(
      "select fingerprint from dlq_groups where error_code = 'OTHER'",
    );
    await expect(merge(bank, bank)).rejects.toMatchObject({ code: "invalid-request" });
    await expect(merge(bank, other!.fingerprint)).rejects.toMatchObject({ code: "invalid-request" });
    await expect(merge(bank, "0123456789abcdef")).rejects.toMatchObject({ code: "unknown-group" });
    await expect(merge(till, bank, CLERK)).rejects.toMatchObject({ code: "unknown-group" });
    await park("till", 1, { from: 5 });
    const mint = await park("mint", 1, { source: "billing" });
    const refused = await merge(till, mint, CLERK).catch((error: Error & { code: string }) => error);
    expect(refused).toMatchObject({ code: "forbidden" });
    expect(JSON.stringify(refused)).not.toContain("orders");
    expect(await world.db.query("select 1 from group_aliases")).toEqual([]);
  });
});

describe("a group that is split off", () => {
  test("has its events back, keeps new ones, and takes along what was merged into it before", async () => {
    const [bank, till, mint] = [await park("bank", 300), await park("till", 2), await park("mint", 3)];
    await merge(bank, till);
    await park("bank", 1, { from: 900 });
    await merge(till, mint);
    const { joined } = await readGroupDetail(world.db, ADA, { fingerprint: mint, within: {} }, Date.now());
    expect(joined.total).toBe(2);
    expect(joined.items).toMatchObject([
      { fingerprint: till, pattern: "till is away", reason: "merge", note: REASON, by: "ada" },
      { fingerprint: bank, pattern: "bank is away", reason: "merge" },
    ]);
    await splitGroup(world.deps, till, ADA);
    expect(await groupsOfEvents()).toEqual([
      { fingerprint: till, n: 303 },
      { fingerprint: mint, n: 3 },
    ]);
    await park("bank", 1, { from: 901 });
    expect(await detail(bank)).toMatchObject({
      fingerprint: till,
      pattern: "till is away",
      counts: { PENDING: 304 },
    });
    await splitGroup(world.deps, bank, ADA);
    expect(await listed()).toEqual([
      [bank, 302],
      [mint, 3],
      [till, 2],
    ]);
    await expect(splitGroup(world.deps, bank, ADA)).rejects.toMatchObject({ code: "unknown-group" });
    const entries = await world.db.query(
      "select subject_id as group, before from audit_entries where action = 'group.split' order by id",
    );
    expect(entries).toEqual([
      { group: till, before: { into: mint } },
      { group: bank, before: { into: till } },
    ]);
  });

  test("is not split off by a viewer who does not see all events of the other, nor shown to them", async () => {
    await world.source("billing");
    const bank = await park("bank", 1);
    const till = await park("till", 1, { source: "billing" });
    await merge(bank, till);
    await expect(splitGroup(world.deps, bank, CLERK)).rejects.toMatchObject({ code: "forbidden" });
    const { joined } = await readGroupDetail(world.db, CLERK, { fingerprint: till, within: {} }, Date.now());
    expect(joined).toEqual({ total: 0, items: [] });
  });
});

describe("the move of a group", () => {
  test("keeps the counters equal to a full count after every commit, whoever parks, redrives or dies meanwhile", async () => {
    const bank = await park("bank", 1_200);
    const till = await park("till", 10);
    await foldRollups(world.db);
    const drifts: unknown[] = [];
    let done = false;
    const watch = (async () => {
      while (!done) drifts.push(...(await rollupDrift(world.db)));
    })();
    await world.db.run(
      `insert into group_aliases (fingerprint, target, reason, pattern, created_by) values ($1, $2, 'merge', '', 'ada')`,
      [bank, till],
    );
    await expect(moveGroups(dyingDb(world.db, 2))).rejects.toThrow("killed");
    const left = async () => (await world.db.query("select 1 from dlq_events where fingerprint = $1", [bank])).length;
    expect(await left()).toBe(700);
    // One worker sends them, moves groups and folds, while two others move.
    const redrive = await world.request({ select: { filter: { fingerprint: [till] } } });
    expect(redrive.total).toBe(1_210);
    await world.worker();
    await Promise.all([
      moveGroups(world.db),
      moveGroups(world.db),
      // The process that parks has not seen the alias.
      park("bank", 40, { from: 5_000 }),
      foldRollups(world.db),
    ]);
    expect(await world.ended(redrive.id)).toMatchObject({ delivered: 1_210 });
    // The round of the worker may hold the rollups.
    const unmoved = async () => {
      await moveGroups(world.db);
      return world.db.query("select 1 from dlq_events where fingerprint = $1", [bank]);
    };
    await expect.poll(unmoved).toEqual([]);
    done = true;
    await watch;
    expect(drifts).toEqual([]);
    expect(await groupsOfEvents()).toEqual([{ fingerprint: till, n: 1_250 }]);
    expect(await detail(till)).toMatchObject({ arrivals: { count: 1_250 }, counts: { PENDING: 40, REDRIVEN: 1_210 } });
  });

  test("goes on with a live alert as that of the target", async () => {
    await world.db.run("delete from alert_rules");
    const watch = { kind: "new-group", atLeast: 2, quietMs: 86_400_000, clearMs: 0 };
    const rule = alertRuleRequestSchema.parse({ name: "Tested", severity: "warning", watch });
    await addAlertRule({ ...world.deps, expires: true }, rule, ADA);
    const [bank, till] = [await park("bank", 3), await park("till", 1)];
    const evaluate = () => evaluateAlerts({ ...world.deps, publicUrl: "https://parkade.example.com" });
    const alerts = () => world.db.query("select id, state, key, subject ->> 'fingerprint' as about from alerts");
    expect(await evaluate()).toMatchObject({ fired: 1 });
    const [fired] = await alerts();
    expect(fired).toMatchObject({ state: "firing", key: `${bank}@orders`, about: bank });
    await merge(bank, till);
    expect(await evaluate()).toMatchObject({ fired: 0, resolved: 0 });
    expect(await alerts()).toEqual([{ ...fired, key: `${till}@orders`, about: till }]);
  });

  test("ends a mute rather than spreading it, and forgets the group when it is quiet", async () => {
    const [bank, till] = [await park("bank", 2), await park("till", 2)];
    const until = new Date(Date.now() + 3_600_000).toISOString();
    await muteGroups(world.deps, { fingerprints: [bank], source: null, until, reason: REASON }, ADA);
    await world.db.run("update dlq_groups set first_seen = now() - interval '2 days' where fingerprint = $1", [bank]);
    await merge(bank, till);
    expect((await detail(till)).mute).toBeNull();
    const [since] = await world.db.query<{ old: boolean }>(
      "select first_seen < now() - interval '1 day' as old from dlq_groups where fingerprint = $1",
      [till],
    );
    expect(since).toEqual({ old: true });
    const known = () => world.db.query("select 1 from dlq_groups where fingerprint = $1", [bank]);
    expect(await known()).toHaveLength(1);
    await world.db.run("update dlq_groups set last_seen = now() - interval '2 minutes' where fingerprint = $1", [bank]);
    await world.db.run("update group_aliases set due_at = now()");
    await moveGroups(world.db);
    expect(await known()).toEqual([]);
    const open = () => world.db.query("select 1 from group_aliases where moved_at is null");
    expect(await open()).toEqual([]);
  });

  test("keeps no group waiting for newer ones", async () => {
    const [bank, till] = [await park("bank", 2), await park("till", 1)];
    const alias = (print: string, count: number) =>
      world.db.run(
        `insert into group_aliases (fingerprint, target, reason, pattern, created_by)
         select ${print}, $1, 'storm', '', 'worker' from generate_series(1, ${count}) n`,
        [till],
      );
    // Known groups of a storm that have no events left.
    await world.db.run(
      `insert into dlq_groups (fingerprint, error_code, message_pattern, sample_event, first_seen, last_seen)
       select 'storm-' || n, 'TIMEOUT', '', uuidv7(), now(), now() from generate_series(1, 2500) n`,
    );
    await alias(`'${bank}'`, 1);
    await alias("'storm-' || n", 2_500);
    await moveGroups(world.db);
    expect(await groupsOfEvents()).toEqual([{ fingerprint: till, n: 3 }]);
    await world.db.run("update group_aliases set due_at = now() - interval '1 hour' where fingerprint <> $1", [bank]);
    await world.db.run("update group_aliases set due_at = now() where fingerprint = $1", [bank]);
    await park("bank", 1, { from: 10 });
    await moveGroups(world.db);
    expect(await groupsOfEvents()).toEqual([{ fingerprint: till, n: 4 }]);
  });
});

describe("a batch that began before", () => {
  /** A machine whose wall clock is an hour behind, and whose batch commits only when allowed. */
  async function slowBatch(group: string) {
    const slow = slowDb(world.db);
    const clock = { ...world.deps.clock, wallMs: () => world.deps.clock.wallMs() - 3_600_000 };
    const letter = deadLetter({
      ...{ eventId: `${group}-late`, aggregateId: null, version: null, errorCode: "TIMEOUT" },
      error: { type: "BankDown", message: `${group} is away`, stack: null },
    });
    const arrivals = [{ source: "orders", letter }];
    const parked = parkEvents({ ...world.deps, db: slow.db, clock }, arrivals, localViewer("slow"));
    await slow.worked;
    return async () => {
      slow.commit();
      expect(await parked).toEqual(["parked"]);
    };
  }
  /** What a worker does in several minutes, without waiting. */
  async function rounds(): Promise<void> {
    for (let round = 0; round < 3; round++) {
      await world.db.run(
        "update dlq_groups set last_seen = now() - interval '2 minutes', examined = examined - 'notBefore'",
      );
      await world.db.run("update group_aliases set due_at = now()");
      await moveGroups(world.db);
      await regroupEvents(world.deps);
    }
  }

  test("a merge ends in its target", async () => {
    const [bank, till] = [await park("bank", 2), await park("till", 2)];
    const commit = await slowBatch("bank");
    await merge(bank, till);
    await rounds();
    await commit();
    await rounds();
    expect(await groupsOfEvents()).toEqual([{ fingerprint: till, n: 5 }]);
    expect(await listed()).toEqual([[till, 5]]);
    expect(await rollupDrift(world.db)).toEqual([]);
    // And the group is done with.
    expect(await world.db.query("select 1 from dlq_groups where fingerprint = $1", [bank])).toEqual([]);
    expect(await world.db.query("select 1 from group_aliases where moved_at is null")).toEqual([]);
  });

  test("a split ends in the group that was split off", async () => {
    const [bank, till] = [await park("bank", 2), await park("till", 2)];
    await merge(bank, till);
    const commit = await slowBatch("bank");
    await splitGroup(world.deps, bank, ADA);
    await rounds();
    await commit();
    await rounds();
    expect(await listed()).toEqual([
      [bank, 3],
      [till, 2],
    ]);
    expect(await rollupDrift(world.db)).toEqual([]);
    expect(await world.db.query("select 1 from dlq_groups where examined is not null")).toEqual([]);
  });

  test("rules that change at each of its tries is grouped by the last of them", async () => {
    const [bank, till] = [await park("bank", 2), await park("till", 2)];
    let changes = 0;
    const db: Db = Object.assign(Object.create(world.db), {
      transaction: async (work: (tx: Tx) => Promise<unknown>) => {
        if (++changes === 4) await merge(bank, till);
        else if (changes < 4) await world.db.run("update admission_revision set revision = revision + 1");
        return world.db.transaction(work);
      },
    });
    await rounds();
    const letter = deadLetter({
      ...{ eventId: "bank-hurried", aggregateId: null, version: null, errorCode: "TIMEOUT" },
      error: { type: "BankDown", message: "bank is away", stack: null },
    });
    await parkEvents({ ...world.deps, db }, [{ source: "orders", letter }], localViewer("hurried"));
    expect(changes).toBe(4);
    expect(await groupsOfEvents()).toEqual([{ fingerprint: till, n: 5 }]);
  });
});
