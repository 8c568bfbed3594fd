import { describeBrokerOutages } from "@/lib/brokers/broker.conformance";
import type { RabbitmqConfig } from "@/lib/brokers/rabbitmq/kind.shapes";
import { makeHarness, onRabbitmq } from "@/lib/brokers/rabbitmq/testing/rabbitmq-broker";
import { describeRabbitmq } from "@/lib/brokers/rabbitmq/testing/rabbitmq-suite";
import { describeWith } from "@/lib/testing/describe-with";
import { rabbitmq4Missing, rabbitmqMissing } from "@/lib/testing/rabbitmq";

describeWith(rabbitmqMissing, "RabbitMQ of the machine", () => {
  onRabbitmq("installed");
  describeBrokerOutages<RabbitmqConfig>("rabbitmq", makeHarness);
});

describeWith(await rabbitmq4Missing(), "RabbitMQ 4", () => {
  onRabbitmq("4");
  describeRabbitmq();
  describeBrokerOutages<RabbitmqConfig>("rabbitmq", makeHarness);
});
