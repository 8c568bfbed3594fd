import { ReceiveMessageCommand, SendMessageCommand } from "@aws-sdk/client-sqs";
import { describe, expect, it } from "vitest";
import { consumerOf, describeBroker, describeBrokerOutages, eventually } from "@/lib/brokers/broker.conformance";
import type { SqsConfig } from "@/lib/brokers/sqs/kind.shapes";
import {
  adapter,
  configOf,
  depthOf,
  direct,
  makeHarness,
  makeQueues,
  onElasticmq,
} from "@/lib/brokers/sqs/testing/sqs-broker";
import { describeWith } from "@/lib/testing/describe-with";
import { elasticmqMissing } from "@/lib/testing/elasticmq";

describeWith(elasticmqMissing, "sqs", () => {
  onElasticmq();

  describeBrokerOutages<SqsConfig>("sqs", () => makeHarness(false));

  describe("fifo", () => {
    describeBroker<SqsConfig>("sqs", () => makeHarness(true));
    describeBrokerOutages<SqsConfig>("sqs", () => makeHarness(true));
  });

  describe("a dead letter's way back", () => {
    it("hides messages for as long as a commit takes", async () => {
      const queues = await makeQueues();
      await direct.send(new SendMessageCommand({ QueueUrl: queues.dlqUrl, MessageBody: "slow" }));
      const commit = Promise.withResolvers<void>();
      let offered = 0;
      const consumer = consumerOf(adapter, configOf(queues, { visibilitySeconds: 3 }), async (batch) => {
        offered += batch.length;
        await commit.promise;
      });
      await eventually(() => offered).toBe(1);
      const { Messages } = await direct.send(
        // Longer than the visibility timeout that the message was received with.
        new ReceiveMessageCommand({ QueueUrl: queues.dlqUrl, WaitTimeSeconds: 5 }),
      );
      expect(Messages ?? []).toEqual([]);
      commit.resolve();
      await eventually(() => depthOf(queues.dlqUrl)).toBe(0);
      await consumer.stop();
    });
  });
});
