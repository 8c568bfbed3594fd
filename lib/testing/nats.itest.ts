import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testCertificates } from "./certificates.ts";
import { describeWith } from "./describe-with.ts";
import { natsMissing, type TestNats, testNats } from "./nats.ts";
import { processesOf } from "./server-process.ts";

describeWith(natsMissing, "test NATS", () => {
  let nats: TestNats;
  beforeAll(async () => {
    nats = await testNats();
  });
  afterAll(() => nats?.stop());

  async function on<T>(work: (connection: NatsConnection) => Promise<T>): Promise<T> {
    const connection = await connect({ servers: nats.address });
    try {
      return await work(connection);
    } finally {
      await connection.close();
    }
  }

  test("keeps its streams when killed, and comes back at its address", async () => {
    await on(async (connection) => {
      await (await jetstreamManager(connection)).streams.add({ name: "ORDERS", subjects: ["orders.>"] });
      await jetstream(connection).publish("orders.1", "kept");
    });
    await nats.kill();
    await expect(connect({ servers: nats.address, reconnect: false })).rejects.toThrow();
    await nats.start();
    const stored = await on(async (connection) =>
      (await jetstreamManager(connection)).streams.getMessage("ORDERS", { seq: 1 }),
    );
    expect(stored?.string()).toBe("kept");
  });

  test("says why a consumer gave a message up", async () => {
    await on(async (connection) => {
      const manager = await jetstreamManager(connection);
      await manager.streams.add({ name: "MAIL", subjects: ["mail"] });
      await manager.consumers.add("MAIL", { durable_name: "mailer", ack_policy: "explicit" });
      const advisories = connection.subscribe("$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.>", { max: 1 });
      await jetstream(connection).publish("mail", "unreadable");
      const message = await (await jetstream(connection).consumers.get("MAIL", "mailer")).next();
      message!.term("not JSON");
      for await (const advisory of advisories) expect(advisory.json()).toMatchObject({ reason: "not JSON" });
    });
  });

  test("speaks TLS, asks for a user, and leaves no process when it is stopped", async () => {
    const certificates = testCertificates();
    const secured = await testNats({ certificates, config: 'authorization { user: app, password: "s3cret-7" }' });
    const options = { servers: secured.address, user: "app", pass: "s3cret-7", reconnect: false };
    await (await connect({ ...options, tls: { ca: certificates.ca } })).close();
    await expect(connect({ ...options, tls: { ca: certificates.otherCa } })).rejects.toThrow();
    await expect(connect({ ...options, tls: { ca: certificates.ca }, pass: "x" })).rejects.toThrow(/authorization/i);
    expect(processesOf(secured.folder)).toHaveLength(1);
    await secured.stop();
    expect(processesOf(secured.folder)).toEqual([]);
    certificates.remove();
  });
});
