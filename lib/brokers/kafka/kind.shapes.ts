import * as z from "zod/mini";
import { descriptor } from "@/lib/brokers/kinds/descriptor.shapes";
import {
  checkCall,
  choice,
  field,
  flag,
  hostAndPort,
  list,
  mapping,
  secret,
  slowLane,
  text,
  tlsSettings,
  wholeNumber,
} from "@/lib/brokers/kinds/fields.shapes";

const TOPIC_NAME = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$/;
const TOPIC_OR_PATTERN = /^(?!\.{1,2}$)[A-Za-z0-9._*-]{1,249}$/;

const topic = text(1).check(z.regex(TOPIC_NAME, "must have 1 to 249 letters, digits, dots, underscores and hyphens"));

const config = z.strictObject({
  bootstrap: field(list(20, hostAndPort("kafka-1.example:9092")), {
    label: "Bootstrap servers",
    hint: "One or more brokers, host:port; the others are found through them.",
    example: "kafka-1.example:9092",
    role: "address",
  }),
  topics: field(
    list(
      200,
      text(1).check(z.regex(TOPIC_OR_PATTERN, "is not a topic name; * stands for any characters, as in *.DLT")),
    ),
    {
      label: "Dead-letter topics",
      hint: "Names, or patterns with *: topics that appear later are read too. Never a retry topic.",
      example: "orders.DLT",
    },
  ),
  groupId: field(z.optional(text(1, 249)), {
    label: "Consumer group",
    hint: "Parkade's own. Without it parkade.<name of the source>. A group that an application uses is refused.",
    example: "parkade.orders",
    advanced: true,
  }),
  startFrom: field(z.optional(choice(["earliest", "latest"])), {
    label: "Start from",
    hint: "Where reading begins when the group has no offset yet. Without it: earliest.",
    advanced: true,
  }),
  encrypt: field(z.optional(flag()), {
    label: "Encrypt (TLS)",
    hint: "On as well when a certificate is set below.",
  }),
  tls: z.optional(tlsSettings),
  sasl: z.optional(
    z.strictObject({
      mechanism: field(choice(["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]), { label: "SASL mechanism" }),
      username: field(text(1, 300), { label: "User", example: "parkade" }),
      password: field(secret(), { label: "Password", role: "secret" }),
    }),
  ),
  redriveTo: z.optional(
    z.strictObject({
      topic: field(z.optional(topic), {
        label: "Redrive to",
        hint: "Instead of the origin topic; needed where the headers do not name one.",
        example: "orders",
      }),
      partition: field(z._default(choice(["key", "origin"]), "key"), {
        label: "Partition",
        hint: "key: as Java clients choose it. origin: the partition it was in. Without a key: the origin partition.",
        advanced: true,
      }),
    }),
  ),
  slowLaneTopic: slowLane(topic, "topic", "orders.slow"),
  compression: field(z.optional(choice(["none", "gzip", "snappy", "lz4", "zstd"])), {
    label: "Compression",
    hint: "For what a redrive sends. Default: none.",
    advanced: true,
  }),
  batchSize: field(z.optional(wholeNumber(1, 10_000)), {
    label: "Batch size",
    hint: "Maximum records per commit. Default: 1000.",
    example: "1000",
    advanced: true,
  }),
  checkCall,
  mapping,
});
export type KafkaConfig = z.infer<typeof config>;

export const kafka = descriptor({
  kind: "kafka",
  label: "Kafka",
  about: "Reads dead-letter topics; a redrive publishes to the topic a record came from, under the same key.",
  icon: "network",
  config,
  capabilities: { reads: true, redrives: true, order: "per key", slowLane: true },
  destination: ["redriveTo", "checkCall"],
  example: { bootstrap: ["kafka-1.example:9092"], topics: ["orders.DLT"] },
  docs: "connect-kafka.md",
  reads: ({ topics }) => `topic${topics.length === 1 && !topics[0]!.includes("*") ? "" : "s"} ${topics.join(", ")}`,
  address: ({ redriveTo, slowLaneTopic }, lane) => {
    if (lane === "slow" && slowLaneTopic !== undefined) return `topic ${slowLaneTopic}`;
    return redriveTo?.topic === undefined ? "origin topic" : `topic ${redriveTo.topic}`;
  },
});
