import { connect } from "amqplib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testCertificates } from "./certificates.ts";
import { describeWith } from "./describe-with.ts";
import { rabbitmq4Missing, rabbitmqMissing, type TestRabbitmq, testRabbitmq } from "./rabbitmq.ts";
import { processesOf } from "./server-process.ts";

for (const [version, missing] of [
  ["installed", rabbitmqMissing],
  ["4", await rabbitmq4Missing()],
] as const) {
  describeWith(missing, `test RabbitMQ, version ${version}`, () => {
    const certificates = testCertificates();
    let rabbit: TestRabbitmq;
    beforeAll(async () => {
      rabbit = await testRabbitmq({ version, certificates, plugins: ["rabbitmq_management"] });
    });
    afterAll(async () => {
      certificates.remove();
      await rabbit?.stop();
    });

    test("is of the version that was asked for", async () => {
      if (version === "4") expect((await rabbit.ctl("version")).trim()).toMatch(/^4\./);
      else expect((await rabbit.ctl("version")).trim()).toMatch(/^\d+\./);
    });

    test("keeps durable messages when killed, and comes back at its address", async () => {
      const before = await rabbit.connect();
      before.on("error", () => undefined);
      const channel = await before.createConfirmChannel();
      channel.on("error", () => undefined);
      await channel.assertQueue("kept", { durable: true });
      await rabbit.storeDefinitions();
      expect(await rabbit.messages("kept")).toEqual({ ready: 0, unacknowledged: 0 });
      channel.sendToQueue("kept", Buffer.from("kept"), { persistent: true });
      await channel.waitForConfirms();
      await rabbit.kill();
      await expect(rabbit.connect()).rejects.toThrow();
      await rabbit.start();
      const after = await rabbit.connect();
      const read = await after.createChannel();
      read.on("error", () => undefined); // the rejected call carries the same error
      await expect.poll(async () => (await read.checkQueue("kept")).messageCount).toBe(1);
      expect(await rabbit.messages("kept")).toEqual({ ready: 1, unacknowledged: 0 });
      expect(((await read.get("kept", { noAck: false })) as { content: Buffer }).content.toString()).toBe("kept");
      await expect.poll(() => rabbit.messages("kept")).toEqual({ ready: 0, unacknowledged: 1 });
      expect(await rabbit.messages("none")).toEqual({ ready: Number.NaN, unacknowledged: Number.NaN });
      await after.close();
    });

    test("speaks TLS, also with a client's certificate", async () => {
      const { ca, otherCa, client } = certificates;
      await (await connect(rabbit.tlsUrl, { ca: [ca] })).close();
      await (await connect(rabbit.tlsUrl, { ca: [ca], cert: client.cert, key: client.key })).close();
      await expect(connect(rabbit.tlsUrl, { ca: [otherCa] })).rejects.toThrow(/certificate/);
    });

    test("has the management API", async () => {
      const headers = { authorization: `Basic ${btoa("guest:guest")}` };
      const health = `${rabbit.managementUrl}/api/health/checks/port-listener/${rabbit.port}`;
      expect(await (await fetch(health, { headers })).json()).toMatchObject({ status: "ok" });
    });

    test("leaves no process when it is stopped", async () => {
      const other = await testRabbitmq({ version });
      expect(processesOf(other.folder)).not.toEqual([]);
      await other.stop();
      await expect.poll(() => processesOf(other.folder)).toEqual([]);
    }, 180_000);
  });
}
