import { randomBytes } from "node:crypto";
import { AckPolicy } from "@nats-io/jetstream";
import { nanos } from "@nats-io/transport-node";
import { describe, expect, it } from "vitest";
import { consumerOf, describeBrokerOutages, eventually } from "@/lib/brokers/broker.conformance";
import type { NatsConfig } from "@/lib/brokers/nats/kind.shapes";
import {
  adapter,
  configOf,
  jsm,
  makeHarness,
  makeStreams,
  onNats,
  publish,
} from "@/lib/brokers/nats/testing/nats-broker";
import { systemClock } from "@/lib/platform/clock";
import { describeWith } from "@/lib/testing/describe-with";
import { natsMissing } from "@/lib/testing/nats";

describeWith(natsMissing, "nats", () => {
  onNats();

  describeBrokerOutages<NatsConfig>("nats", makeHarness);

  describe("a dead letter's way back", () => {
    it("reads by the subject that the source has now, and changes no consumer of somebody else", async () => {
      const id = randomBytes(4).toString("hex");
      const [dead, first, second] = [`DEAD_${id}`, `dead.${id}.first`, `dead.${id}.second`];
      await jsm.streams.add({ name: dead, subjects: [`dead.${id}.>`] });
      const config = configOf({ stream: dead, filter: first });
      /** What a source reads, with this configuration, of messages that are published once its consumer is as configured. */
      const reads = async (changed: NatsConfig): Promise<string[]> => {
        const parked: string[] = [];
        const consumer = consumerOf(adapter, changed, async (batch) => {
          parked.push(...batch.map(({ payload }) => Buffer.from(payload).toString()));
        });
        const present = async () => (await jsm.consumers.info(dead, "reader").catch(() => null))?.config;
        const { filter, ackWaitSeconds } = changed;
        await expect
          .poll(async () => [(await present())?.filter_subject ?? "", consumer.state().lastError], { timeout: 9000 })
          .toEqual([filter ?? "", null]);
        await eventually(async () => (await present())?.ack_wait).toBe(nanos(ackWaitSeconds! * 1_000));
        for (const subject of [first, second, first])
          await publish(subject, { body: Buffer.from(subject), headers: [] });
        await publish(filter ?? second, { body: Buffer.from("the last"), headers: [] });
        await eventually(() => parked.at(-1)).toBe("the last");
        await consumer.stop();
        return parked.slice(0, -1);
      };
      expect(await reads(config)).toEqual([first, first]);
      expect((await reads({ ...config, filter: second, ackWaitSeconds: 7 })).slice(-1)).toEqual([second]);
      const { filter: _, ...all } = config;
      expect((await reads(all)).slice(-3)).toEqual([first, second, first]);

      await jsm.consumers.add(dead, { durable_name: "theirs", ack_policy: AckPolicy.Explicit, filter_subject: first });
      const consumer = consumerOf(adapter, { ...config, consumer: "theirs", filter: second }, async () => undefined);
      await eventually(() => consumer.state().lastError).toContain(`reads ${first}, not ${second}: change it`);
      await consumer.stop();
      expect((await jsm.consumers.info(dead, "theirs")).config.filter_subject).toBe(first);
    });

    it("holds messages for longer than the acknowledgement wait", async () => {
      const { dead, deadSubject } = await makeStreams();
      await publish(deadSubject, { body: Buffer.from("slow"), headers: [] });
      const commit = Promise.withResolvers<void>();
      let offered = 0;
      const consumer = consumerOf(adapter, configOf({ stream: dead, ackWaitSeconds: 6 }), async (batch) => {
        offered += batch.length;
        await commit.promise;
      });
      await eventually(() => offered).toBe(1);
      const handedOut = async () => (await jsm.consumers.info(dead, "reader")).num_redelivered;
      await systemClock.sleep(8_000); // longer than the wait: NATS would hand it out again
      expect(await handedOut()).toBe(0);
      commit.resolve();
      await eventually(async () => (await jsm.consumers.info(dead, "reader")).num_ack_pending).toBe(0);
      await consumer.stop();
    });
  });
});
