import { expect, test } from "vitest";
import { mergeGroup } from "@/lib/events/groups/aliases/merge-groups";
import { moveGroups } from "@/lib/events/groups/aliases/move-groups";
import { regroupEvents } from "@/lib/events/groups/aliases/regroup-events";
import { readGroupDetail } from "@/lib/events/groups/group-detail.read";
import { muteGroups } from "@/lib/events/groups/mutes/change-group-mute";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { evaluateAlerts } from "@/lib/observe/alerts/evaluate-alerts";
import { addAlertRule } from "@/lib/observe/alerts/rules/alert-rules";
import { alertRuleRequestSchema } from "@/lib/observe/alerts/rules/alert-rules.shapes";
import { foldRollups } from "@/lib/observe/rollups/fold-rollups.write";
import { GROUPING_VERSION } from "@/lib/selection/aliases.sql";
import { GROUP_ARRIVALS, GROUP_FLOW } from "@/lib/states/flow-tables.sql";
import { worldOfEachTest } from "@/lib/testing/redrive-world";
import { rollupDrift } from "@/lib/testing/rollup-drift";
import { dyingDb } from "@/lib/testing/troubled-db";

const world = worldOfEachTest();
const ADA = localViewer("ada");
const OLD = "00000000000000aa";

async function park(group: string, count: number): Promise<string> {
  const error = { type: "BankDown", message: `${group} is away`, stack: null };
  await world.park(count, (index) => ({ eventId: `${group}-${index}`, errorCode: "TIMEOUT", error }));
  return group;
}

const fingerprintOf = async (group: string) =>
  (
    await world.db.query<{ fingerprint: string }>("select fingerprint from dlq_groups where message_pattern = $1", [
      `${group} is away`,
    ])
  )[0]!.fingerprint;
const counts = async () =>
  Object.fromEntries(
    (
      await world.db.query<{ fingerprint: string; n: number }>(
        "select fingerprint, count(*)::int as n from dlq_events group by 1",
      )
    ).map(({ fingerprint, n }) => [fingerprint, n]),
  );

/** What is stored as the first version of the rules left it: these groups were one. */
async function asOneOldGroup(fingerprints: string[]): Promise<void> {
  await foldRollups(world.db);
  const { db } = world;
  for (const table of ["dlq_events", "dlq_group_levels"])
    await db.run(`update ${table} set fingerprint = $2 where fingerprint = any($1)`, [fingerprints, OLD]);
  for (const { table } of [...GROUP_FLOW, ...GROUP_ARRIVALS]) {
    const keys = table.includes("arrival") ? "at" : "at, source_id, error_code";
    await db.run(
      `with gone as (delete from ${table} where fingerprint = any($1) returning *)
       insert into ${table} (${keys}, fingerprint, parked) select ${keys}, $2, sum(parked) from gone group by ${keys}`,
      [fingerprints, OLD],
    );
  }
  await db.run(
    `insert into dlq_groups (fingerprint, error_code, message_pattern, sample_event, first_seen, last_seen)
     select $2, error_code, 'a bank is away', sample_event, first_seen - interval '3 days', last_seen - interval '2 minutes'
       from dlq_groups where fingerprint = $1[1]`.replace("$1[1]", "($1::text[])[1]"),
    [fingerprints, OLD],
  );
  await db.run("delete from dlq_groups where fingerprint = any($1)", [fingerprints]);
  expect(await rollupDrift(db)).toEqual([]);
}

test("events of older rules are grouped again, after a crash as well, with history, mutes and links", async () => {
  await park("bank", 600);
  await park("till", 100);
  const [bank, till] = [await fingerprintOf("bank"), await fingerprintOf("till")];
  await asOneOldGroup([bank, till]);
  const until = new Date(Date.now() + 3_600_000).toISOString();
  const mute = { fingerprints: [OLD], source: null, until, more: 1_000, reason: "known" };
  const [muted] = await muteGroups(world.deps, mute, ADA);
  const dying = { ...world.deps, db: dyingDb(world.db, 2) };
  await expect(regroupEvents(dying)).rejects.toThrow("killed");
  expect(await rollupDrift(world.db)).toEqual([]);
  expect(await counts()).toEqual({ [OLD]: 450, [bank]: 250 });
  await Promise.all([regroupEvents(world.deps), regroupEvents(world.deps), foldRollups(world.db)]);
  await regroupEvents(world.deps);
  expect(await counts()).toEqual({ [bank]: 600, [till]: 100 });
  expect(await rollupDrift(world.db)).toEqual([]);
  await moveGroups(world.db);
  const { group } = await readGroupDetail(world.db, ADA, { fingerprint: OLD, within: {} }, Date.now());
  expect(group).toMatchObject({
    fingerprint: bank,
    counts: { PENDING: 600 },
    arrivals: { count: 700 },
    mute: { id: muted, until, arrived: 0 },
  });
  expect(Date.parse(group.firstSeen)).toBeLessThan(Date.now() - 2 * 86_400_000);
  expect(await world.db.query("select 1 from dlq_groups where fingerprint = $1", [OLD])).toEqual([]);
  expect(await world.db.query("select 1 from group_aliases where moved_at is null")).toEqual([]);
});

