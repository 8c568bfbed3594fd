import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { shownApproval } from "@/lib/guard/approvals/approvals.read";
import { localViewer, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { readStatus } from "@/lib/observe/health/status.read";
import { readMetrics } from "@/lib/observe/metrics/metrics.read";
import { prometheusText } from "@/lib/platform/plain/prometheus.pure";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { decideApproval } from "@/lib/redrive/life/decide-approval";
import { listRedrives } from "@/lib/redrive/list/redrives.read";
import { requestMend } from "@/lib/repair/mends/request-mend";
import { openWorld, type World } from "@/lib/testing/redrive-world";

const [ada, bob] = [localViewer("ada"), localViewer("bob")];
const clerk = (name: string, change: Partial<Viewer>): Viewer => ({ ...bob, means: "token", name, ...change });
const recipe = { kind: "form" as const, steps: [{ op: "rename" as const, at: "/custId", to: "customerId" }] };

let world: World;
const ids = {} as Record<"approval" | "time" | "breaker" | "both" | "held" | "mend", string>;

beforeAll(async () => {
  world = await openWorld({ redisUrl: null });
  await world.source("stock");
  const payload = new TextEncoder().encode('{"custId": 7}');
  await world.park(5, () => ({ payload }));
  await world.park(2, (index) => ({ eventId: `stock-${index}`, payload }), "stock");
  const [first, second, third, fourth, fifth] = (await world.idsOf()) as [string, string, string, string, string];
  const startAt = new Date(Date.now() + 3_600_000).toISOString();
  const requested = async (of: string, change: Parameters<World["request"]>[0] = {}) =>
    (await world.request({ select: { ids: [of] }, ...change })).id;
  ids.time = await requested(first, { startAt });
  ids.breaker = await requested(second, { startWhen: { breakerCloses: true } });
  ids.held = await requested(third, { holdMs: 60_000 });
  await requested(fourth);
  await world.db.run("update sources set needs_approval = true");
  ids.both = await requested(fifth, { startAt });
  const stock = await world.idsOf(["stock-0", "stock-1"]);
  ids.approval = await requested(stock[0]!);
  const mend = { select: { ids: [stock[1]!] }, recipe, reason: "renamed", breaking: false, idempotency: null };
  ids.mend = (await requestMend(world.deps, mend, ada)).id!;
  await world.db.run("update approvals set asked_at = now() - interval '2 hours' where subject_id = $1", [
    ids.approval,
  ]);
});
afterAll(() => world.close());

const text = async (viewer = bob) =>
  prometheusText(await readMetrics(world.db, viewer, Date.now()))
    .split("\n")
    .filter((line) => /^(redrives_waiting|approval)/.test(line));

const listed = async (waitsFor: ("approval" | "time" | "breaker")[] | null, viewer = bob) => {
  const page = { cursor: null, limit: 10, states: null, waitsFor };
  return (await listRedrives(world.db, viewer, page, Date.now())).items;
};

describe("redrives that wait", () => {
  test("are metrics by what they wait for, with the age of the oldest request for approval", async () => {
    const [oldest, ...counts] = (await text()).toSorted();
    expect(counts).toEqual([
      'approvals_waiting{subject="operation"} 1',
      'approvals_waiting{subject="redrive"} 2',
      'redrives_waiting{for="approval"} 2',
      'redrives_waiting{for="breaker"} 1',
      'redrives_waiting{for="hold"} 1',
      'redrives_waiting{for="time"} 2',
    ]);
    expect(Number(oldest!.replace("approval_oldest_seconds ", ""))).toBeCloseTo(7_200, -2);
    expect(await text(clerk("eve", { sources: ["stock"] }))).toEqual(
      expect.arrayContaining(['redrives_waiting{for="approval"} 1', 'redrives_waiting{for="time"} 0']),
    );
  });

  test("are listed by what they wait for, as each of them says", async () => {
    expect((await listed(null)).length).toBe(6);
    const waits = async (...waitsFor: ("approval" | "time" | "breaker")[]) =>
      (await listed(waitsFor)).map(({ id }) => id).sort();
    expect(await waits("approval")).toEqual([ids.both, ids.approval].sort());
    expect(await waits("time")).toEqual([ids.time, ids.both].sort());
    expect(await waits("breaker")).toEqual([ids.breaker]);
    expect(await waits("time", "breaker")).toEqual([ids.time, ids.breaker, ids.both].sort());
    const any = await listed(["approval", "time", "breaker"]);
    expect(any.every(({ waitsFor }) => waitsFor.length > 0)).toBe(true);
    expect((await listed(null)).filter(({ waitsFor }) => waitsFor.length > 0)).toEqual(any);
    expect(await listed(["time"], clerk("eve", { sources: ["stock"] }))).toEqual([]);
  });

  test("are counted for who may answer, never for who asked, who has no name or no right", async () => {
    const counted = async (viewer: Viewer) => {
      const { approvalsWaiting, approvalsForViewer, redrivesWaiting } = await readStatus(world.db, viewer);
      return { approvalsWaiting, approvalsForViewer, redrivesWaiting };
    };
    const redrivesWaiting = { approval: 2, time: 2, breaker: 1 };
    expect(await counted(bob)).toEqual({ approvalsWaiting: 3, approvalsForViewer: 3, redrivesWaiting });
    for (const viewer of [ada, localViewer("Ada."), localViewer(), clerk("eve", { actions: ["view", "redrive"] })]) {
      expect(await counted(viewer)).toEqual({ approvalsWaiting: 3, approvalsForViewer: 0, redrivesWaiting });
    }
    // The mend was asked for by its events' ids, which are all of this source.
    const ofStock = { approvalsWaiting: 2, approvalsForViewer: 2 };
    expect(await counted(clerk("eve", { sources: ["stock"] }))).toMatchObject(ofStock);
    expect(await counted(clerk("eve", { sources: ["orders"] }))).toMatchObject({ approvalsWaiting: 1 });
    // Who changed it since is one of those who ask.
    await changeRedrive(world.deps, { id: ids.both, change: { ratePerSecond: null } }, bob);
    await changeRedrive(world.deps, { id: ids.both, change: { lane: "slow" } }, bob);
    expect(await counted(bob)).toMatchObject({ approvalsWaiting: 3, approvalsForViewer: 2 });
  });

  test("are counted to the last, however many there are", async () => {
    await world.db.run(
      `insert into approvals (id, subject_kind, subject_id, state, causes, terms, digest, asked_by, asked_at, expires_at)
       select gen_random_uuid(), 'redrive', gen_random_uuid(), 'asked', '[]', '{}', 'many', 'ada', now(), now() + interval '1 hour'
         from generate_series(1, 2500)`,
    );
    const { approvalsWaiting, approvalsForViewer } = await readStatus(world.db, bob);
    expect({ approvalsWaiting, approvalsForViewer }).toEqual({ approvalsWaiting: 2_503, approvalsForViewer: 2_502 });
    await world.db.run("delete from approvals where digest = 'many'");
  });

  test("leave the counts when they are decided, and the metric when none is left", async () => {
    const carl = localViewer("carl");
    for (const id of [ids.both, ids.approval, ids.mend]) {
      const { digest } = await shownApproval(world.db, carl, id);
      await decideApproval(world.deps, { id, decision: { decision: "reject", digest, reason: "no" } }, carl);
    }
    expect((await text()).join("\n")).not.toContain("approval_oldest_seconds ");
    expect(await text()).toEqual(expect.arrayContaining(['redrives_waiting{for="approval"} 0']));
    expect(await listed(["approval"])).toEqual([]);
  });
});
