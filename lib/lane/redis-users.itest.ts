import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { redisInstalled, type TestRedis, testRedis } from "@/lib/testing/redis";
import { QUEUE_NAMES, redisPrefix } from "./connection";
import { laneConformance } from "./lane.conformance";
import { openTokenBucket } from "./token-bucket";
import { tokenBucketConformance } from "./token-bucket.conformance";

/** The users of docs/redis-users.acl, and one that may do everything, for the test itself. */
const PASSWORD = "a-password-of-parkade";
const ADMIN = "user admin on >of-the-test ~* &* +@all";
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "parkade-acl-"));
  const hash = createHash("sha256").update(PASSWORD).digest("hex");
  const users = readFileSync("docs/redis-users.acl", "utf8").replace("SHA256-OF-THE-PASSWORD", hash);
  writeFileSync(join(folder, "users.acl"), `${users}${ADMIN}\n`);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Guarded = { server: TestRedis; url: string; adminUrl: string };
async function guarded(): Promise<Guarded> {
  const server = await testRedis({ settings: { aclfile: join(folder, "users.acl") } });
  const as = (user: string) => server.url.replace("redis://", `redis://${user}@`);
  return { server, url: as(`parkade:${PASSWORD}`), adminUrl: as("admin:of-the-test") };
}

describe.skipIf(!redisInstalled)("as the user of docs/redis-users.acl", () => {
  describe("the contract of the lane", () => {
    laneConformance(async () => {
      const { server, url, adminUrl } = await guarded();
      const connection = { kind: "redis" as const, url };
      const prefix = redisPrefix(connection, "main");
      const admin = new Redis(adminUrl, { retryStrategy: () => 20 });
      admin.on("error", () => {});
      return {
        connection,
        stealLocks: async () => {
          const locks = await admin.keys(`${prefix}:*:lock`);
          await Promise.all(locks.map((lock) => admin.set(lock, "somebody else", "PX", 300)));
        },
        flush: async () => {
          await admin.flushall();
        },
        addRaw: async (lane, data) => {
          const queue = new Queue(QUEUE_NAMES[lane], { connection: { url: adminUrl }, prefix });
          await queue.add("raw", data);
          await queue.close();
        },
        jobsKept: async (lane) => (await admin.keys(`${prefix}:${QUEUE_NAMES[lane]}:*-*-*-*`)).length,
        goAway: () => server.kill(),
        comeBack: () => server.restart(),
        close: async () => {
          admin.disconnect();
          await server.stop();
        },
      };
    });
  });

  describe("the contract of the token bucket", () => {
    tokenBucketConformance(async () => {
      const { server, url, adminUrl } = await guarded();
      const admin = new Redis(adminUrl);
      const keyOf = (key: string) => `${redisPrefix({ kind: "redis", url }, "bucket")}:bucket:${key}`;
      return {
        connect: () => openTokenBucket({ kind: "redis", url }, () => {}),
        age: async (key, ms) => {
          await admin.hincrby(keyOf(key), "at", -Math.round(ms * 1000));
        },
        wipe: async () => {
          await admin.flushall();
        },
        close: async () => {
          admin.disconnect();
          await server.stop();
        },
      };
    });
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
