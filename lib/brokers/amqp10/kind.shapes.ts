import * as z from "zod/mini";
import { descriptor } from "@/lib/brokers/kinds/descriptor.shapes";
import {
  brokerSettings,
  choice,
  field,
  secret,
  slowLane,
  text,
  urlOf,
  wholeNumber,
} from "@/lib/brokers/kinds/fields.shapes";

const address = text(1, 1_000);

const config = z.strictObject({
  url: field(urlOf(["amqp:", "amqps:"], "amqps://shop.servicebus.windows.net"), {
    label: "Broker URL",
    hint: "amqps:// encrypts. Without a port 5672, or 5671 for amqps.",
    example: "amqps://shop.servicebus.windows.net",
    role: "address",
  }),
  username: field(z.optional(text(1, 500)), {
    label: "User",
    hint: "Azure Service Bus: the name of the shared access policy. Without a user and a password: anonymous.",
    example: "RootManageSharedAccessKey",
  }),
  password: field(z.optional(secret()), {
    label: "Password",
    hint: "Azure Service Bus: the key of the policy, as it is shown there.",
    role: "secret",
  }),
  address: field(address, {
    label: "Dead-letter address",
    hint: "What is read. Azure Service Bus: QUEUE/$DeadLetterQueue or TOPIC/Subscriptions/NAME/$DeadLetterQueue. Artemis: the dead-letter address, DLA for example.",
    example: "orders/$DeadLetterQueue",
  }),
  redriveTo: z.optional(
    z.strictObject({
      address: field(z.optional(address), {
        label: "Redrive to",
        hint: "Instead of the address it came from; needed where the message does not name one, and for subscriptions of a topic.",
        example: "orders",
      }),
      messageId: field(z.optional(choice(["keep", "new"])), {
        label: "Message id",
        hint: "new: a new id for each attempt, so that a broker with duplicate detection does not silently drop the redrive. Default: new for Azure Service Bus, keep elsewhere.",
        advanced: true,
      }),
    }),
  ),
  slowLaneAddress: slowLane(address, "address", "orders.slow"),
  credit: field(z.optional(wholeNumber(1, 2_000)), {
    label: "Credit",
    hint: "Messages held unsettled at a time; a batch is at most half of it.",
    example: "500",
    advanced: true,
  }),
  ...brokerSettings,
});
export type Amqp10Config = z.infer<typeof config>;

export const amqp10 = descriptor({
  kind: "amqp10",
  label: "AMQP 1.0",
  about: "Reads a dead-letter queue of Azure Service Bus or Artemis; a redrive sends to the address a message died at.",
  icon: "inbox",
  config,
  capabilities: { reads: true, redrives: true, order: "per address", slowLane: true },
  destination: ["redriveTo", "checkCall"],
  example: {
    url: "amqps://shop.servicebus.windows.net",
    username: "parkade",
    password: "env:PARKADE_SECRET_SERVICE_BUS",
    address: "orders/$DeadLetterQueue",
  },
  docs: "connect-amqp10.md",
  reads: ({ address }) => `address ${address}`,
  address: ({ redriveTo, slowLaneAddress }, lane) => {
    const to = (lane === "slow" ? slowLaneAddress : undefined) ?? redriveTo?.address;
    return to === undefined ? "origin address" : `address ${to}`;
  },
});
