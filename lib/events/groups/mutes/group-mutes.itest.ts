import { describe, expect, test } from "vitest";
import { liftGroupMute, muteGroups } from "@/lib/events/groups/mutes/change-group-mute";
import { listGroupMutes, readMutesOf } from "@/lib/events/groups/mutes/group-mutes.read";
import type { GroupMuteRequest } from "@/lib/events/groups/mutes/group-mutes.shapes";
import { localViewer, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { listAlerts } from "@/lib/observe/alerts/alerts.read";
import { evaluateAlerts } from "@/lib/observe/alerts/evaluate-alerts";
import type { AlertWatch } from "@/lib/observe/alerts/kinds/alert-kinds.pure";
import { addAlertRule } from "@/lib/observe/alerts/rules/alert-rules";
import { alertRuleRequestSchema } from "@/lib/observe/alerts/rules/alert-rules.shapes";
import { addChannel } from "@/lib/observe/channels/channels";
import { channelRequestSchema } from "@/lib/observe/channels/channels.shapes";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const world = worldOfEachTest();
const ADA = localViewer("ada");
const CLERK: Viewer = { name: "clerk", means: "session", sources: ["billing"], actions: "all" };
const MINUTE = 60_000;
const LATER = () => new Date(Date.now() + 60 * MINUTE).toISOString();

const evaluate = () => evaluateAlerts({ ...world.deps, publicUrl: "https://parkade.example.com" });

async function onlyRule(watch: Partial<AlertWatch> & Pick<AlertWatch, "kind">): Promise<void> {
  await world.db.run("delete from alert_rules");
  const request = alertRuleRequestSchema.parse({
    name: "Tested",
    severity: "warning",
    watch: { clearMs: 0, ...watch },
  });
  await addAlertRule({ ...world.deps, expires: true }, request, ADA);
  const config = { kind: "webhook", url: "https://ops.example.com/" };
  const channel = channelRequestSchema.parse({ name: "ops", severities: ["warning"], config });
  await addChannel({ ...world.deps, limits: world.deps.env }, channel, ADA);
}
const NEW_GROUP = { kind: "new-group", atLeast: 2, quietMs: 24 * 60 * MINUTE } as const;

const told = async () =>
  (await world.db.query<{ event: string }>("select event_type as event from alert_outbox order by seq")).map(
    ({ event }) => event,
  );
const alerts = async () =>
  (await listAlerts(world.db, ADA, { limit: 50, cursor: null, state: null, source: null, rule: null }, (name) => name))
    .items;
const timeouts = (from: number) => (index: number) => ({ eventId: `t-${from + index}`, errorCode: "TIMEOUT" });

async function fingerprintOf(errorCode: string): Promise<string> {
  const [row] = await world.db.query<{ fingerprint: string }>(
    "select fingerprint from dlq_groups where error_code = $1",
    [errorCode],
  );
  return row!.fingerprint;
}

async function mute(change: Partial<GroupMuteRequest> = {}, viewer = ADA): Promise<string> {
  const fingerprints = [await fingerprintOf("TIMEOUT")];
  const [id] = await muteGroups(
    world.deps,
    { fingerprints, source: null, reason: "mended by 6 pm", ...change },
    viewer,
  );
  return id!;
}

const entries = async () =>
  world.db.query(
    "select action, actor, subject_id as group from audit_entries where subject_kind = 'group' order by id",
  );

describe("a muted group", () => {
  test("has alerts that say so and are told to nobody, until it is lifted", async () => {
    await onlyRule(NEW_GROUP);
    await world.park(1, timeouts(0));
    const until = LATER();
    const id = await mute({ until });
    await world.park(2, timeouts(1));
    expect(await evaluate()).toMatchObject({ fired: 1, messages: 0 });
    expect((await alerts())[0]).toMatchObject({
      ...{ state: "firing", mute: { id, until, untilMore: null, createdBy: "ada" } },
    });
    await liftGroupMute(world.deps, id, ADA);
    await expect(liftGroupMute(world.deps, id, ADA)).rejects.toMatchObject({ code: "unknown-mute" });
    expect((await alerts())[0]).toMatchObject({ mute: null });
    expect(await evaluate()).toMatchObject({ messages: 1 });
    expect(await told()).toEqual(["fired"]);
    const group = await fingerprintOf("TIMEOUT");
    expect(await entries()).toEqual([
      { action: "group.muted", actor: "ada", group },
      { action: "group.unmuted", actor: "ada", group },
    ]);
  });

  test("is told of again when its time is over by the clock of the database", async () => {
    await onlyRule(NEW_GROUP);
    await world.park(3, timeouts(0));
    await mute({ until: LATER() });
    expect(await evaluate()).toMatchObject({ fired: 1, messages: 0 });
    await world.db.run("update group_mutes set until_at = now() - interval '1 second'");
    expect((await listGroupMutes(world.db, ADA, page("live"))).items).toEqual([]);
    expect(await evaluate()).toMatchObject({ messages: 1 });
    expect((await listGroupMutes(world.db, ADA, page("ended"))).items).toMatchObject([
      { endedBecause: "time", endedBy: null },
    ]);
    expect((await entries()).at(-1)).toMatchObject({ action: "group.mute-ended", actor: "worker" });
  });

  test("is told of again when so many more have arrived, folded or not", async () => {
    await onlyRule(NEW_GROUP);
    await world.park(3, timeouts(0));
    await mute({ more: 4 });
    const group = await fingerprintOf("TIMEOUT");
    await world.park(3, timeouts(3));
    expect((await readMutesOf(world.db, ADA, [group])).get(group)).toMatchObject([{ untilMore: 4, arrived: 3 }]);
    expect(await evaluate()).toMatchObject({ fired: 1, messages: 0 });
    await world.park(1, timeouts(6));
    // At once for those who read, before an evaluation has written it down.
    expect((await readMutesOf(world.db, ADA, [group])).get(group)).toBeUndefined();
    expect(await evaluate()).toMatchObject({ messages: 1 });
    expect((await listGroupMutes(world.db, ADA, page("ended"))).items).toMatchObject([{ endedBecause: "count" }]);
  });

  test("of one source keeps quiet of that source alone", async () => {
    await world.source("billing");
    await onlyRule(NEW_GROUP);
    await world.park(3, timeouts(0));
    await mute({ until: LATER(), source: "billing" });
    expect(await evaluate()).toMatchObject({ fired: 1, messages: 1 });
    const group = await fingerprintOf("TIMEOUT");
    expect((await readMutesOf(world.db, CLERK, [group])).get(group)).toHaveLength(1);
    await expect(mute({ until: LATER(), source: null }, CLERK)).rejects.toMatchObject({ code: "forbidden" });
  });

  test("does not count for an alert of inflow, which says what it left out", async () => {
    await onlyRule({ kind: "inflow", perSource: true, windowMs: 15 * MINUTE, factor: 2, atLeast: 5 });
    // Three days on which as much as nothing arrived in these hours.
    await world.park(1, () => ({ eventId: "old", errorCode: "OTHER" }));
    await world.db.run(
      `insert into dlq_flow (minute, source_id, error_code, fingerprint, kind, n)
       select minute - make_interval(days => day), source_id, error_code, fingerprint, kind, 1
         from dlq_flow, generate_series(1, 4) day`,
    );
    await world.park(20, timeouts(0));
    await mute({ until: LATER() });
    expect(await evaluate()).toMatchObject({ fired: 0 });
    await world.park(8, (index) => ({ eventId: `o-${index}`, errorCode: "OTHER" }));
    expect(await evaluate()).toMatchObject({ fired: 1 });
    expect((await alerts())[0]!.sentence).toMatch(
      /^orders: 9 events arrived in 15 min, .*; 20 events of muted groups not counted$/,
    );
    await world.db.run("delete from dlq_flow where minute < now() - interval '12 hours'");
  });

  test("that is muted again has the later terms", async () => {
    await world.park(1, timeouts(0));
    await mute({ until: LATER() });
    const later = await mute({ more: 1_000 });
    const { items } = await listGroupMutes(world.db, ADA, page(null));
    expect(items).toMatchObject([
      { id: later, untilMore: 1_000, endedAt: null },
      { endedBecause: "replaced", endedBy: "ada" },
    ]);
    // Two people at the same moment: one of the two lasts.
    await Promise.all([mute({ more: 5 }), mute({ more: 6 })]);
    expect((await listGroupMutes(world.db, ADA, page("live"))).items).toHaveLength(1);
  });
});

test("a mute without an end, with one that is over or far, of no source or of no group is refused", async () => {
  await world.park(1, timeouts(0));
  for (const [change, code, field] of [
    [{}, "invalid-window", "until"],
    [{ until: "2020-01-01T00:00:00Z" }, "invalid-window", "until"],
    [{ until: "2099-01-01T00:00:00Z" }, "invalid-window", "until"],
    [{ more: 5, source: "odrers" }, "unknown-source", "source"],
    [{ more: 5, fingerprints: ["0000000000000000"] }, "unknown-group", "fingerprints[0]"],
  ] as [Partial<GroupMuteRequest>, string, string][])
    await expect(mute(change)).rejects.toMatchObject({ code, fields: [{ field }] });
  expect((await listGroupMutes(world.db, ADA, page(null))).items).toEqual([]);
});

function page(state: "live" | "ended" | null) {
  return { limit: 50, cursor: null, fingerprint: null, state };
}