test("a group that a rule of admission named stays, and a merged one stays merged", async () => {
  await park("bank", 3);
  await park("till", 2);
  const [bank, till] = [await fingerprintOf("bank"), await fingerprintOf("till")];
  await mergeGroup(world.deps, { fingerprint: bank, request: { into: till, reason: "one outage" } }, ADA);
  await park("mint", 4);
  const mint = await fingerprintOf("mint");
  await world.db.run(
    `update dlq_event_bodies set admission = '{"group": "known to us", "rules": []}'
      where id in (select id from dlq_events where fingerprint = $1 order by id limit 1)`,
    [mint],
  );
  await world.db.run("update dlq_groups set grouping_version = 1");
  await regroupEvents(world.deps);
  const after = await counts();
  expect(after).toMatchObject({ [till]: 5, [mint]: 3 });
  const [label] = Object.keys(after).filter((each) => each !== till && each !== mint);
  const labelled = await world.db.query("select message_pattern as label from dlq_groups where fingerprint = $1", [
    label,
  ]);
  expect(labelled).toEqual([{ label: "known to us" }]);
  const versions = await world.db.query("select distinct grouping_version as version from dlq_groups");
  expect(versions).toEqual([{ version: GROUPING_VERSION }]);
});

test("a known group does not alert as new while its events wait to be grouped again, nor afterwards", async () => {
  await world.db.run("delete from alert_rules");
  const watch = { kind: "new-group", atLeast: 1, quietMs: 86_400_000, clearMs: 0 };
  const rule = alertRuleRequestSchema.parse({ name: "New", severity: "warning", watch });
  await addAlertRule({ ...world.deps, expires: true }, rule, ADA);
  const alerted = async () => {
    await evaluateAlerts({ ...world.deps, publicUrl: "https://parkade.example.com" });
    const rows = await world.db.query<{ about: string }>(
      "select subject ->> 'fingerprint' as about from alerts order by id",
    );
    return rows.map(({ about }) => about);
  };
  await park("bank", 3);
  const bank = await fingerprintOf("bank");
  await asOneOldGroup([bank]);
  // The same failure as grouped by the current rules, and one with another code.
  await world.park(1, () => ({
    ...{ eventId: "again", errorCode: "TIMEOUT" },
    error: { type: "BankDown", message: "bank is away", stack: null },
  }));
  await world.park(1, () => ({ eventId: "other", errorCode: "OTHER" }));
  const [other] = await world.db.query<{ fingerprint: string }>(
    "select fingerprint from dlq_groups where error_code = 'OTHER'",
  );
  expect(await alerted()).toEqual([other!.fingerprint]);
  await regroupEvents(world.deps);
  expect(await counts()).toMatchObject({ [bank]: 4 });
  expect(await alerted()).toEqual([other!.fingerprint]);
  await moveGroups(world.db);
  await park("till", 1);
  expect(await alerted()).toEqual([other!.fingerprint, await fingerprintOf("till")]);
});

test("small groups are examined together, and one whose examination fails keeps no other waiting", async () => {
  const words = "abcdefghijklmnopqrstuvwxyz".split("");
  const names = words.flatMap((one) => words.map((other) => `${one}${other}bank`)).slice(0, 400);
  await world.park(names.length, (index) => ({
    ...{ eventId: names[index]!, errorCode: "TIMEOUT" },
    error: { type: "BankDown", message: `${names[index]} is away`, stack: null },
  }));
  await park("till", 8);
  const till = await fingerprintOf("till");
  await foldRollups(world.db);
  await asOneOldGroup([till]);
  await world.db.run("update dlq_groups set grouping_version = 1");
  await world.db.run(`create function refuse() returns trigger language plpgsql as $$
    begin if new.event_id = 'till-6' then raise 'this event is locked by a bug'; end if; return new; end $$`);
  await world.db.run(
    "create trigger refuse before update on dlq_events for each row when (old.fingerprint is distinct from new.fingerprint) execute function refuse()",
  );
  await regroupEvents(world.deps);
  const old = () =>
    world.db.query(
      `select fingerprint, examined ->> 'fault' as fault, (examined ->> 'most')::int as most,
              (examined ->> 'notBefore')::timestamptz > now() + interval '9 minutes' as later
         from dlq_groups where grouping_version = 1`,
    );
  expect(await old()).toEqual([{ fingerprint: OLD, fault: "P0001", most: 4, later: true }]);
  expect(await counts()).toMatchObject({ [OLD]: 8 });
  const retry = async () => {
    await world.db.run("update dlq_groups set examined = examined || jsonb_build_object('notBefore', now())");
    await regroupEvents(world.deps);
  };
  await retry();
  await retry();
  // Half of the page each time: events before the failing one are not blocked.
  expect(await counts()).toMatchObject({ [OLD]: 2, [till]: 6 });
  expect(await old()).toMatchObject([{ fingerprint: OLD, fault: "P0001" }]);
  await world.db.run("drop trigger refuse on dlq_events");
  await retry();
  expect(await counts()).toMatchObject({ [till]: 8 });
  expect(await old()).toEqual([]);
  expect(await rollupDrift(world.db)).toEqual([]);
});
