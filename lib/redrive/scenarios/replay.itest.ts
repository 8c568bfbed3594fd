import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { beforeEach, describe, expect, test } from "vitest";
import { replayAttempts } from "@/lib/redrive/list/replay-attempts";
import { POLICY_PRESETS, type Policy } from "@/lib/retry/policy";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

/** Every part that decides: jitter to be drawn, a budget to be asked, a throttled backoff, a breaker in the way. */
const POLICY: Policy = {
  ...POLICY_PRESETS["slow-lane"],
  maxAttempts: 4,
  attemptTimeoutMs: 800,
  deadlineMs: 9_000,
  marginMs: 500,
  backoff: { kind: "exponential", baseMs: 20, factor: 3, capMs: 400, jitter: { kind: "decorrelated" } },
  throttledBackoff: { kind: "exponential", baseMs: 30, factor: 2, capMs: 300, jitter: { kind: "full" } },
  budget: { kind: "quota", capacity: 60, cost: { transient: 2, throttled: 1 }, reward: 1 },
  breaker: null,
  healing: null,
};

describe("the replay of recorded attempts", () => {
  const world = worldOfEachTest({ invariants: false });

  beforeEach(async () => {
    await world.policy(POLICY);
  });

  /** A redrive that meets every kind of weather. Returns its id. */
  async function stormy(): Promise<string> {
    await world.park(24);
    world.sink.answer = ({ eventId, nth }) => {
      const kind = Number(eventId.slice(6)) % 8;
      if (kind === 0) return 200;
      if (kind === 1) return 503;
      if (kind === 2) return nth < 3 ? 500 : 200;
      if (kind === 3) return nth === 1 ? "hang" : 200;
      if (kind === 4) return nth === 1 ? "cut" : 200;
      if (kind === 5) return nth === 1 ? { status: 429, headers: { "retry-after": "1" } } : 200;
      if (kind === 6) return { status: 429, headers: { "retry-after": "3600" } };
      return 422;
    };
    await world.worker();
    const { id } = await world.request({ brake: null });
    await world.ended(id);
    return id;
  }

  async function script(...given: string[]): Promise<{ code: number | null; output: string; error: string }> {
    const child = spawn(process.execPath, ["--import", "tsx", "scripts/replay-program.ts", ...given], {
      env: { ...process.env, DATABASE_URL: world.url },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [output, error] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
    return { code: child.exitCode, output, error };
  }

  test("decides the same from the store alone, by the version the redrive had frozen, and notices when it would not", async () => {
    const id = await stormy();
    const report = await replayAttempts(world.db, { redriveId: id, eventId: null, policyName: null });
    expect(report).toMatchObject({ different: 0, listed: [] });
    const [counted] = await world.db.query<{ failed: number; all: number }>(
      "select count(*) filter (where state <> 'delivered') as failed, count(*) as all from sends",
    );
    expect(report.decisions).toBe(counted!.failed);
    expect(report.attempts).toBe(counted!.all);
    const kinds = await world.db.query<{ next: string }>(
      "select distinct decision->'next'->>'kind' as next from redrive_attempts where decision is not null order by 1",
    );
    expect(kinds.map((row) => row.next)).toEqual(["defer", "give-up", "retry"]);
    const leaked = await world.db.query(
      "select id from redrive_attempts where decision::text like '%9007199254740993%'",
    );
    expect(leaked).toEqual([]);

    const one = await script(id, "event-0002");
    expect(one).toEqual({ code: 0, output: "3 attempts, 2 decisions, 0 decided differently\n", error: "" });
    const hasty: Policy = { ...POLICY, backoff: { kind: "fixed", delayMs: 1, jitter: { kind: "none" } } };
    await world.policy(hasty);
    const request = { redriveId: id, eventId: null };
    expect(await replayAttempts(world.db, { ...request, policyName: null })).toMatchObject({ different: 0 });
    const { different, listed } = await replayAttempts(world.db, { ...request, policyName: "slow-lane" });
    expect(different).toBeGreaterThan(0);
    expect(listed).toHaveLength(different);

    await world.db.run(
      `update redrive_attempts set decision = jsonb_set(decision, '{inputs,draw}', '0.123')
        where attempt = 1 and id = (select id from dlq_events where event_id = 'event-0002')`,
    );
    const tampered = await script(id);
    expect(tampered.code).toBe(1);
    expect(tampered.output).toMatch(
      /^event-0002, attempt 1: .*\n\d+ attempts, \d+ decisions, 1 decided differently\n$/,
    );
  });

  test("says what is wrong", async () => {
    const nowhere = "01980000-0000-7000-8000-000000000000";
    for (const [given, sentence] of [
      [[], "Name a redrive"],
      [[nowhere], "There is no redrive"],
    ] as const) {
      const { code, error } = await script(...given);
      expect(code).toBe(1);
      expect(error).toMatch(/^parkade: .*\n$/);
      expect(error).toContain(sentence);
    }
  });
});
