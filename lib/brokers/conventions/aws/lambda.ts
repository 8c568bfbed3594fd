import { movedBySqs, withoutOwned } from "@/lib/brokers/conventions/aws/sqs";
import type { Convention, PayloadState, Reading } from "@/lib/brokers/conventions/convention";
import { PayloadJson } from "@/lib/brokers/conventions/payload-json";
import type { Message } from "@/lib/brokers/message";
import { readFailedAt } from "@/lib/platform/plain/dead-letter.pure";
import { membersOf, skipSpace } from "@/lib/platform/plain/raw-json.pure";

const OWNED = new Set(["requestid", "errorcode", "errormessage"]);
const owns = (headerName: string) => OWNED.has(headerName);

function readDlq(message: Message): Reading | null {
  const { headers } = message;
  const [id, status, text] = ["RequestID", "ErrorCode", "ErrorMessage"].map((name) => headers.text(name));
  if (!id || !status || !/^\d{3}$/.test(status)) return null;
  return {
    convention: "lambda-dlq",
    origin: {},
    ...movedBySqs(message),
    error: { type: null, message: text ?? `the function failed with status ${status}`, stack: null },
    // 429: the function never ran.
    reason: status === "429" ? "throttling" : null,
    failedAtMs: null,
    messageId: id,
    eventType: null,
    inner: withoutOwned(message, { owns }),
  };
}

/** The dead-letter queue of a function that is invoked asynchronously: the body is the event itself. */
export const lambdaDlq: Convention = { name: "lambda-dlq", owns, read: readDlq };

/** The record as Lambda writes it, or null. */
function recordOf(message: Message): { json: PayloadJson; bytes: Buffer } | null {
  const { body } = message;
  if (body === null) return null;
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  // A cheap check before parsing: this code runs for every message of every queue.
  if (!bytes.includes('"requestContext"') && !bytes.includes('"partnerResourceArn"')) return null;
  const json = new PayloadJson(bytes);
  return json.isDocument ? { json, bytes } : null;
}

function countAt(json: PayloadJson, pointer: string): number {
  const count = Number(json.scalar(pointer) ?? "0");
  return Number.isSafeInteger(count) && count > 0 ? count : 0;
}

function stackOf(json: PayloadJson): string | null {
  const lines = json.value("/responsePayload/stackTrace") ?? json.value("/responsePayload/trace");
  if (!Array.isArray(lines)) return null;
  return lines.map((line) => (Array.isArray(line) ? line.join(", ") : String(line))).join("\n");
}

function readDestination(message: Message): Reading | null {
  const record = recordOf(message);
  const functionArn = record?.json.scalar("/requestContext/functionArn") ?? null;
  if (record === null || functionArn === null || record.json.value("/requestPayload") === undefined) return null;
  const { json, bytes } = record;
  const payload = membersOf(bytes, skipSpace(bytes, 0), Number.POSITIVE_INFINITY)!.findLast(
    ({ key }) => key === "requestPayload",
  )!;
  const type = json.scalar("/responsePayload/errorType");
  const condition = json.scalar("/requestContext/condition");
  return {
    convention: "lambda-destination",
    origin: { consumer: functionArn },
    error: { type, message: json.scalar("/responsePayload/errorMessage") ?? condition, stack: stackOf(json) },
    exceptionTypes: type === null ? [] : [type],
    reason: condition,
    attempts: countAt(json, "/requestContext/approximateInvokeCount"),
    ...readFailedAt(json.scalar("/timestamp")),
    messageId: json.scalar("/requestContext/requestId"),
    eventType: null,
    inner: { ...message, body: bytes.subarray(payload.start, payload.end), messageId: null },
  };
}

/** The on-failure destination of an asynchronous invocation: the event inside is parked, byte for byte. */
export const lambdaDestination: Convention = { name: "lambda-destination", owns: () => false, read: readDestination };

/** https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html, and the page of each source. */
const BATCHES = ["KinesisBatchInfo", "DDBStreamBatchInfo", "KafkaBatchInfo"];

function readEventSource(message: Message): Reading | null {
  const record = recordOf(message);
  const name = BATCHES.find((batch) => record?.json.value(`/${batch}/batchSize`) !== undefined);
  if (record === null || name === undefined || record.json.value("/payload") !== undefined) return null;
  const { json } = record;
  const at = (field: string) => json.scalar(`/${name}/${field}`);
  const size = countAt(json, `/${name}/batchSize`);
  const stream = at("streamArn") ?? at("eventSourceArn") ?? "a stream";
  const condition = json.scalar("/requestContext/condition") ?? json.scalar("/context/condition");
  const consumer = json.scalar("/requestContext/functionArn") ?? json.scalar("/context/partnerResourceArn");
  const payloadState: PayloadState = size === 1 ? "reference-only" : "batch-reference";
  return {
    convention: "lambda-event-source",
    origin: { payloadState, ...(consumer === null ? {} : { consumer }) },
    error: {
      type: null,
      message: `${condition ?? "failed"}: ${size} records of ${stream}, not included in the message`,
      stack: null,
    },
    exceptionTypes: [],
    reason: condition,
    attempts: countAt(json, "/requestContext/approximateInvokeCount"),
    ...readFailedAt(json.scalar("/timestamp")),
    messageId: null,
    eventType: null,
    inner: null,
  };
}

/** The record of a stream's batch that a function or a pipe gave up: it names the records, and does not hold them. */
export const lambdaEventSource: Convention = { name: "lambda-event-source", owns: () => false, read: readEventSource };
