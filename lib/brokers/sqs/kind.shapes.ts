import * as z from "zod/mini";
import { descriptor } from "@/lib/brokers/kinds/descriptor.shapes";
import { brokerSettings, field, secret, slowLane, text, urlOf, wholeNumber } from "@/lib/brokers/kinds/fields.shapes";

const NAME = /^(?:[A-Za-z0-9_-]{1,80}|[A-Za-z0-9_-]{1,75}\.fifo)$/;
/** https://docs.aws.amazon.com/general/latest/gr/sqs-service.html, the older forms included. */
const AWS_HOST =
  /^(?:sqs(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?|sqs\.([a-z0-9-]+)\.api\.aws|([a-z0-9-]+)\.queue\.amazonaws\.com)$/;

function urlIn(queue: string): URL | null {
  const url = URL.canParse(queue) ? new URL(queue) : null;
  return url !== null && /^https?:$/.test(url.protocol) && url.username === "" ? url : null;
}

/** The name of a queue given by its name or its URL. */
export function queueName(queue: string): string {
  return urlIn(queue)?.pathname.split("/").at(-1) ?? queue;
}

export function isFifo(queue: string): boolean {
  return queue.endsWith(".fifo");
}

/** The region in the URL of a queue; null when a name is given, or the host is not one of AWS. */
export function regionOf(queue: string): string | null {
  const [, ...regions] = AWS_HOST.exec(urlIn(queue)?.hostname ?? "") ?? [];
  return regions.find((region) => region !== undefined) ?? null;
}

const queue = text(1, 300).check(
  z.refine((value) => NAME.test(queueName(value)), "must be the name of a queue, or its URL as AWS shows it"),
);

const config = z
  .strictObject({
    queue: field(queue, {
      label: "Dead-letter queue",
      hint: "Name or URL. A queue of another account needs its URL.",
      example: "https://sqs.eu-central-1.amazonaws.com/123456789012/orders-dlq",
    }),
    region: field(z.optional(text(1, 50)), {
      label: "Region",
      hint: "From the queue's URL, or AWS_REGION, when not set.",
      example: "eu-central-1",
    }),
    accessKeyId: field(z.optional(secret()), {
      label: "Access key id",
      hint: "Without it the worker's own role is used: the AWS default chain.",
      example: "env:PARKADE_SECRET_AWS_KEY_ID",
      role: "secret",
    }),
    secretAccessKey: field(z.optional(secret()), {
      label: "Secret access key",
      example: "env:PARKADE_SECRET_AWS_KEY",
      role: "secret",
    }),
    sessionToken: field(z.optional(secret()), {
      label: "Session token",
      hint: "Of temporary credentials.",
      role: "secret",
      advanced: true,
    }),
    endpoint: field(z.optional(urlOf(["http:", "https:"], "https://vpce-1a2b.sqs.eu-central-1.vpce.amazonaws.com")), {
      label: "Endpoint",
      hint: "Instead of the region's own: a VPC endpoint, or another server that speaks SQS.",
      role: "address",
      advanced: true,
    }),
    redriveTo: z.optional(
      z.strictObject({
        queue: field(z.optional(queue), {
          label: "Redrive to",
          hint: "Instead of the queue a message died in; needed where messages do not name one.",
          example: "orders",
        }),
      }),
    ),
    slowLaneQueue: slowLane(queue, "queue", "orders-slow"),
    visibilitySeconds: field(z.optional(wholeNumber(3, 43_200)), {
      label: "Visibility timeout",
      hint: "Seconds until SQS redelivers a message if the worker dies; extended while the worker holds it.",
      example: "60",
      advanced: true,
    }),
    ...brokerSettings,
  })
  .check(
    z.refine(({ accessKeyId, secretAccessKey }) => (accessKeyId === undefined) === (secretAccessKey === undefined), {
      error: "accessKeyId and secretAccessKey must be set together",
      path: ["secretAccessKey"],
    }),
    z.refine(({ sessionToken, accessKeyId }) => sessionToken === undefined || accessKeyId !== undefined, {
      error: "belongs to an accessKeyId and a secretAccessKey",
      path: ["sessionToken"],
    }),
    z.refine(({ queue, endpoint }) => endpoint !== undefined || urlIn(queue) === null || regionOf(queue) !== null, {
      error: "is not a URL of AWS: set endpoint to that server",
      path: ["queue"],
    }),
  );
export type SqsConfig = z.infer<typeof config>;

export const sqs = descriptor({
  kind: "sqs",
  label: "Amazon SQS",
  about: "Reads a dead-letter queue, standard or FIFO; a redrive sends to the queue a message died in.",
  icon: "inbox",
  config,
  capabilities: { reads: true, redrives: true, order: "per message group of a FIFO queue", slowLane: true },
  destination: ["redriveTo", "checkCall"],
  example: { queue: "https://sqs.eu-central-1.amazonaws.com/123456789012/orders-dlq" },
  docs: "connect-sqs.md",
  reads: ({ queue }) => `queue ${queueName(queue)}`,
  address: ({ redriveTo, slowLaneQueue }, lane) => {
    const queue = (lane === "slow" ? slowLaneQueue : undefined) ?? redriveTo?.queue;
    return queue === undefined ? "origin queue" : `queue ${queueName(queue)}`;
  },
});
