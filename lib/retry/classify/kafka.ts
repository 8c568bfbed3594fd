import { type Family, judged } from "@/lib/retry/classify/classifier";
import {
  AWAY,
  CANCELLED,
  type CodeRule,
  NOT_SENT,
  PERMANENT,
  THROTTLED,
  tableOf,
  UNKNOWN,
  upperSnake,
} from "@/lib/retry/classify/verdict";

/**
 * Kafka protocol errors by name. Those that reach the producer after the broker may have appended are unknown: only
 * an idempotent producer or a deduplicating consumer makes their repeat safe.
 * Source: Kafka protocol guide, "Error codes" (column Retriable).
 */
const NAMES = tableOf<CodeRule>({
  UNKNOWN_SERVER_ERROR: UNKNOWN,
  CORRUPT_MESSAGE: NOT_SENT,
  UNKNOWN_TOPIC_OR_PARTITION: { ...NOT_SENT, repeatsMax: 3 },
  LEADER_NOT_AVAILABLE: AWAY,
  NOT_LEADER_OR_FOLLOWER: AWAY,
  NOT_LEADER_FOR_PARTITION: AWAY,
  REQUEST_TIMED_OUT: UNKNOWN,
  BROKER_NOT_AVAILABLE: AWAY,
  REPLICA_NOT_AVAILABLE: AWAY,
  MESSAGE_TOO_LARGE: PERMANENT,
  STALE_CONTROLLER_EPOCH: AWAY,
  NETWORK_EXCEPTION: UNKNOWN,
  COORDINATOR_LOAD_IN_PROGRESS: AWAY,
  COORDINATOR_NOT_AVAILABLE: AWAY,
  NOT_COORDINATOR: AWAY,
  INVALID_TOPIC_EXCEPTION: PERMANENT,
  RECORD_LIST_TOO_LARGE: PERMANENT,
  NOT_ENOUGH_REPLICAS: AWAY,
  // Appended by the leader, not by enough followers: the record may survive or not.
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: UNKNOWN,
  INVALID_REQUIRED_ACKS: PERMANENT,
  TOPIC_AUTHORIZATION_FAILED: PERMANENT,
  GROUP_AUTHORIZATION_FAILED: PERMANENT,
  CLUSTER_AUTHORIZATION_FAILED: PERMANENT,
  INVALID_TIMESTAMP: PERMANENT,
  UNSUPPORTED_SASL_MECHANISM: PERMANENT,
  UNSUPPORTED_VERSION: PERMANENT,
  NOT_CONTROLLER: AWAY,
  UNSUPPORTED_FOR_MESSAGE_FORMAT: PERMANENT,
  POLICY_VIOLATION: PERMANENT,
  OUT_OF_ORDER_SEQUENCE_NUMBER: PERMANENT,
  DUPLICATE_SEQUENCE_NUMBER: PERMANENT,
  INVALID_PRODUCER_EPOCH: PERMANENT,
  KAFKA_STORAGE_ERROR: AWAY,
  SASL_AUTHENTICATION_FAILED: PERMANENT,
  THROTTLING_QUOTA_EXCEEDED: THROTTLED,
  PRODUCER_FENCED: PERMANENT,
  INVALID_RECORD: PERMANENT,
});

/** The protocol's numbers for the same names. */
const NUMBERS = tableOf<string>({
  [-1]: "UNKNOWN_SERVER_ERROR",
  2: "CORRUPT_MESSAGE",
  3: "UNKNOWN_TOPIC_OR_PARTITION",
  5: "LEADER_NOT_AVAILABLE",
  6: "NOT_LEADER_OR_FOLLOWER",
  7: "REQUEST_TIMED_OUT",
  8: "BROKER_NOT_AVAILABLE",
  9: "REPLICA_NOT_AVAILABLE",
  10: "MESSAGE_TOO_LARGE",
  11: "STALE_CONTROLLER_EPOCH",
  13: "NETWORK_EXCEPTION",
  14: "COORDINATOR_LOAD_IN_PROGRESS",
  15: "COORDINATOR_NOT_AVAILABLE",
  16: "NOT_COORDINATOR",
  17: "INVALID_TOPIC_EXCEPTION",
  18: "RECORD_LIST_TOO_LARGE",
  19: "NOT_ENOUGH_REPLICAS",
  20: "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
  21: "INVALID_REQUIRED_ACKS",
  29: "TOPIC_AUTHORIZATION_FAILED",
  30: "GROUP_AUTHORIZATION_FAILED",
  31: "CLUSTER_AUTHORIZATION_FAILED",
  32: "INVALID_TIMESTAMP",
  33: "UNSUPPORTED_SASL_MECHANISM",
  35: "UNSUPPORTED_VERSION",
  41: "NOT_CONTROLLER",
  43: "UNSUPPORTED_FOR_MESSAGE_FORMAT",
  44: "POLICY_VIOLATION",
  45: "OUT_OF_ORDER_SEQUENCE_NUMBER",
  46: "DUPLICATE_SEQUENCE_NUMBER",
  47: "INVALID_PRODUCER_EPOCH",
  56: "KAFKA_STORAGE_ERROR",
  58: "SASL_AUTHENTICATION_FAILED",
  87: "INVALID_RECORD",
  89: "THROTTLING_QUOTA_EXCEEDED",
  90: "PRODUCER_FENCED",
});

/** Client-side conditions, named by the `name` of KafkaJS errors. */
const CLIENT_NAMES = tableOf<CodeRule>({
  KafkaJSConnectionError: AWAY,
  KafkaJSBrokerNotFound: AWAY,
  KafkaJSConnectionClosedError: UNKNOWN,
  KafkaJSRequestTimeoutError: UNKNOWN,
  KafkaJSSASLAuthenticationError: PERMANENT,
  KafkaJSNotImplemented: PERMANENT,
  KafkaJSTimeout: UNKNOWN,
  KafkaJSAbortError: CANCELLED,
});

/** Protocol errors by name (`type`, `code`) or number, and client-side errors by their name. */
export const KAFKA_ERRORS: Family = {
  byCode({ code, link: { type }, name }) {
    const typed = typeof type === "string" ? judged(`KAFKA_${type}`, kafkaRule(type)) : undefined;
    if (typed) return typed;
    if (typeof code === "string") return judged(code, kafkaRule(code));
    if (code === null || !name.startsWith("Kafka")) return undefined;
    const known = kafkaName(code);
    return known === null ? null : (judged(`KAFKA_${known}`, kafkaRule(known)) ?? null);
  },
  byName: (name) => judged(upperSnake(name), kafkaClientRule(name)),
};

function kafkaRule(code: string): CodeRule | null {
  return NAMES[code] ?? (code.startsWith("KAFKA_") ? (NAMES[code.slice("KAFKA_".length)] ?? null) : null);
}

function kafkaName(code: number): string | null {
  return NUMBERS[code] ?? null;
}

function kafkaClientRule(name: string): CodeRule | null {
  return CLIENT_NAMES[name] ?? null;
}
