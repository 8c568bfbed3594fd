import * as z from "zod/mini";
import { descriptor } from "@/lib/brokers/kinds/descriptor.shapes";
import { brokerSettings, choice, field, flag, text, urlOf, WITH_A_PASSWORD } from "@/lib/brokers/kinds/fields.shapes";

const queueName = text(1, 200).check(
  z.refine((name) => !name.includes(":"), "contains a colon, which a queue name cannot have"),
);

const config = z.strictObject({
  url: field(urlOf(["redis:", "rediss:", "postgres:", "postgresql:"], "rediss://redis.example:6379/0"), {
    label: "Redis or PostgreSQL URL",
    hint: `Where the application keeps its queues. ${WITH_A_PASSWORD}`,
    example: "rediss://redis.example:6379/0",
    role: "address",
  }),
  queue: field(queueName, { label: "Queue", hint: "The queue whose failed jobs are read.", example: "orders" }),
  prefix: field(z._default(text(1, 200), "bull"), {
    label: "Prefix",
    hint: "The prefix of BullMQ's keys on Redis.",
    advanced: true,
  }),
  schema: field(z._default(text(1, 63), "bullmq"), {
    label: "Schema",
    hint: "The schema of BullMQ's tables on PostgreSQL.",
    advanced: true,
  }),
  redriveTo: z.optional(
    z.strictObject({
      mode: field(z._default(choice(["retry", "new-job"]), "retry"), {
        label: "Redrive as",
        hint: "retry: the failed job itself is retried, with all its attempts. new-job: adds a job with a new id, for a job that no longer exists or for another queue.",
      }),
      queue: field(z.optional(queueName), {
        label: "Queue for new jobs",
        hint: "Instead of the queue it failed in; new-job only.",
        example: "orders",
        advanced: true,
      }),
      keepOriginal: field(z.optional(flag()), {
        label: "Keep the failed job",
        hint: "new-job only. Off: the failed job is removed once the new one exists.",
        advanced: true,
      }),
    }),
  ),
  slowLaneQueue: field(z.optional(queueName), {
    label: "Slow-lane queue",
    hint: "Where the slow lane adds new jobs. Without it the slow lane uses the main destination.",
    example: "orders-slow",
  }),
  ...brokerSettings,
});
export type BullmqConfig = z.infer<typeof config>;

export const bullmq = descriptor({
  kind: "bullmq",
  label: "BullMQ",
  about: "Reads the failed jobs of another application's queue; a redrive retries the job, or adds a new one.",
  icon: "list-restart",
  config,
  capabilities: { reads: true, redrives: true, order: null, slowLane: true },
  destination: ["redriveTo", "checkCall"],
  example: { url: "env:PARKADE_SECRET_REDIS", queue: "orders" },
  docs: "connect-bullmq.md",
  reads: ({ queue }) => `failed jobs of ${queue}`,
  address: ({ queue, redriveTo, slowLaneQueue }, lane) => {
    if (lane === "slow" && slowLaneQueue !== undefined) return `new jobs of ${slowLaneQueue}`;
    return redriveTo?.mode === "new-job"
      ? `new jobs of ${redriveTo.queue ?? queue}`
      : `failed jobs of ${queue}, retried`;
  },
});
