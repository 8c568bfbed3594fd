import { describe } from "vitest";
import { describeBroker, describeBrokerOutages } from "@/lib/brokers/broker.conformance";
import type { SqsConfig } from "@/lib/brokers/sqs/kind.shapes";
import { makeHarness, onElasticmq } from "@/lib/brokers/sqs/testing/sqs-broker";
import { describeWith } from "@/lib/testing/describe-with";
import { elasticmqMissing } from "@/lib/testing/elasticmq";

describeWith(elasticmqMissing, "sqs", () => {
  onElasticmq();

  describeBrokerOutages<SqsConfig>("sqs", () => makeHarness(false));

  describe("fifo", () => {
    describeBroker<SqsConfig>("sqs", () => makeHarness(true));
    describeBrokerOutages<SqsConfig>("sqs", () => makeHarness(true));
  });
});
