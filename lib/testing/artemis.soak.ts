import rhea, { type Connection, type ConnectionOptions, type Delivery, type EventContext, type Message } from "rhea";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ARTEMIS_DEAD_LETTERS, artemisMissing, type TestArtemis, testArtemis } from "./artemis.ts";
import { testCertificates } from "./certificates.ts";
import { describeWith } from "./describe-with.ts";
import { processesOf } from "./server-process.ts";

describeWith(artemisMissing, "test Artemis", () => {
  const certificates = testCertificates();
  let artemis: TestArtemis;
  beforeAll(async () => {
    artemis = await testArtemis({ certificates });
  });
  afterAll(async () => {
    certificates.remove();
    await artemis?.stop();
  });

  function open(options: Partial<ConnectionOptions> = {}): Promise<Connection> {
    const { host, port, username, password } = artemis;
    const connection = rhea
      .create_container()
      .connect({ host, port, username, password, reconnect: false, ...options } as ConnectionOptions);
    return new Promise((resolve, reject) => {
      connection.once("connection_open", () => resolve(connection));
      connection.on("connection_error", () => reject(connection.error));
      connection.on("disconnected", ({ error }: EventContext) => reject(error ?? new Error("disconnected")));
    });
  }

  async function send(address: string, body: string): Promise<void> {
    const connection = await open();
    const sender = connection.open_sender(address);
    await new Promise<void>((resolve, reject) => {
      sender.once("sendable", () => sender.send({ body, durable: true }));
      sender.once("accepted", () => resolve());
      sender.once("rejected", reject);
      sender.once("sender_error", () => reject(sender.error));
    });
    connection.close();
  }

  async function receive(address: string, settle: (delivery: Delivery) => void): Promise<Message> {
    const connection = await open();
    const receiver = connection.open_receiver({ source: address, autoaccept: false, credit_window: 1 });
    const message = await new Promise<Message>((resolve) => {
      receiver.once("message", ({ message, delivery }: EventContext) => {
        settle(delivery!);
        resolve(message!);
      });
    });
    // The broker has the settlement when it has answered the close that was sent after it.
    const closed = new Promise((resolve) => connection.once("connection_close", resolve));
    connection.close();
    await closed;
    return message;
  }

  test("keeps durable messages when killed, and comes back at its address", async () => {
    await send("kept", "kept");
    await artemis.kill();
    await expect(open()).rejects.toThrow();
    await artemis.start();
    expect((await receive("kept", (delivery) => delivery.accept())).body).toBe("kept");
  });

  test("puts a rejected message aside with the queue that it came from", async () => {
    await send("orders", "unreadable");
    await receive("orders", (delivery) => delivery.reject({ condition: "app:poison", description: "not JSON" }));
    const dead = await receive(ARTEMIS_DEAD_LETTERS, (delivery) => delivery.accept());
    expect(dead.body).toBe("unreadable");
    expect(dead.message_annotations).toMatchObject({ "x-opt-ORIG-QUEUE": "orders" });
  });

  test("asks for a password and speaks TLS", async () => {
    await expect(open({ password: "x" })).rejects.toThrow();
    const tls = { port: artemis.tlsPort, transport: "tls" as const };
    (await open({ ...tls, ca: certificates.ca })).close();
    await expect(open({ ...tls, ca: certificates.otherCa })).rejects.toThrow(/certificate/);
  });

  test("denies a verb, and leaves no process when it is stopped", async () => {
    const other = await testArtemis({ denied: ["send"] });
    const connection = await open({ port: other.port });
    const sender = connection.open_sender("orders");
    const denied = await new Promise((resolve) => sender.once("sender_error", () => resolve(sender.error)));
    expect(denied).toMatchObject({ condition: "amqp:unauthorized-access" });
    connection.close();
    expect(processesOf(other.folder)).toHaveLength(1);
    await other.stop();
    expect(processesOf(other.folder)).toEqual([]);
  }, 180_000);
});
