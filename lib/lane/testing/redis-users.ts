import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import { afterAll, beforeAll } from "vitest";
import { type TestRedis, testRedis } from "@/lib/testing/redis";
import { QUEUE_NAMES, redisPrefix } from "../connection";
import type { LaneServer } from "../lane.conformance";

/** The users of docs/redis-users.acl, and one that may do everything, for the test itself. */
const PASSWORD = "a-password-of-parkade";
const ADMIN = "user admin on >of-the-test ~* &* +@all";

export type Guarded = { server: TestRedis; url: string; adminUrl: string };

/** Registers the hooks of the file that write the users and remove them; the result starts a server with these users. */
export function guardedRedis(): () => Promise<Guarded> {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "parkade-acl-"));
    const hash = createHash("sha256").update(PASSWORD).digest("hex");
    const users = readFileSync("docs/redis-users.acl", "utf8").replace("SHA256-OF-THE-PASSWORD", hash);
    writeFileSync(join(folder, "users.acl"), `${users}${ADMIN}\n`);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return async () => {
    const server = await testRedis({ settings: { aclfile: join(folder, "users.acl") } });
    const as = (user: string) => server.url.replace("redis://", `redis://${user}@`);
    return { server, url: as(`parkade:${PASSWORD}`), adminUrl: as("admin:of-the-test") };
  };
}

/** A server for the conformance suite of the lane, used as Parkade's user. */
export function guardedLane({ server, url, adminUrl }: Guarded): LaneServer {
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
}
