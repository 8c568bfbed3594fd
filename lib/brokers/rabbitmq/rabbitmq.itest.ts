import { onRabbitmq } from "@/lib/brokers/rabbitmq/testing/rabbitmq-broker";
import { describeRabbitmq } from "@/lib/brokers/rabbitmq/testing/rabbitmq-suite";
import { describeWith } from "@/lib/testing/describe-with";
import { rabbitmqMissing } from "@/lib/testing/rabbitmq";

describeWith(rabbitmqMissing, "RabbitMQ of the machine", () => {
  onRabbitmq("installed");
  describeRabbitmq();
});
