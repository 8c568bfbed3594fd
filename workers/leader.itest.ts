import { beforeEach, describe, expect, test } from "vitest";
import { removeHeartbeat, writeHeartbeat } from "@/lib/observe/health/heartbeat.write";
import { createLog } from "@/lib/platform/log";
import { TEST_PACES, worldOfEachTest } from "@/lib/testing/redrive-world";

const world = worldOfEachTest({ invariants: false });

describe("the rounds of two workers", () => {
  /** Every worker that evaluates the alert rules logs that it cannot. */
  beforeEach(() => world.db.run("alter table alert_evaluation rename to away"));

  async function worker() {
    const lines: { msg: string; round?: string }[] = [];
    const writesTo = createLog({ process: "test", destination: { write: (line) => lines.push(JSON.parse(line)) } });
    const { stop } = await world.worker({ writesTo });
    const failed = () => lines.flatMap(({ msg, round }) => (msg.startsWith("round failed") ? round : []));
    return { stop, failed };
  }
  /** Workers whose last heartbeat came this long after their start: what runs at a start has run. */
  const settled = () =>
    world.db.query("select 1 from worker_heartbeats where seen_at - started_at > interval '1.5 seconds'");

  test("are run by the older one, and by the other once that one has stopped", async () => {
    const first = await worker();
    const second = await worker();
    await expect.poll(settled).toHaveLength(2);
    expect([first.failed(), second.failed()]).toEqual([["alerts"], []]);
    await first.stop("test");
    await expect.poll(second.failed).toEqual(["alerts"]);
  });

  test("are run by the younger one within two heartbeats after the other, which was killed, is given up", async () => {
    const killed = await world.doomedWorker();
    const second = await worker();
    await expect.poll(settled).toHaveLength(2);
    expect(second.failed()).toEqual([]);
    const killedMs = performance.now();
    killed.kill("SIGKILL");
    await expect.poll(second.failed, { interval: 20 }).toEqual(["alerts"]);
    // A busy machine delays a heartbeat.
    expect(performance.now() - killedMs).toBeLessThan(TEST_PACES.lostMs + 2 * TEST_PACES.heartbeatMs + 3_000);
  });
});

describe("a heartbeat finds its worker the oldest or not", () => {
  const OLDER = "0199aaaa-0000-7000-8000-000000000001";
  const OWN = "0199aaaa-0000-7000-8000-000000000002";
  const YOUNGER = "0199aaaa-0000-7000-8000-000000000003";
  const beat = (id: string) => writeHeartbeat(world.db, { id, startedAtMs: 0, info: {} as never }, 6_000);
  const seen = (ago: string) =>
    world.db.run(`update worker_heartbeats set seen_at = now() - interval '${ago}' where id = $1`, [OLDER]);

  test.each([
    ["has sent one within the time after which it is given up", "5 seconds", false],
    ["has not", "7 seconds", true],
    ["sent its last one an hour ahead: the clock was set back", "-1 hour", true],
  ])("where an older worker %s", async (_, ago, oldest) => {
    await beat(OLDER);
    await beat(YOUNGER);
    await seen(ago);
    expect(await beat(OWN)).toMatchObject({ oldest });
    await removeHeartbeat(world.db, OLDER);
    expect(await beat(OWN)).toMatchObject({ alive: 2, oldest: true });
    expect(await beat(YOUNGER)).toMatchObject({ alive: 2, oldest: false });
  });
});
