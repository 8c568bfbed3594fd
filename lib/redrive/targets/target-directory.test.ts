import { describe, expect, it } from "vitest";
import type { Publisher } from "@/lib/brokers/port";
import type { GuardedBucket } from "@/lib/lane/bucket-fallback";
import type { BucketSpec } from "@/lib/lane/port";
import type { Db } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import type { RedriveRow } from "@/lib/redrive/life/redrive.write";
import type { SliceTarget } from "@/lib/redrive/targets/target";
import { TargetDirectory } from "@/lib/redrive/targets/target-directory";
import { POLICY_PRESETS } from "@/lib/retry/policy";
import type { TargetRow } from "@/lib/sources/targets/targets.read";
import { manualClock } from "@/lib/testing/manual-clock";

/** The directory reads its targets again after a second. */
const REREAD_MS = 1_100;

const ORDERS: TargetRow = {
  id: "t1",
  name: "orders-main",
  sourceId: "s1",
  source: "orders",
  kind: "http",
  config: {},
  lane: "main",
  destination: null,
  ratePerSecond: null,
  burst: null,
  bulkhead: 3,
  policyName: "interactive",
  retryable: true,
  breakerForce: null,
  resetAtMs: null,
  warmUpMs: 0,
  noBursts: false,
  fallback: null,
  stopped: false,
  resumedAtMs: null,
  needsApproval: false,
  revision: "1",
};

type FakePublisher = Publisher & { revision: string; closed: boolean };

/** A directory over a store that a test changes, and publishers that it watches. */
function directoryOf(...rows: TargetRow[]) {
  const clock = manualClock();
  const store = { targets: rows, policies: [] as { name: string; version: number; body: unknown }[], reads: 0 };
  const publishers: FakePublisher[] = [];
  const asked: BucketSpec[] = [];
  const unusable = new Set<string>();
  const query = async (text: string) => {
    if (!text.includes("from targets")) return store.policies;
    store.reads++;
    return store.targets;
  };
  const bucket = {
    state: () => "shared",
    takeUpTo: async (spec: BucketSpec) => {
      asked.push(spec);
      return { granted: 0, waitMs: 60_000 };
    },
  } as unknown as GuardedBucket;
  const openPublisher = (row: TargetRow) => {
    if (unusable.has(row.revision)) throw new DomainError("invalid-config", "env:TOKEN is not set");
    const publisher = {
      revision: row.revision,
      closed: false,
      probe: async () => ({ reachable: true, detail: "well" }),
      close: async () => {
        publisher.closed = true;
      },
    } as unknown as FakePublisher;
    publishers.push(publisher);
    return publisher;
  };
  const quiet = () => undefined;
  const log = { info: quiet, warn: quiet, error: quiet };
  const directory = new TargetDirectory({
    db: { query } as unknown as Db,
    bucket,
    clock,
    log: log as never,
    openPublisher,
    onHealing: quiet,
    paces: { targetsMs: 1_000 },
  });
  return { directory, store, clock, publishers, asked, unusable };
}

const redrive = (policies: Record<string, unknown> = {}, lane = "main") =>
  ({ id: "r1", lane, targetId: null, policies, mode: "deliver" }) as unknown as RedriveRow;

const interactive = (version: number, change: object = {}) => ({
  interactive: { name: "interactive", version, body: { ...POLICY_PRESETS.interactive, ...change } },
});

/** The target as found; fails the test when it has a fault. */
function opened(found: SliceTarget | { fault: string }): SliceTarget {
  if ("fault" in found) throw new Error(found.fault);
  return found;
}

