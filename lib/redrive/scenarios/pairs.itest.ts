import { describe, expect, test } from "vitest";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { shownApproval } from "@/lib/guard/approvals/approvals.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { readStatus } from "@/lib/observe/health/status.read";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { imposeStop, resumeSends } from "@/lib/redrive/life/change-stop";
import { decideApproval } from "@/lib/redrive/life/decide-approval";
import { changeRedriveRule, createRedriveRule, REDRIVE_RULES } from "@/lib/rules/redrive-rules";
import { redriveRuleRequestSchema, redriveRuleTrySchema } from "@/lib/rules/redrive-rules.shapes";
import { runRedriveRules } from "@/lib/rules/run-redrive-rules";
import { tryRedriveRule } from "@/lib/rules/try-redrive-rule";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

/** Features of a redrive that meet, and that the model test (`interleavings`) does not have: rules, and what counts requests. */

const [ada, bob] = [localViewer("ada"), localViewer("bob")];
const later = () => new Date(Date.now() + 3_600_000).toISOString();
const everything = { target: null, reason: "stock answers with wrong data" };
const reason = "tested";

describe("a redrive", () => {
  const world = worldOfEachTest();

  test("that waits for an approval is over when all of its events are ignored, and no count keeps it", async () => {
    await world.db.run("update sources set needs_approval = true");
    await world.park(3);
    const { id } = await world.request({ startAt: later() });
    await ignoreEvents(world.deps, { select: { filter: {} }, reason }, ada);
    expect(await world.redrive(id)).toMatchObject({ state: "DONE", refused: 3, approval: { state: "withdrawn" } });
    expect(await readStatus(world.db, bob)).toMatchObject({ approvalsWaiting: 0, approvalsForViewer: 0 });
    const { digest } = await shownApproval(world.db, bob, id);
    const approve = decideApproval(world.deps, { id, decision: { decision: "approve", reason, digest } }, bob);
    await expect(approve).rejects.toMatchObject({ code: "illegal-transition" });
    expect(await world.statuses()).toEqual({ IGNORED: 3 });
  });

  test("of a rule waits while sends are stopped, and the rule makes no other; a manual one of its events goes first", async () => {
    await world.park(4);
    const {
      name,
      reason: why,
      ...terms
    } = redriveRuleRequestSchema.parse({
      ...{ name: "nightly", reason, filter: { source: ["orders"] }, delayMs: 1_000, everyMs: 1_000, canary: false },
    });
    const { id: rule } = await createRedriveRule(world.deps, { name, reason: why, ...terms }, ada);
    const { id: trial } = await tryRedriveRule(world.deps, redriveRuleTrySchema.parse({ rule: terms }), ada);
    const manual = await world.request({ select: { ids: await world.idsOf(["event-0000"]) }, startAt: later() });
    await imposeStop(world.deps, everything, ada);
    await changeRedriveRule(world.deps, { id: rule, change: { reason, enabled: true, trial } }, ada);
    await expect.poll(() => runRedriveRules(world.deps)).toBe(1);
    await world.db.run("update redrive_rule_runs set at = at - interval '1 h'");
    expect(await runRedriveRules(world.deps)).toBe(0);
    const { lastRun } = await REDRIVE_RULES.read(world.db, ada, rule);
    expect(lastRun).toMatchObject({ events: 3, live: true });
    expect((await world.redrive(lastRun!.redriveId)).stalled?.code).toBe("stopped");
    await world.worker();
    await resumeSends(world.deps, everything, ada);
    expect(await world.ended(lastRun!.redriveId)).toMatchObject({ delivered: 3 });
    await changeRedrive(world.deps, { id: manual.id, change: { action: "start" } }, ada);
    expect(await world.ended(manual.id)).toMatchObject({ delivered: 1 });
    expect(world.sink.arrived).toHaveLength(4);
  });
});
