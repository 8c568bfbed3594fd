import { type Family, judged } from "@/lib/retry/classify/classifier";
import {
  AWAY,
  CANCELLED,
  type CodeRule,
  MAYBE_SENT,
  NOT_SENT,
  PERMANENT,
  THROTTLED,
  tableOf,
  UNKNOWN,
} from "@/lib/retry/classify/verdict";

/**
 * AMQP 0-9-1 reply codes. A channel error on a publish means it was refused; a connection error leaves publishes
 * without a confirm unknown. Source: AMQP 0-9-1 specification, section 1.2 (constants); RabbitMQ "Publisher confirms".
 */
const REPLY_CODES = tableOf<CodeRule>({
  // content-too-large: marked a soft error by the specification, permanent for one and the same message.
  311: PERMANENT,
  312: PERMANENT, // no-route: nothing is bound; a person must bind it
  313: NOT_SENT, // no-consumers
  320: MAYBE_SENT, // connection-forced: an operator or a node shutdown
  402: PERMANENT, // invalid-path
  403: PERMANENT, // access-refused
  404: PERMANENT, // not-found
  405: NOT_SENT, // resource-locked: an exclusive queue of another connection
  406: PERMANENT, // precondition-failed
  501: PERMANENT, // frame-error
  502: PERMANENT, // syntax-error
  503: PERMANENT, // command-invalid
  504: PERMANENT, // channel-error
  505: PERMANENT, // unexpected-frame
  506: THROTTLED, // resource-error: memory or disk alarm
  530: PERMANENT, // not-allowed
  540: PERMANENT, // not-implemented
  541: MAYBE_SENT, // internal-error
});

const CODES = tableOf<CodeRule>({
  AMQP_NO_ROUTE: PERMANENT,
  AMQP_NO_CONSUMERS: NOT_SENT,
  AMQP_NOT_FOUND: PERMANENT,
  AMQP_ACCESS_REFUSED: PERMANENT,
  AMQP_PRECONDITION_FAILED: PERMANENT,
  AMQP_CONTENT_TOO_LARGE: PERMANENT,
  // The message cannot be written, or does not state its destination: a person must edit it or configure its source.
  AMQP_HEADERS_TOO_LARGE: PERMANENT,
  AMQP_INVALID_MESSAGE: PERMANENT,
  AMQP_UNREADABLE: PERMANENT,
  AMQP_NO_ORIGIN_QUEUE: PERMANENT,
  AMQP_NO_ORIGIN_EXCHANGE: PERMANENT,
  AMQP_NOT_CONNECTED: AWAY,
  // Our own side closed the publisher: the message has not failed.
  AMQP_CLOSED: CANCELLED,
  // basic.nack of a publish: the broker says it did not take the message (queue length limit, quorum lost).
  AMQP_NACK: NOT_SENT,
  AMQP_BLOCKED: THROTTLED,
  AMQP_CONNECTION_FORCED: MAYBE_SENT,
  AMQP_RESOURCE_ERROR: THROTTLED,
  AMQP_CONFIRM_TIMEOUT: UNKNOWN,
  AMQP_CONFIRM_LOST: UNKNOWN,
  AMQP_CHANNEL_CLOSED: UNKNOWN,
  AMQP_CONNECTION_CLOSED: UNKNOWN,
});

/** Closes by the protocol, as amqplib marks them with `classId` and `methodId`, and errors of adapters. */
export const AMQP_ERRORS: Family = {
  byCode({ code, link }) {
    if (typeof code === "string") return judged(code, amqpRule(code));
    const closed = typeof link.classId === "number" && typeof link.methodId === "number";
    // Only then is a number a reply code.
    return code !== null && closed ? (judged(`AMQP_${code}`, amqpReplyRule(code)) ?? null) : undefined;
  },
};

function amqpReplyRule(replyCode: number): CodeRule | null {
  return REPLY_CODES[replyCode] ?? null;
}

function amqpRule(code: string): CodeRule | null {
  const numbered = /^AMQP_(\d{3})$/.exec(code);
  return CODES[code] ?? (numbered ? amqpReplyRule(Number(numbered[1])) : null);
}
