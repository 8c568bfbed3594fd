import * as z from "zod/mini";
import { descriptor } from "@/lib/brokers/kinds/descriptor.shapes";
import { brokerSettings, field, redisUrl, slowLane, text } from "@/lib/brokers/kinds/fields.shapes";

const name = text(1, 300);

const config = z.strictObject({
  url: redisUrl("The broker of the application."),
  queue: field(name, {
    label: "Dead-letter queue",
    hint: "The queue into which the application puts tasks that failed for good. No worker consumes it.",
    example: "orders.dlq",
  }),
  redriveTo: z.optional(
    z.strictObject({
      queue: field(name, {
        label: "Redrive to queue",
        hint: "Instead of the queue that a task names in x-original-queue; needed where tasks name none.",
        example: "orders",
      }),
    }),
  ),
  slowLaneQueue: slowLane(name, "queue", "orders.slow"),
  keyPrefix: field(z.optional(text(1, 200)), {
    label: "Key prefix",
    hint: "global_keyprefix of the application's broker_transport_options.",
    example: "shop:",
    advanced: true,
  }),
  prioritySteps: field(
    z._default(
      z
        .string("must be text")
        .check(z.regex(/^\d(,\d)*$/, "must be numbers from 0 to 9 with commas between them, such as 0,3,6,9")),
      "0,3,6,9",
    ),
    {
      label: "Priority steps",
      hint: "priority_steps of the application's broker_transport_options: its workers read no other list of a queue.",
      advanced: true,
    },
  ),
  separator: field(z.optional(text(1, 20)), {
    label: "Separator",
    hint: "sep of the application's broker_transport_options; without it the two control characters that Kombu uses.",
    example: ":",
    advanced: true,
  }),
  ...brokerSettings,
});
export type CeleryConfig = z.infer<typeof config>;

export const celery = descriptor({
  kind: "celery",
  label: "Celery",
  about:
    "Takes tasks out of a dead-letter queue of Celery or Kombu on Redis; a redrive puts a task back into its queue.",
  icon: "leafy-green",
  config,
  capabilities: { reads: true, redrives: true, order: null, slowLane: true },
  destination: ["redriveTo", "checkCall"],
  example: { url: "env:PARKADE_SECRET_REDIS", queue: "orders.dlq" },
  docs: "connect-celery.md",
  reads: ({ queue }) => `queue ${queue}`,
  address: ({ redriveTo, slowLaneQueue }, lane) => {
    const queue = (lane === "slow" ? slowLaneQueue : undefined) ?? redriveTo?.queue;
    return queue === undefined ? "the task's own queue" : `queue ${queue}`;
  },
});
