import { afterEach, beforeEach, expect, test } from "vitest";
import type { LaneConnection } from "@/lib/lane/connection";
import { createLaneQueue } from "@/lib/lane/queue";
import { openTokenBucket } from "@/lib/lane/token-bucket";
import { systemClock } from "@/lib/platform/clock";
import { type TestDatabase, testDatabase } from "@/lib/testing/postgres";
import { startTcpProxy, type TcpProxy } from "@/lib/testing/tcp-proxy";

let database: TestDatabase;
let proxy: TcpProxy;
beforeEach(async () => {
  database = await testDatabase();
  proxy = await startTcpProxy(Number(new URL(database.url).port));
});
afterEach(async () => {
  await proxy.stop();
  await database.drop();
});

type Part = { call(): Promise<unknown>; close(): Promise<void> };
const PARTS: Record<string, (connection: LaneConnection) => Promise<Part>> = {
  "the queue": async (connection) => {
    const queue = createLaneQueue(connection, systemClock);
    return { call: () => queue.ping(), close: () => queue.close() };
  },
  "the token bucket": async (connection) => {
    const { bucket, close } = await openTokenBucket(connection, () => undefined);
    return { call: () => bucket.take({ key: "t", ratePerSecond: 5, burst: 5 }, 1), close };
  },
};

test.each(Object.entries(PARTS))("%s: a silent connection costs one call, and no idle one another", async (_, open) => {
  const url = new URL(database.url);
  url.port = String(proxy.port);
  const part = await open({ kind: "postgres", connectionString: url.href });
  await part.call();
  await Promise.all(Array.from({ length: 4 }, () => part.call()));
  proxy.halfOpen();
  await expect(part.call()).rejects.toThrow();
  await Promise.all(Array.from({ length: 4 }, () => part.call()));
  await part.close();
});
