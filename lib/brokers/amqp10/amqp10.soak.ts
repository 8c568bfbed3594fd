import { expect, it } from "vitest";
import type { Amqp10Config } from "@/lib/brokers/amqp10/kind.shapes";
import { adapter, harness, never, onArtemis } from "@/lib/brokers/amqp10/testing/artemis-broker";
import { consumerOf, describeBrokerOutages, eventually } from "@/lib/brokers/broker.conformance";
import { artemisMissing } from "@/lib/testing/artemis";
import { describeWith } from "@/lib/testing/describe-with";

describeWith(artemisMissing, "Artemis", () => {
  onArtemis();

  describeBrokerOutages<Amqp10Config>("amqp10", harness);

  it("says that a server does not answer over TLS, when the time for a connection is over", async () => {
    const { config, stop } = await harness();
    const secure = { ...config, url: config.url.replace("amqp:", "amqps:") };
    const says = /cannot|lost|answer/;
    expect(await adapter.probe(secure, never)).toMatchObject({
      reachable: false,
      detail: expect.stringMatching(says),
    });
    const consumer = consumerOf(adapter, secure, async () => undefined);
    await eventually(() => consumer.state().lastError ?? "").toMatch(says);
    await consumer.stop();
    await stop();
  });
});
