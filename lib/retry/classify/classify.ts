import { AMQP_ERRORS } from "@/lib/retry/classify/amqp";
import { AWS_ERRORS } from "@/lib/retry/classify/aws";
import { classifier, type Family, judged } from "@/lib/retry/classify/classifier";
import { HTTP_ERRORS } from "@/lib/retry/classify/http";
import { KAFKA_ERRORS } from "@/lib/retry/classify/kafka";
import { NATS_ERRORS } from "@/lib/retry/classify/nats";
import { NODE_ERRORS } from "@/lib/retry/classify/node";
import { POSTGRES_ERRORS } from "@/lib/retry/classify/postgres";
import { REDIS_PREFIXES } from "@/lib/retry/classify/redis";
import {
  CANCELLED,
  type CodeRule,
  MAYBE_SENT,
  PERMANENT,
  THROTTLED,
  tableOf,
  UNKNOWN,
} from "@/lib/retry/classify/verdict";

/**
 * Codes of Parkade's own adapters. A message that states no destination, cannot be written, or whose place is taken is
 * refused in the same way at each repeat, and is no fault of the target: without a rule it would be repeated in vain and
 * open the breaker for its neighbours.
 */
const CODES = tableOf<CodeRule>(
  Object.fromEntries([
    ...rules(
      PERMANENT,
      `BULLMQ_FLOW BULLMQ_JOB_GONE BULLMQ_NOT_ADDED BULLMQ_NOT_FAILED BULLMQ_NOT_JSON BULLMQ_NO_JOB BULLMQ_NO_QUEUE BULLMQ_SSLMODE
       KAFKA_NO_ORIGIN_TOPIC KAFKA_ORIGINAL_GONE KAFKA_TLS_REQUIRED KAFKA_UNKNOWN_PARTITION KAFKA_UNREADABLE
       NATS_CLIENT_CHANGED OUTBOX_SSLMODE PUBSUB_BAD_CREDENTIALS PUBSUB_BAD_TLS PUBSUB_FAILED_PRECONDITION PUBSUB_INVALID_ARGUMENT
       PUBSUB_INVALID_MESSAGE PUBSUB_MESSAGE_TOO_LARGE PUBSUB_NOT_FOUND PUBSUB_NO_CREDENTIALS PUBSUB_NO_ORIGIN_TOPIC
       PUBSUB_PERMISSION_DENIED PUBSUB_UNAUTHENTICATED PUBSUB_UNIMPLEMENTED REDIS_NO_STREAM REDIS_NO_TARGET REDIS_NO_GROUP REDIS_NOGROUP REDIS_UNREADABLE
       SIDEKIQ_NOT_A_JOB SQS_INVALID_ACCESS_KEY_ID SQS_INVALID_SIGNATURE_EXCEPTION SQS_KMS SQS_MISSING_AUTHENTICATION_TOKEN`,
    ),
    ...rules(THROTTLED, "PUBSUB_RESOURCE_EXHAUSTED"),
    ...rules(MAYBE_SENT, "PUBSUB_ABORTED PUBSUB_INTERNAL PUBSUB_UNAVAILABLE"),
    ...rules(UNKNOWN, "PUBSUB_CANCELLED PUBSUB_DEADLINE_EXCEEDED PUBSUB_UNKNOWN"),
    // Our own side closed the publisher: the message has not failed.
    ...rules(CANCELLED, "BULLMQ_CLOSED KAFKA_CLOSED OUTBOX_CLOSED PUBSUB_CLOSED REDIS_CLOSED"),
  ]),
);

function rules(rule: CodeRule, codes: string): [code: string, rule: CodeRule][] {
  return codes.split(/\s+/).map((code) => [code, rule]);
}

/** `REDIS_` before the prefix of a reply is how the adapters name it. */
function ruleOf(code: string): CodeRule | null {
  return CODES[code] ?? (code.startsWith("REDIS_") ? (REDIS_PREFIXES[code.slice("REDIS_".length)] ?? null) : null);
}

const ADAPTER_ERRORS: Family = {
  byCode: ({ code }) => (typeof code === "string" ? (judged(code, ruleOf(code)) ?? undefined) : undefined),
};

/** Judges the errors of every kind of target. NATS and Kafka come first: they also know errors by other fields than `code`. */
export const classify = classifier(
  ADAPTER_ERRORS,
  NATS_ERRORS,
  KAFKA_ERRORS,
  NODE_ERRORS,
  AMQP_ERRORS,
  POSTGRES_ERRORS,
  AWS_ERRORS,
  HTTP_ERRORS,
);
