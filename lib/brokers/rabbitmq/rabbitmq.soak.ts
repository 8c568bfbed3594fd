import { describe, expect, it } from "vitest";
import { consumerOf, describeBrokerOutages, eventually, outbound } from "@/lib/brokers/broker.conformance";
import type { RabbitmqConfig } from "@/lib/brokers/rabbitmq/kind.shapes";
import {
  adapter,
  depth,
  makeHarness,
  never,
  onRabbitmq,
  openDirect,
  produceExact,
  queueWithDlq,
  rabbit,
} from "@/lib/brokers/rabbitmq/testing/rabbitmq-broker";
import { describeRabbitmq } from "@/lib/brokers/rabbitmq/testing/rabbitmq-suite";
import { describeWith } from "@/lib/testing/describe-with";
import { rabbitmq4Missing, rabbitmqMissing } from "@/lib/testing/rabbitmq";

function describeOutages(): void {
  describeBrokerOutages<RabbitmqConfig>("rabbitmq", makeHarness);
  // Last: it takes the broker down.
  describe("a broker that dies", () => restartTests());
}

describeWith(rabbitmqMissing, "RabbitMQ of the machine", () => {
  onRabbitmq("installed");
  describeOutages();
});

describeWith(await rabbitmq4Missing(), "RabbitMQ 4", () => {
  onRabbitmq("4");
  describeRabbitmq();
  describeOutages();
});

function restartTests(): void {
  it("comes back, and consumer and publisher go on without a loss", async () => {
    const { queue, dlq } = await queueWithDlq();
    await rabbit.storeDefinitions();
    const parked = new Set<string>();
    const config: RabbitmqConfig = { url: rabbit.url, queue: dlq };
    const consumer = consumerOf(adapter, config, async (batch) => {
      for (const letter of batch) parked.add(letter.eventId);
    });
    const publisher = adapter.publisher(config);
    await publisher.publish(outbound({ queue }), never);
    for (const id of ["a", "b"]) await produceExact("", dlq, { messageId: id, deliveryMode: 2 });
    await eventually(() => parked.size).toBe(2);
    await rabbit.kill();
    await eventually(() => consumer.state().state).toBe("failing");
    await expect(publisher.publish(outbound({ queue }), never)).rejects.toMatchObject({ sent: "no" });
    await rabbit.start();
    await openDirect();
    await produceExact("", dlq, { messageId: "c", deliveryMode: 2 });
    await eventually(() => parked.has("c")).toBe(true);
    await publisher.publish(outbound({ queue }), never);
    expect(await depth(queue)).toBe(2);
    await Promise.all([consumer.stop(), publisher.close()]);
  });
}
