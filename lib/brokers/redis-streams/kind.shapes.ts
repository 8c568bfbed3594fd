import * as z from "zod/mini";
import { descriptor } from "@/lib/brokers/kinds/descriptor.shapes";
import {
  brokerSettings,
  choice,
  field,
  redisUrl,
  slowLane,
  text,
  wholeNumber,
} from "@/lib/brokers/kinds/fields.shapes";

const key = text(1, 500);

/** An entry whose payload field is not named is searched for these, in this order. */
export const PAYLOAD_FIELDS = ["payload", "data", "body", "message", "value", "json"];

const config = z.strictObject({
  url: redisUrl(),
  stream: field(key, { label: "Stream", hint: "The key of the stream to read.", example: "orders" }),
  read: field(z._default(choice(["pending", "stream"]), "pending"), {
    label: "Read",
    hint: "pending: entries that were delivered to a consumer group too often without an acknowledgement. stream: every entry of a dead-letter stream.",
  }),
  group: field(z.optional(key), {
    label: "Consumer group",
    hint: "Whose pending entries are read. For a dead-letter stream the group under which Parkade reads it; default: parkade, created if missing.",
    example: "billing",
  }),
  deliveryLimit: field(z._default(wholeNumber(1, 1_000_000), 5), {
    label: "Delivery limit",
    hint: "An entry that was delivered this often is a dead letter. The application must leave such entries alone.",
    advanced: true,
  }),
  minIdleMs: field(z._default(wholeNumber(1, 86_400_000), 60_000), {
    label: "Idle time",
    hint: "Milliseconds without a delivery after which Parkade claims an entry: longer than a consumer needs to process one.",
    advanced: true,
  }),
  payloadField: field(z.optional(key), {
    label: "Payload field",
    hint: `The field that holds the payload; without it the first of ${PAYLOAD_FIELDS.join(", ")}. The other fields are headers.`,
    example: "payload",
    advanced: true,
  }),
  redriveTo: z.optional(
    z.strictObject({
      stream: field(key, {
        label: "Redrive to",
        hint: "Instead of the stream it came from; needed for a dead-letter stream whose entries do not name one in x-original-stream.",
        example: "orders",
      }),
    }),
  ),
  slowLaneStream: slowLane(key, "stream", "orders.slow"),
  ...brokerSettings,
});
export type RedisStreamsConfig = z.infer<typeof config>;

export const redisStreams = descriptor({
  kind: "redis-stream",
  label: "Redis Streams",
  about:
    "Claims entries that were delivered to a consumer group too often, or reads a dead-letter stream; a redrive adds a new entry.",
  icon: "layers",
  config,
  capabilities: { reads: true, redrives: true, order: "per stream", slowLane: true },
  destination: ["redriveTo", "checkCall"],
  example: { url: "env:PARKADE_SECRET_REDIS", stream: "orders", group: "billing" },
  docs: "connect-redis-streams.md",
  reads: ({ read, stream, group }) =>
    read === "stream" ? `stream ${stream}` : `pending entries of ${group ?? "no group"} in ${stream}`,
  address: ({ read, stream, redriveTo, slowLaneStream }, lane) => {
    const to = (lane === "slow" ? slowLaneStream : undefined) ?? redriveTo?.stream;
    if (to !== undefined) return `stream ${to}`;
    return read === "stream" ? "origin stream" : `stream ${stream}`;
  },
});