describe("the directory of targets", () => {
  it("reads the store once for all slices that ask together, and again only after a second", async () => {
    const { directory, store, clock } = directoryOf(ORDERS);
    await Promise.all([1, 2, 3].map(() => directory.find("s1", redrive())));
    expect(store.reads).toBe(1);
    await clock.advance(500);
    await directory.find("s1", redrive());
    expect(store.reads).toBe(1);
    await clock.advance(REREAD_MS);
    await Promise.all([directory.find("s1", redrive()), directory.heldSources(redrive())]);
    expect(store.reads).toBe(2);
  });

  it("reads the store again for a redrive that began after the last reading: it goes to the changed address", async () => {
    const { directory, store, clock } = directoryOf(ORDERS);
    await directory.find("s1", redrive());
    await clock.advance(600);
    store.targets = [{ ...ORDERS, revision: "2", config: { redriveUrl: "http://new" } }];
    const began = { ...redrive(), beganAtMs: clock.wallMs() };
    expect(opened(await directory.find("s1", began)).row.revision).toBe("2");
    await clock.advance(200);
    const reads = store.reads;
    await directory.find("s1", began);
    await directory.find("s1", began);
    expect(store.reads - reads).toBeLessThanOrEqual(1);
  });

  it("gives two redrives with two versions of a policy one breaker and one bulkhead, and each its own policy", async () => {
    const { directory, store } = directoryOf(ORDERS);
    store.policies = [interactive(5, { maxAttempts: 2 }).interactive];
    const old = opened(await directory.find("s1", redrive(interactive(4, { maxAttempts: 3 }))));
    const young = opened(await directory.find("s1", redrive(interactive(5, { maxAttempts: 2 }))));
    expect([old.policy.maxAttempts, young.policy.maxAttempts]).toEqual([3, 2]);
    expect([old.policyVersion.version, young.policyVersion.version]).toEqual([4, 5]);
    expect(young.state).toBe(old.state);
  });

  it("lets a slice that uses a target go on with the changed one: publisher, row and places", async () => {
    const { directory, store, clock, publishers } = directoryOf(ORDERS);
    const used = opened(await directory.find("s1", redrive()));
    const { state } = used;
    store.targets = [{ ...ORDERS, bulkhead: 9, revision: "2", config: { redriveUrl: "http://new" } }];
    await clock.advance(REREAD_MS);
    await directory.heldSources(redrive());
    expect(publishers.map(({ revision, closed }) => [revision, closed])).toEqual([
      ["1", true],
      ["2", false],
    ]);
    expect(used.publisher).toBe(publishers[1]);
    expect(used.row.bulkhead).toBe(9);
    expect(used.state).toBe(state);
    expect(state.bulkhead!.snapshot().permits).toBe(9);
  });

  it("keeps the last publisher for sends under way when the new configuration cannot be opened, and refuses others", async () => {
    const { directory, store, clock, publishers, unusable } = directoryOf(ORDERS);
    const used = opened(await directory.find("s1", redrive()));
    unusable.add("2");
    store.targets = [{ ...ORDERS, revision: "2", config: { token: "env:TOKEN" } }];
    await clock.advance(REREAD_MS);
    expect(await directory.find("s1", redrive())).toEqual({
      fault: "orders-main cannot be opened: env:TOKEN is not set",
    });
    expect(used.publisher).toBe(publishers[0]);
    expect(publishers[0]!.closed).toBe(false);
    store.targets = [{ ...ORDERS, revision: "3" }];
    expect(opened(await directory.find("s1", redrive())).publisher).toBe(publishers[0]);
    expect(publishers).toHaveLength(1);
  });

  it.each<[string, Partial<TargetRow>, number]>([
    ["a rate", { ratePerSecond: 4 }, 1],
    ["places", { bulkhead: 9 }, 1],
    ["an order to the breaker", { breakerForce: "closed" }, 1],
    ["a contract", { contract: null, warmUpMs: 60_000 }, 1],
    ["the address", { config: { redriveUrl: "http://new" } }, 2],
    ["a reset", { resetAtMs: 7_000 }, 2],
  ])(
    "opens the target again, and forgets that it was away, only for another address, secret or a reset: %s",
    async (_, change, opens) => {
      const { directory, store, clock, publishers } = directoryOf(ORDERS);
      const used = opened(await directory.find("s1", redrive()));
      used.markUnreachable("ETIMEDOUT");
      store.targets = [{ ...ORDERS, ...change, revision: "2" }];
      await clock.advance(REREAD_MS);
      await directory.find("s1", redrive());
      expect(publishers.map(({ closed }) => closed)).toEqual(opens === 1 ? [false] : [true, false]);
      expect(used.publisher).toBe(publishers.at(-1));
      expect(directory.reports()["orders-main"]!.away === null).toBe(opens === 2);
    },
  );

  it("reports the sends of the last ten seconds and of the last minute", async () => {
    const { directory, clock } = directoryOf(ORDERS);
    const used = opened(await directory.find("s1", redrive()));
    const reported = async (afterMs: number, sends: number) => {
      used.state.counters.attempts += sends;
      await clock.advance(afterMs);
      return directory.reports()["orders-main"]!.sent;
    };
    expect(await reported(2_000, 30)).toEqual({ tenSeconds: 30, minute: 30 });
    expect(await reported(8_000, 5)).toEqual({ tenSeconds: 35, minute: 35 });
    expect(await reported(2_000, 0)).toEqual({ tenSeconds: 5, minute: 35 });
    expect(await reported(50_000, 0)).toEqual({ tenSeconds: 0, minute: 5 });
  });

  it("says of a removed target that it was removed, also to a slice that uses it", async () => {
    const { directory, store, clock, publishers } = directoryOf(ORDERS);
    const used = opened(await directory.find("s1", redrive()));
    store.targets = [];
    await clock.advance(REREAD_MS);
    expect(await directory.find("s1", redrive())).toEqual({ fault: "the source has no target on the main lane" });
    expect(await used.health()).toMatchObject({ reachable: false, detail: "the target was removed" });
    expect(publishers[0]!.closed).toBe(true);
  });

  it("looks a source up again before its events are refused", async () => {
    const { directory, store } = directoryOf();
    expect(await directory.find("s1", redrive())).toEqual({ fault: "the source has no target on the main lane" });
    store.targets = [ORDERS];
    opened(await directory.find("s1", redrive()));
  });

  it("looks a new source up before its events go to a named target: its kind is that of the source", async () => {
    const { directory, store } = directoryOf(ORDERS);
    const named = { ...redrive(), targetId: "t1" };
    opened(await directory.find("s1", named));
    store.targets = [ORDERS, { ...ORDERS, id: "t2", name: "jobs", sourceId: "s2", source: "jobs", kind: "kafka" }];
    expect(await directory.find("s2", named)).toEqual({
      fault: "orders-main is a target of kind http, and jobs is of kind kafka",
    });
    store.targets = [ORDERS, { ...ORDERS, id: "t3", name: "late", sourceId: "s3", source: "late" }];
    expect(opened(await directory.find("s3", named)).row.name).toBe("orders-main");
  });

  it("gives a changed rate to a send that waits for a token of the target", async () => {
    const { directory, store, clock, asked } = directoryOf({ ...ORDERS, ratePerSecond: 4 });
    const stop = new AbortController();
    const waits = opened(await directory.find("s1", redrive())).takeToken(stop.signal);
    waits.catch(() => undefined);
    await clock.advance(50);
    expect(asked.at(-1)).toMatchObject({ key: "target:t1", ratePerSecond: 4 });
    store.targets = [{ ...ORDERS, ratePerSecond: 40, revision: "2" }];
    await clock.advance(REREAD_MS);
    await directory.heldSources(redrive());
    await clock.advance(500);
    expect(asked.at(-1)).toMatchObject({ ratePerSecond: 40 });
    stop.abort(new Error("the end of the test"));
    await expect(waits).rejects.toThrow("the end of the test");
    expect(clock.pending()).toBe(0);
  });

  it("holds the sources of an open breaker on the redrive's lane, not those that a person holds open", async () => {
    const { directory, store, clock } = directoryOf(ORDERS);
    const { state } = opened(await directory.find("s1", redrive()));
    expect(await directory.heldSources(redrive())).toMatchObject({ sourceIds: [] });
    state.force("open");
    expect(await directory.heldSources(redrive())).toMatchObject({ sourceIds: [] });
    state.force("auto");
    const breaker = state.breaker!;
    for (let calls = 0; calls < 200; calls++) {
      breaker.record(breaker.acquire(clock.nowMs()), true, 10, clock.nowMs());
    }
    const held = await directory.heldSources(redrive());
    expect(held.sourceIds).toEqual(["s1"]);
    expect(held.waitMs).toBeGreaterThan(0);
    expect(await directory.heldSources(redrive({}, "slow"))).toMatchObject({ sourceIds: [] });
    expect(store.reads).toBeGreaterThan(0);
  });

  it("holds the sources of a target that swallows what is sent, and waits for no probe of it", async () => {
    const { directory, clock, publishers } = directoryOf(ORDERS);
    const target = opened(await directory.find("s1", redrive()));
    const answers = Promise.withResolvers<{ reachable: true; detail: string }>();
    publishers[0]!.probe = (() => answers.promise) as unknown as Publisher["probe"];
    target.markUnreachable("ETIMEDOUT");
    await clock.advance(2_100);
    // Another source's claim asks before each of its claims: the clock stands still meanwhile.
    expect(await directory.heldSources(redrive())).toEqual({ sourceIds: ["s1"], waitMs: 2_000 });
    await clock.advance(2_100);
    expect(await directory.heldSources(redrive())).toMatchObject({ sourceIds: ["s1"] });
    answers.resolve({ reachable: true, detail: "well" });
    await clock.advance(0);
    expect(await directory.heldSources(redrive())).toMatchObject({ sourceIds: [] });
  });

  it("holds the sources of a stopped target until it is resumed, and ends the waits for it", async () => {
    const { directory, store } = directoryOf(ORDERS);
    const target = opened(await directory.find("s1", redrive()));
    store.targets = [{ ...ORDERS, stopped: true }];
    await directory.reread();
    expect(await directory.heldSources(redrive())).toEqual({ sourceIds: ["s1"], waitMs: Number.POSITIVE_INFINITY });
    expect(target.stopped.aborted).toBe(true);
    store.targets = [{ ...ORDERS, resumedAtMs: 7_000 }];
    await directory.reread();
    expect(await directory.heldSources(redrive())).toMatchObject({ sourceIds: [] });
    expect(target.stopped.aborted).toBe(false);
    expect(target.row.resumedAtMs).toBe(7_000);
  });

  it("sends nothing of a stopped target to its fallback, and nothing to a stopped fallback", async () => {
    const spare = { ...ORDERS, id: "t2", name: "orders-spare", lane: null, destination: {} } as TargetRow;
    const falls = { ...ORDERS, fallback: { kind: "target" as const, target: spare.name } };
    const { directory, store, clock } = directoryOf(falls, spare);
    const { state } = opened(await directory.find("s1", redrive()));
    store.targets = [{ ...falls, stopped: true }, spare];
    await directory.reread();
    expect(await directory.heldSources(redrive())).toMatchObject({ sourceIds: ["s1"] });

    store.targets = [falls, spare];
    await directory.reread();
    for (let calls = 0; calls < 200; calls++) {
      state.breaker!.record(state.breaker!.acquire(clock.nowMs()), true, 10, clock.nowMs());
    }
    expect(await directory.heldSources(redrive())).toMatchObject({ sourceIds: [] });
    store.targets = [falls, { ...spare, stopped: true }];
    await directory.reread();
    expect(await directory.heldSources(redrive())).toMatchObject({ sourceIds: ["s1"] });
  });
});
