import { describe, expect, it } from "vitest";
import { consumerOf, describeBrokerOutages } from "@/lib/brokers/broker.conformance";
import type { PubsubConfig } from "@/lib/brokers/pubsub/kind.shapes";
import {
  adapter,
  configOf,
  front,
  makeHarness,
  makeTopics,
  never,
  onPubsub,
  produce,
  takeAll,
} from "@/lib/brokers/pubsub/testing/pubsub-broker";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { describeWith } from "@/lib/testing/describe-with";
import { pubsubMissing } from "@/lib/testing/pubsub";

describeWith(pubsubMissing, "pubsub", () => {
  onPubsub();

  describeBrokerOutages<PubsubConfig>("pubsub", makeHarness);

  describe("leases and acknowledgements", () => {
    it("keeps a message from others for as long as its commit takes", async () => {
      const names = await makeTopics();
      const passing = await front();
      await produce(names.dead, [{ data: Buffer.from("slow") }]);
      const extended = () => passing.calls.filter(({ method }) => method === "ModifyAckDeadline").length;
      let offered = 0;
      const consumer = consumerOf(adapter, configOf(names, passing.port), async () => {
        offered += 1;
        // One at once, then one every 3.3 s: beyond the ten seconds of the first.
        await expect.poll(extended, { interval: 50 }).toBeGreaterThanOrEqual(5);
        expect(await takeAll(names.deadReaders)).toEqual([]);
      });
      await expect.poll(() => passing.acknowledged.size, { interval: 50 }).toBe(1);
      await consumer.stop();
      expect(offered).toBe(1);
    });

    it("holds what cannot be stored where a return counts towards a policy, and is not looked into there", async () => {
      const names = await makeTopics({ deadPolicy: true });
      const { port } = await front();
      await produce(names.dead, [{ data: Buffer.from("last") }]);
      const config = configOf(names, port);
      const probed = await adapter.probe(config, never);
      expect(probed).toMatchObject({ reachable: true, sample: [], detail: expect.stringContaining("not sampled") });
      const parked: DeadLetter[] = [];
      let calls = 0;
      const consumer = consumerOf(adapter, config, async (batch) => {
        calls += 1;
        if (calls < 8) throw new Error("the store is away");
        parked.push(...batch);
      });
      await expect.poll(() => parked.length, { interval: 50 }).toBe(1);
      await consumer.stop();
      expect(await takeAll(names.readers)).toEqual([]);
    });
  });
});
