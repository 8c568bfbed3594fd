import { describe, expect, test } from "vitest";
import { type Issue, worstWindowExcess } from "@/lib/lane/testing/window-excess";
import { systemClock } from "@/lib/platform/clock";
import { createTokenFeeder } from "@/lib/redrive/pace/token-feeder";
import { redisInstalled, testRedis } from "@/lib/testing/redis";
import { type BucketFallback, type GuardedBucket, guardBucket } from "./bucket-fallback";
import type { BucketSpec } from "./port";
import { type OpenTokenBucket, openTokenBucket } from "./token-bucket";

const SPEC: BucketSpec = { key: "target", ratePerSecond: 60, burst: 6 };
const WORKERS = 3;

type Worker = { open: OpenTokenBucket; bucket: GuardedBucket; states: string[] };

/** A worker process's half of the matter: a connection of its own, and its guard. */
async function worker(url: string, fallback: BucketFallback): Promise<Worker> {
  const open = await openTokenBucket({ kind: "redis", url }, () => {});
  const states: string[] = [];
  const onChange = ({ state }: { state: string }) => states.push(state);
  const bucket = guardBucket(open.bucket, { fallback, workers: () => WORKERS, clock: systemClock, onChange });
  return { open, bucket, states };
}

/** Passes tokens as fast as the feeder gives them until stopped; notes when each came. */
function sending({ bucket }: Worker, issues: Issue[]): { stop(): Promise<void> } {
  const feeder = createTokenFeeder({ bucket, spec: () => SPEC, clock: systemClock, onError: () => {} });
  const stop = new AbortController();
  const loop = (async () => {
    for (;;) {
      const fromMs = systemClock.nowMs();
      await feeder.take(stop.signal);
      // Asked once at a time: the token was issued between the question and now.
      issues.push({ fromMs, toMs: systemClock.nowMs(), tokens: 1 });
    }
  })().catch(() => undefined);
  return {
    stop: () => {
      stop.abort();
      return loop;
    },
  };
}

describe.skipIf(!redisInstalled)("three workers whose Redis goes away and comes back", () => {
  async function outage(fallback: BucketFallback) {
    const server = await testRedis();
    const workers = await Promise.all(Array.from({ length: WORKERS }, () => worker(server.url, fallback)));
    const issues: Issue[] = [];
    const senders = workers.map((one) => sending(one, issues));
    await expect.poll(() => issues.length).toBeGreaterThan(20);
    await server.kill();
    const gone = fallback === "local" ? "local" : "unreachable";
    await expect.poll(() => workers.every(({ bucket }) => bucket.worst() === gone)).toBe(true);
    const before = issues.length;
    if (fallback === "local") await expect.poll(() => issues.length - before).toBeGreaterThan(60);
    else await systemClock.sleep(1_000);
    const during = issues.length - before;
    await server.restart();
    await expect.poll(() => workers.every(({ bucket }) => bucket.worst() === "shared")).toBe(true);
    const back = issues.length;
    await expect.poll(() => issues.length - back).toBeGreaterThan(20);
    await Promise.all(senders.map((sender) => sender.stop()));
    await Promise.all(workers.map(({ open }) => open.close()));
    await server.stop();
    return { issues, during, states: workers.map(({ states }) => states) };
  }

  test("closed: nothing is sent meanwhile", async () => {
    const { during, states, issues } = await outage("closed");
    expect(during).toBe(0);
    expect(states).toEqual(Array(WORKERS).fill(["unreachable", "shared"]));
    expect(worstWindowExcess(issues, SPEC.ratePerSecond, SPEC.burst)).toBeLessThanOrEqual(0);
  });

  test("local: sends go on at the rate all of them share, and never above it", async () => {
    const { states, issues } = await outage("local");
    expect(states).toEqual(Array(WORKERS).fill(["local", "shared"]));
    // A token a worker more: each holds at least one.
    expect(worstWindowExcess(issues, SPEC.ratePerSecond, SPEC.burst + WORKERS)).toBeLessThanOrEqual(0);
  });
});
