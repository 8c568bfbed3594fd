import { type AddressInfo, createServer } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseArchiveLocation } from "@/lib/platform/archive/archive-location.pure";
import { type ArchiveStore, openArchiveStore } from "@/lib/platform/archive/archive-store";
import { systemClock } from "@/lib/platform/clock";
import { describeWith } from "@/lib/testing/describe-with";
import { startTcpProxy } from "@/lib/testing/tcp-proxy";
import { type TestVersitygw, testVersitygw, versitygwMissing } from "@/lib/testing/versitygw";

const BUCKET = "removed-events";

/** A call ends after 15 s of silence. */
describeWith(versitygwMissing, "a bucket", () => {
  let server: TestVersitygw;
  const opened: ArchiveStore[] = [];

  const connect = (endpoint: string) => {
    const location = parseArchiveLocation(`s3://${BUCKET}?endpoint=${encodeURIComponent(endpoint)}`);
    const store = openArchiveStore(location, { clock: systemClock, keys: server.keys });
    opened.push(store);
    return store;
  };
  const unavailable = (message: RegExp) => ({
    code: "archive-unavailable",
    message: expect.stringMatching(message),
  });

  beforeAll(async () => {
    server = await testVersitygw();
    await server.makeBucket(BUCKET);
  });
  afterAll(async () => {
    await Promise.all(opened.map((store) => store.close()));
    await server?.stop();
  });

  test("that accepts connections and answers nothing ends each call within 20 s, and works when it answers", async () => {
    const proxy = await startTcpProxy(server.port);
    const store = connect(`http://127.0.0.1:${proxy.port}`);
    proxy.stall();
    const begunMs = performance.now();
    const calls = [store.put("silent", Buffer.alloc(300_000)), store.get("silent"), store.remove("silent")];
    for (const outcome of await Promise.allSettled(calls))
      expect(outcome).toMatchObject({ status: "rejected", reason: unavailable(/did not answer/) });
    expect(performance.now() - begunMs).toBeLessThan(21_000);
    proxy.cut();
    proxy.resume();
    await store.put("answered", Buffer.from("x"));
    expect(await store.get("answered")).toHaveLength(1);
    await proxy.stop();
  });

  test("that stops in the middle of an object ends the read within 20 s", async () => {
    const half = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n${"x".repeat(1_000)}`));
    });
    await new Promise<void>((resolve) => half.listen(0, "127.0.0.1", resolve));
    const store = connect(`http://127.0.0.1:${(half.address() as AddressInfo).port}`);
    const begunMs = performance.now();
    await expect(store.get("half")).rejects.toMatchObject(unavailable(/did not answer/));
    expect(performance.now() - begunMs).toBeLessThan(21_000);
    half.close();
  });
});
