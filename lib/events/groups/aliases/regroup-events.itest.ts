import { expect, test } from "vitest";
import { mergeGroup } from "@/lib/events/groups/aliases/merge-groups";
import { moveGroups } from "@/lib/events/groups/aliases/move-groups";
import { regroupEvents } from "@/lib/events/groups/aliases/regroup-events";
import { readGroupDetail } from "@/lib/events/groups/group-detail.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { muteGroups } from "@/lib/observe/mutes/change-group-mute";
import { foldRollups } from "@/lib/observe/rollups/fold-rollups.write";
import type { Db } from "@/lib/platform/database/db";
import { worldOfEachTest } from "@/lib/testing/redrive-world";
import { rollupDrift } from "@/lib/testing/rollup-drift";

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
  for (const table of ["minutes", "hours", "days"])
    await db.run(
      `with gone as (delete from dlq_group_flow_${table} where fingerprint = any($1) returning *)
       insert into dlq_group_flow_${table} (at, source_id, error_code, fingerprint, parked)
       select at, source_id, error_code, $2, sum(parked) from gone group by 1, 2, 3`,
      [fingerprints, OLD],
    );
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
  let transactions = 0;
  const dying: Db = Object.assign(Object.create(world.db), {
    transaction: (work: Parameters<Db["transaction"]>[0], options: Parameters<Db["transaction"]>[1]) =>
      world.db.transaction(async (tx) => {
        const result = await work(tx);
        if (++transactions === 2) throw new Error("killed");
        return result;
      }, options),
  });
  await expect(regroupEvents(dying)).rejects.toThrow("killed");
  expect(await rollupDrift(world.db)).toEqual([]);
  expect(await counts()).toEqual({ [OLD]: 450, [bank]: 250 });
  await Promise.all([regroupEvents(world.db), regroupEvents(world.db), foldRollups(world.db)]);
  await regroupEvents(world.db);
  expect(await counts()).toEqual({ [bank]: 600, [till]: 100 });
  expect(await rollupDrift(world.db)).toEqual([]);
  await moveGroups(world.db, { wait: true });
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
  await regroupEvents(world.db);
  const after = await counts();
  expect(after).toMatchObject({ [till]: 5, [mint]: 3 });
  const [label] = Object.keys(after).filter((each) => each !== till && each !== mint);
  const labelled = await world.db.query("select message_pattern as label from dlq_groups where fingerprint = $1", [
    label,
  ]);
  expect(labelled).toEqual([{ label: "known to us" }]);
  const versions = await world.db.query("select distinct grouping_version as version from dlq_groups");
  expect(versions).toEqual([{ version: 2 }]);
});
