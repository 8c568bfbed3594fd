import * as z from "zod/mini";
import { descriptor } from "@/lib/brokers/kinds/descriptor.shapes";
import {
  brokerSettings,
  choice,
  field,
  slowLane,
  text,
  urlOf,
  WITH_A_PASSWORD,
  wholeNumber,
} from "@/lib/brokers/kinds/fields.shapes";

const amqpName = text(1).check(
  z.refine((name) => new TextEncoder().encode(name).length <= 255, "holds at most 255 bytes"),
);

const config = z.strictObject({
  url: field(urlOf(["amqp:", "amqps:"], "amqps://rabbit.example:5671/vhost"), {
    label: "Broker URL",
    hint: `amqps:// encrypts. The path is the virtual host. ${WITH_A_PASSWORD}`,
    example: "amqps://rabbit.example:5671/vhost",
    role: "address",
  }),
  queue: field(amqpName, { label: "Dead-letter queue", hint: "A classic or quorum queue.", example: "orders.dlq" }),
  redriveTo: z.optional(
    z.strictObject({
      mode: field(z._default(choice(["origin-queue", "exchange"]), "origin-queue"), {
        label: "Redrive to",
        hint: "origin-queue: the one queue in which a consumer failed. exchange: where it was first published, to every subscriber.",
      }),
      queue: field(z.optional(amqpName), {
        label: "Queue",
        hint: "Instead of the origin queue; needed where the headers do not name one.",
        example: "orders",
      }),
      exchange: field(z.optional(text(0, 255)), {
        label: "Exchange",
        hint: "Instead of the origin exchange.",
        advanced: true,
      }),
      routingKey: field(z.optional(text(0, 255)), {
        label: "Routing key",
        hint: "Instead of the origin routing key.",
        advanced: true,
      }),
    }),
  ),
  slowLaneQueue: slowLane(amqpName, "queue", "orders.slow"),
  prefetch: field(z.optional(wholeNumber(1, 10_000)), {
    label: "Prefetch",
    hint: "Messages held unacknowledged at a time; a batch is at most half of it.",
    example: "1000",
    advanced: true,
  }),
  ...brokerSettings,
});
export type RabbitmqConfig = z.infer<typeof config>;

export const rabbitmq = descriptor({
  kind: "rabbitmq",
  label: "RabbitMQ",
  about: "Reads a dead-letter queue (classic or quorum); a redrive publishes to the queue a message died in.",
  icon: "rabbit",
  config,
  capabilities: { reads: true, redrives: true, order: "per queue", slowLane: true },
  destination: ["redriveTo", "checkCall"],
  example: { url: "env:PARKADE_SECRET_RABBITMQ", queue: "orders.dlq" },
  docs: "connect-rabbitmq.md",
  reads: ({ queue }) => `queue ${queue}`,
  address: ({ redriveTo, slowLaneQueue }, lane) => {
    if (lane === "slow" && slowLaneQueue !== undefined) return `queue ${slowLaneQueue}`;
    if (redriveTo?.mode === "exchange")
      return redriveTo.exchange === undefined ? "origin exchange" : `exchange ${redriveTo.exchange || "(default)"}`;
    return redriveTo?.queue === undefined ? "origin queue" : `queue ${redriveTo.queue}`;
  },
});
