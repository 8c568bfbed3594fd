import { Redis } from "ioredis";
import { describe, expect, test } from "vitest";
import { guardedRedis } from "@/lib/lane/testing/redis-users";
import { systemClock } from "@/lib/platform/clock";
import { redisInstalled } from "@/lib/testing/redis";
import { createLaneQueue } from "./queue";
import { openTokenBucket } from "./token-bucket";
import { startLaneWorker } from "./worker";

const guarded = guardedRedis();
const silent = () => {};

/** The contracts of the lane and of the token bucket are kept by it, too: `redis-users.soak`. */
describe.skipIf(!redisInstalled)("as the user of docs/redis-users.acl", () => {
  test("a slice that is enqueued runs, and a token is taken", async () => {
    const { server, url } = await guarded();
    const connection = { kind: "redis", url } as const;
    const started: unknown[] = [];
    const worker = await startLaneWorker({
      ...{ clock: systemClock, connection, lane: "main" as const, concurrency: 2, onError: silent },
      run: async (job) => {
        started.push(job);
        return { kind: "done" };
      },
      log: { info: silent, warn: silent, error: silent },
    });
    const queue = createLaneQueue(connection, systemClock);
    const slice = { kind: "slice" as const, redriveId: "01a1f89d-e8a2-770a-b22b-52ad71a3843c", slice: 0 };
    await queue.enqueue("main", [slice]);
    await expect.poll(() => queue.jobs("main", ["waiting", "active"])).toEqual([]);
    expect(started).toEqual([slice]);
    await worker.stop(0);
    await queue.close();

    const open = await openTokenBucket(connection, silent);
    const spec = { key: "target", ratePerSecond: 1_000, burst: 2 };
    await expect.poll(async () => (await open.bucket.takeUpTo(spec, 2)).granted).toBe(2);
    expect(await open.bucket.level(spec)).not.toBeNull();
    await open.close();
    await server.stop();
  });

  test("nothing else of the server can be read, changed or stopped, and without a password it answers PING alone", async () => {
    const { server, url, adminUrl } = await guarded();
    const admin = new Redis(adminUrl);
    await admin.set("of-another", "kept");
    const user = new Redis(url);
    for (const command of [
      ["get", "of-another"],
      ["set", "of-another", "x"],
      ["del", "of-another"],
      ["eval", "return redis.call('get', KEYS[1])", "1", "of-another"],
      ["publish", "of-another", "x"],
      ["keys", "*"],
      ["flushall"],
      ["config", "get", "*"],
      ["config", "set", "dir", "/tmp"],
      ["acl", "list"],
      ["shutdown", "nosave"],
      ["replicaof", "127.0.0.1", "1"],
      ["monitor"],
      ["client", "kill", "id", "1"],
      ["save"],
    ] as const)
      await expect(user.call(...(command as unknown as [string, ...string[]])), command.join(" ")).rejects.toThrow(
        /NOPERM|can't access|No permissions/i,
      );
    expect(await user.ping()).toBe("PONG");
    const nobody = new Redis(server.url);
    expect(await nobody.ping()).toBe("PONG");
    await expect(nobody.get("of-another")).rejects.toThrow(/NOPERM/);
    await expect(nobody.info()).rejects.toThrow(/NOPERM/);
    expect(await admin.get("of-another")).toBe("kept");
    for (const client of [admin, user, nobody]) client.disconnect();
    await server.stop();
  });
});
