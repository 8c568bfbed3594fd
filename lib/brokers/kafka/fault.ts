import { protocolErrorsCodesById } from "@platformatic/kafka";
import { CodedError } from "@/lib/brokers/coded-error";
import type { KafkaConfig } from "@/lib/brokers/kafka/kind.shapes";
import { ADDRESS_REFUSED } from "@/lib/platform/address-filter";

/** A failure with words for people. `code`: `KAFKA_TOPIC_AUTHORIZATION_FAILED`, `ECONNREFUSED`, ... upper snake case. */
export class KafkaFault extends CodedError {
  override readonly name = "KafkaFault";
}

/** The error of a partition or topic in an answer, by Kafka's number. */
export function protocolFault(errorCode: number, what: string): KafkaFault {
  const id = protocolErrorsCodesById[errorCode] ?? `ERROR_${errorCode}`;
  return new KafkaFault(`KAFKA_${id}`, `${what}: ${id}`);
}

type Link = { code?: unknown; apiId?: unknown; message?: string; errors?: unknown[]; cause?: unknown };

/** The error and all that it holds: the client wraps several attempts, brokers and causes into one. */
function* linksOf(error: unknown): Iterable<Link> {
  if (typeof error !== "object" || error === null) return;
  const link = error as Link;
  // Innermost first: the outer ones say that something failed, the inner ones what.
  for (const inner of link.errors ?? []) yield* linksOf(inner);
  yield* linksOf(link.cause);
  yield link;
}

/** Errors that only say what another partition or attempt said. */
const VAGUE = new Set(["UNKNOWN_SERVER_ERROR"]);
const NODE_CODE =
  /^(E[A-Z_]+|CERT_[A-Z_]+|(?:DEPTH_ZERO_)?SELF_SIGNED_CERT\w*|UNABLE_TO_[A-Z_]+|ERR_(?:TLS|SSL)_[A-Z0-9_]+)$/;

/** Code of an error of the client, of the broker or of the socket, whichever says most. */
export function kafkaCode(error: unknown): string {
  const links = [...linksOf(error)];
  for (const link of links) {
    if (link.code === ADDRESS_REFUSED) return ADDRESS_REFUSED;
    if (link instanceof KafkaFault) return link.code;
    if (typeof link.apiId === "string" && !VAGUE.has(link.apiId)) return `KAFKA_${link.apiId}`;
  }
  for (const { code } of links) if (typeof code === "string" && NODE_CODE.test(code)) return code;
  for (const { code, message = "" } of links) {
    if (code === "PLT_KFK_AUTHENTICATION") return "KAFKA_SASL_AUTHENTICATION_FAILED";
    if (/requires TLS/.test(message)) return "KAFKA_TLS_REQUIRED";
    if (/timed out/.test(message)) return "ETIMEDOUT";
    if (/^Unknown topic /.test(message)) return "KAFKA_UNKNOWN_TOPIC_OR_PARTITION";
  }
  return "KAFKA_NETWORK_EXCEPTION";
}

type ProduceAnswer = {
  responses: { name: string; partitionResponses: { index: number; errorCode: number; baseOffset: bigint }[] }[];
};

/** What the broker answered for each partition of a send that failed, from the last answer of each. */
export function partitionErrors(
  error: unknown,
): { topic: string; partition: number; errorCode: number; offset: bigint }[] {
  const found = new Map<string, { topic: string; partition: number; errorCode: number; offset: bigint }>();
  for (const link of linksOf(error)) {
    const { response } = link as { response?: Partial<ProduceAnswer> };
    for (const { name, partitionResponses } of response?.responses ?? [])
      for (const { index, errorCode, baseOffset } of partitionResponses ?? [])
        found.set(`${name} ${index}`, { topic: name, partition: index, errorCode, offset: baseOffset });
  }
  return [...found.values()];
}

/** True when no attempt got as far as a connection: nothing was sent. */
export function connectFailed(error: unknown): boolean {
  const links = [...linksOf(error)];
  const attempts = links.filter(({ code }) => code === "PLT_KFK_NETWORK" || code === "PLT_KFK_TIMEOUT");
  return (
    attempts.length > 0 &&
    attempts.every(({ message = "" }) => /^(Connection to .*(failed|timed out)|Cannot get a connection)/.test(message))
  );
}

const CERTIFICATE = /^(CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_)/;

/** What went wrong and what to do, in words without a secret. */
export function describeKafka(error: unknown, { bootstrap, sasl }: KafkaConfig): string {
  if (error instanceof KafkaFault) return error.message;
  const where = bootstrap.join(", ");
  const code = kafkaCode(error);
  if (CERTIFICATE.test(code))
    return `the certificate of ${where} is not trusted (${code}): set the CA certificate that signed it`;
  switch (code) {
    case ADDRESS_REFUSED: {
      const refused = [...linksOf(error)].find((link) => link.code === ADDRESS_REFUSED);
      return `cannot connect to ${where}: ${refused?.message}`;
    }
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return `the certificate of ${where} is for another name (${code}): set the server name it holds`;
    case "KAFKA_SASL_AUTHENTICATION_FAILED":
      return `${where} refuses the user or the password (SASL ${sasl?.mechanism ?? "is required"})`;
    case "KAFKA_UNSUPPORTED_SASL_MECHANISM":
      return `${where} does not offer SASL ${sasl?.mechanism}: choose another mechanism`;
    case "KAFKA_TLS_REQUIRED":
      return `${where} requires TLS: turn encryption on`;
    case "KAFKA_ILLEGAL_SASL_STATE":
      return `${where} accepts no login on this port: remove sasl, or use the port that requires a login`;
    case "ECONNRESET":
    case "KAFKA_NETWORK_EXCEPTION":
      return `${where} closed the connection without an answer: check the port, TLS and SASL`;
    case "KAFKA_GROUP_AUTHORIZATION_FAILED":
      return `the user${sasl === undefined ? "" : ` ${sasl.username}`} may not READ the consumer group: allow READ on the group`;
    case "KAFKA_TOPIC_AUTHORIZATION_FAILED":
      return `the user${sasl === undefined ? "" : ` ${sasl.username}`} may not use the topic: allow READ, or WRITE for a target`;
    case "KAFKA_CLUSTER_AUTHORIZATION_FAILED":
      return `the user${sasl === undefined ? "" : ` ${sasl.username}`} lacks a permission on the cluster (IDEMPOTENT_WRITE before Kafka 2.8)`;
    case "KAFKA_INCONSISTENT_GROUP_PROTOCOL":
      return "the consumer group is in use by an application: give this source a group of its own";
    default:
      return `${code.startsWith("KAFKA_") ? "lost" : "cannot connect to"} ${where}: ${code}`;
  }
}
