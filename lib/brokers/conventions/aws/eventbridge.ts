import { withoutOwned } from "@/lib/brokers/conventions/aws/sqs";
import type { Convention, Reading } from "@/lib/brokers/conventions/convention";
import { PayloadJson } from "@/lib/brokers/conventions/payload-json";
import type { Message } from "@/lib/brokers/message";
import type { Origin } from "@/lib/platform/plain/dead-letter.pure";
import { instantMs } from "@/lib/platform/plain/iso-time.pure";

const OWNED = new Set([
  "rule_arn",
  "target_arn",
  "error_code",
  "error_message",
  "exhausted_retry_condition",
  "retry_attempts",
  "execution_id",
  "is_payload_truncated",
  "scheduled_time",
  "schedule_arn",
]);
const owns = (headerName: string) => OWNED.has(headerName);

/** The queue that a rule or a schedule delivers to; a target of another kind is no place for a redrive. */
function targetOf(arn: string | null): Origin {
  const queue = /^arn:[^:]+:sqs:[^:]*:[^:]*:([^:]+)$/.exec(arn ?? "")?.[1];
  return { ...(queue === undefined ? {} : { queue }), ...(arn === null ? {} : { target: arn }) };
}

function read(message: Message): Reading | null {
  const { headers } = message;
  const [rule, schedule] = [headers.text("RULE_ARN"), headers.text("SCHEDULE_ARN")];
  const code = headers.text("ERROR_CODE");
  if ((rule === null && schedule === null) || code === null) return null;
  const json = new PayloadJson(message.body ?? new Uint8Array());
  const exhausted = headers.text("EXHAUSTED_RETRY_CONDITION");
  const isTruncated = headers.text("IS_PAYLOAD_TRUNCATED")?.toLowerCase() === "true";
  return {
    convention: schedule === null ? "eventbridge-rule" : "eventbridge-scheduler",
    origin: {
      ...targetOf(headers.text("TARGET_ARN")),
      consumer: (rule ?? schedule)!,
      ...(isTruncated ? { payloadState: "reference-only" } : {}),
    },
    error: {
      type: null,
      message: [headers.text("ERROR_MESSAGE"), exhausted].filter((part) => part !== null).join("; ") || code,
      stack: null,
    },
    exceptionTypes: [],
    reason: code,
    attempts: (headers.count("RETRY_ATTEMPTS") ?? 0) + 1,
    failedAtMs: null,
    messageId: schedule === null ? json.scalar("/id") : headers.text("EXECUTION_ID"),
    // The targets of an event may share a dead-letter queue.
    within: schedule === null ? headers.text("TARGET_ARN") : null,
    eventType: schedule === null ? json.scalar("/detail-type") : null,
    inner: { ...withoutOwned(message, { owns }), sentAtMs: instantMs(json.scalar("/time")) ?? message.sentAtMs },
  };
}

/** The dead-letter queue of a rule's target: the body is the event itself. */
export const eventBridgeRule: Convention = { name: "eventbridge-rule", owns, read };

/** The dead-letter queue of a schedule: the body is the target's input. `eventBridgeRule` reads it. */
export const eventBridgeScheduler: Convention = { name: "eventbridge-scheduler", owns, read: () => null };

function readBus(message: Message): Reading | null {
  const body = message.body ?? new Uint8Array();
  if (!Buffer.from(body.buffer, body.byteOffset, body.byteLength).includes('"busArn"')) return null;
  const json = new PayloadJson(body);
  const [bus, code, failed] = [json.scalar("/busArn"), json.scalar("/errorCode"), json.value("/failedMessages")];
  if (bus === null || code === null || !Array.isArray(failed)) return null;
  const retries = Number(json.scalar("/retryAttempts") ?? "0");
  return {
    convention: "eventbridge-bus",
    origin: {
      payloadState: failed.length > 1 ? "batch-reference" : "reference-only",
      consumer: json.scalar("/subscriberArn") ?? bus,
    },
    error: { type: null, message: json.scalar("/errorMessage") ?? code, stack: null },
    exceptionTypes: [],
    reason: code,
    attempts: Number.isSafeInteger(retries) ? retries + 1 : 1,
    failedAtMs: null,
    messageId: failed.length === 1 ? json.scalar("/failedMessages/0/eventId") : null,
    eventType: null,
    inner: null,
  };
}

/** A record about failed events of a custom event bus (2026): it names them, and does not hold them. */
export const eventBridgeBus: Convention = { name: "eventbridge-bus", owns: () => false, read: readBus };
