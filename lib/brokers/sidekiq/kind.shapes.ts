import * as z from "zod/mini";
import { descriptor } from "@/lib/brokers/kinds/descriptor.shapes";
import { brokerSettings, field, redisUrl, text } from "@/lib/brokers/kinds/fields.shapes";

const config = z.strictObject({
  url: redisUrl(),
  namespace: field(z.optional(text(1, 200)), {
    label: "Namespace",
    hint: "What stands before each key and a colon, where redis-namespace is used.",
    example: "shop",
    advanced: true,
  }),
  redriveTo: z.optional(
    z.strictObject({
      queue: field(text(1, 300), {
        label: "Redrive to queue",
        hint: "Instead of the job's own queue.",
        example: "default",
        advanced: true,
      }),
    }),
  ),
  slowLaneQueue: field(z.optional(text(1, 300)), {
    label: "Slow-lane queue",
    hint: "Where the slow lane delivers. Without it the slow lane uses the job's own queue.",
    example: "slow",
  }),
  ...brokerSettings,
});
export type SidekiqConfig = z.infer<typeof config>;

export const sidekiq = descriptor({
  kind: "sidekiq",
  label: "Sidekiq",
  about: "Takes jobs out of Sidekiq's dead set; a redrive puts a job back into its queue, as Sidekiq's own retry does.",
  icon: "list-todo",
  config,
  capabilities: { reads: true, redrives: true, order: null, slowLane: true },
  destination: ["redriveTo", "checkCall"],
  example: { url: "env:PARKADE_SECRET_REDIS" },
  docs: "connect-sidekiq.md",
  reads: ({ namespace }) => `the dead set${namespace === undefined ? "" : ` of ${namespace}`}`,
  address: ({ redriveTo, slowLaneQueue }, lane) => {
    const queue = (lane === "slow" ? slowLaneQueue : undefined) ?? redriveTo?.queue;
    return queue === undefined ? "the job's own queue" : `queue ${queue}`;
  },
});
