import { gzipSync } from "node:zlib";
import type { Message } from "@aws-sdk/client-sqs";
import { describe, expect, it } from "vitest";
import { readDeadLetter } from "@/lib/brokers/conventions/read-dead-letter";
import { parseSourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import type { OutboundMessage } from "@/lib/brokers/port";
import type { SqsConfig } from "@/lib/brokers/sqs/kind.shapes";
import { sqsMessage } from "@/lib/brokers/sqs/message";
import { outboundOf } from "@/lib/brokers/sqs/outbound";
import { outboundMessage } from "@/lib/brokers/testing/outbound";
import { decodeBody } from "@/lib/events/detail/decode-body.read";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { whyNotPlain } from "@/lib/sources/schemas/body-form.pure";

const CONFIG: SqsConfig = { queue: "orders-dlq", region: "eu-central-1" };
const MOVED = {
  DeadLetterQueueSourceArn: "arn:aws:sqs:eu-central-1:123456789012:orders",
  ApproximateReceiveCount: "4",
  SentTimestamp: "1700000000000",
  ApproximateFirstReceiveTimestamp: "1700000007000",
};

function parked(message: Partial<Message>): DeadLetter {
  return readDeadLetter(sqsMessage({ MessageId: "m-1", Body: "{}", ...message }, "orders-dlq"), {});
}

const strings = (attributes: Record<string, string>) => ({
  MessageAttributes: Object.fromEntries(
    Object.entries(attributes).map(([name, StringValue]) => [name, { DataType: "String", StringValue }]),
  ),
});

/** What the engine sends for it, after it has been through the store. */
function sent(letter: DeadLetter, change: Partial<OutboundMessage> = {}, config = CONFIG) {
  const stored = JSON.parse(JSON.stringify({ headers: letter.headers, origin: letter.origin }));
  const { eventId, payload, contentType } = letter;
  return outboundOf(outboundMessage({ eventId, payload, contentType, ...stored, ...change }), config, "main");
}

describe("records of AWS services", () => {
  // Bodies and attributes as the guides of AWS document them: SQS, EventBridge, Lambda and SNS.
  const EVENT =
    '{"version":"0","id":"6a7e8feb","detail-type":"OrderPlaced","source":"shop","time":"2026-08-22T10:11:12Z","detail":{"n":1}}';
  const context = (change: object = {}) => ({
    requestId: "e4b46cbf",
    functionArn: "arn:aws:lambda:us-east-2:123456789012:function:f:$LATEST",
    condition: "RetriesExhausted",
    approximateInvokeCount: 3,
    ...change,
  });

  it.each<[string, Partial<Message>, object]>([
    [
      "a redrive policy of SQS",
      { Attributes: MOVED },
      {
        ...{ errorCode: "DELIVERY_LIMIT", attempts: 3, failedAtMs: 1_700_000_007_000 },
        origin: { convention: "sqs-redrive-policy", queue: "orders" },
      },
    ],
    [
      "a redrive policy of SQS, and nobody received it before Parkade: the time is that of Parkade's delivery",
      { Attributes: { ...MOVED, ApproximateReceiveCount: "1" } },
      { errorCode: "DELIVERY_LIMIT", attempts: 0, failedAtMs: null },
    ],
    [
      "a consumer that describes its failure",
      {
        Attributes: MOVED,
        ...strings({ "x-error-type": "java.net.SocketTimeoutException", "x-error-message": "slow" }),
      },
      { errorCode: "TIMEOUT", error: { type: "java.net.SocketTimeoutException", message: "slow", stack: null } },
    ],
    ["nobody", {}, { errorCode: "UNKNOWN", attempts: 0, origin: { convention: "generic" } }],
    [
      "a rule of EventBridge",
      {
        Body: EVENT,
        ...strings({
          RULE_ARN: "arn:aws:events:eu-west-1:1:rule/r",
          TARGET_ARN: "arn:aws:sqs:eu-west-1:1:orders",
          ERROR_CODE: "NO_PERMISSIONS",
          ERROR_MESSAGE: "no access",
          RETRY_ATTEMPTS: "3",
          EXHAUSTED_RETRY_CONDITION: "MaximumRetryAttempts",
        }),
      },
      {
        eventId: "6a7e8feb",
        eventType: "OrderPlaced",
        errorCode: "ACCESS_DENIED",
        attempts: 4,
        error: { type: null, message: "no access; MaximumRetryAttempts", stack: null },
        origin: { convention: "eventbridge-rule", queue: "orders" },
      },
    ],
    [
      "a schedule whose input was cut",
      strings({ SCHEDULE_ARN: "arn:s", EXECUTION_ID: "x-1", ERROR_CODE: "TIMEOUT", IS_PAYLOAD_TRUNCATED: "true" }),
      { eventId: "x-1", errorCode: "TIMEOUT", origin: { payloadState: "reference-only" } },
    ],
    [
      "an event bus of 2026",
      {
        Body: '{"version":"1.0","busArn":"arn:b","subscriberArn":"arn:s","errorCode":"ACCESS_DENIED","errorMessage":"no","retryAttempts":4,"failedMessages":[{"eventId":"e-1"},{"eventId":"e-2"}]}',
      },
      { errorCode: "ACCESS_DENIED", attempts: 5, origin: { payloadState: "batch-reference", consumer: "arn:s" } },
    ],
    [
      "the dead-letter queue of a function",
      { Body: EVENT, ...strings({ RequestID: "r-1", ErrorCode: "200", ErrorMessage: "Task timed out" }) },
      { eventId: "r-1", errorCode: "UNKNOWN", error: { type: null, message: "Task timed out", stack: null } },
    ],
    [
      "the destination of a function",
      {
        Body: JSON.stringify({
          version: "1.0",
          timestamp: "2026-11-14T18:16:05.568Z",
          requestContext: context(),
          requestPayload: { order: 7 },
          responsePayload: { errorMessage: "bad", errorType: "ValidationError", stackTrace: ["a.py, 1", "b.py, 2"] },
        }),
      },
      {
        eventId: "e4b46cbf",
        errorCode: "VALIDATION_ERROR",
        attempts: 3,
        failedAtMs: Date.parse("2026-11-14T18:16:05.568Z"),
        error: { type: "ValidationError", message: "bad", stack: "a.py, 1\nb.py, 2" },
      },
    ],
    [
      "a batch of a stream that a function gave up",
      {
        Body: JSON.stringify({
          requestContext: context({ condition: "RetryAttemptsExhausted" }),
          timestamp: "2026-11-14T18:16:05.568Z",
          KinesisBatchInfo: { shardId: "s-0", batchSize: 2, streamArn: "arn:aws:kinesis:us-east-2:1:stream/orders" },
        }),
      },
      { errorCode: "DELIVERY_LIMIT", attempts: 3, origin: { payloadState: "batch-reference" } },
    ],
  ])("reads what %s leaves", (_, message, expected) => {
    expect(parked(message)).toMatchObject(expected);
  });

  it("parks the event inside a destination's record byte for byte", () => {
    const Body = `{"requestPayload": {"big": 12345678901234567890, "e": 1.0} ,"requestContext":${JSON.stringify(context())}}`;
    expect(Buffer.from(parked({ Body }).payload).toString()).toBe('{"big": 12345678901234567890, "e": 1.0}');
  });

  it("refuses to redrive what names records and does not hold them", () => {
    const letter = parked({
      Body: '{"busArn":"b","errorCode":"X","failedMessages":[{"eventId":"e-1"}]}',
      Attributes: MOVED,
    });
    expect(() => sent(letter)).toThrow(expect.objectContaining({ code: "SQS_REFERENCE_ONLY", sent: "no" }));
  });

  it("leaves the attributes of the failure behind, and keeps those of the application", () => {
    const letter = parked({ ...strings({ RequestID: "r-1", ErrorCode: "200", tenant: "eu" }), Attributes: MOVED });
    const names = Object.keys(sent(letter).entry.MessageAttributes!);
    expect(names).toContain("tenant");
    expect(names).not.toContain("ErrorCode");
  });
});

describe("an envelope of SNS", () => {
  const envelope = (message: string) =>
    `{ "Type" : "Notification",\n "MessageId" : "sns-1", "TopicArn" : "arn:aws:sns:eu-west-1:1:orders", "Message" : ${message},
 "Timestamp" : "2026-08-22T10:11:12.123Z", "MessageAttributes" : { "tenant" : {"Type":"String","Value":"eu"} } }`;
  const written = '"{\\"aggregateId\\": \\"order-7\\", \\"text\\": \\"\\u00e9\\/\\"}"';

  it("is opened for people and mappings", () => {
    const letter = parked({ Body: envelope(written), Attributes: MOVED });
    expect(Buffer.from(letter.payload).toString()).toBe('{"aggregateId": "order-7", "text": "é/"}');
    expect(letter).toMatchObject({ eventId: "sns-1", aggregateId: "order-7", errorCode: "DELIVERY_LIMIT" });
    expect(letter.headers).toContainEqual(["tenant", "eu"]);
  });

  it("goes back byte for byte, and its attributes stay inside", () => {
    const { entry } = sent(parked({ Body: envelope(written), Attributes: MOVED }));
    expect(entry.MessageBody).toBe(envelope(written));
    expect(Object.keys(entry.MessageAttributes!)).not.toContain("tenant");
  });

  it("is closed again around a message that was edited", () => {
    const payload = Buffer.from('{"fixed": "a\\nb"}');
    const { entry } = sent(parked({ Body: envelope(written), Attributes: MOVED }), { payload });
    expect(JSON.parse(entry.MessageBody!)).toMatchObject({ MessageId: "sns-1", Message: '{"fixed": "a\\nb"}' });
  });
});

it("a compressed body in base64 is known as such, and goes back as it came", async () => {
  const Body = gzipSync('{"order":77}').toString("base64");
  const attributes = { "content-type": "application/json", "content-encoding": "gzip, base64" };
  const letter = parked({ Body, ...strings(attributes), Attributes: MOVED });
  expect(whyNotPlain(letter)).toBe("the message declares its body as gzip, base64");
  expect(await decodeBody(letter)).toMatchObject({ text: '{"order":77}' });
  const { MessageBody, MessageAttributes } = sent(letter).entry;
  expect(MessageBody).toBe(Body);
  expect(MessageAttributes).toMatchObject(strings(attributes).MessageAttributes);
});

describe("the room for marks", () => {
  const own = (count: number) =>
    strings(Object.fromEntries(Array.from({ length: count }, (_, n) => [`own-${n}`, "v"])));
  const again = (letter: DeadLetter) => {
    const { MessageAttributes, MessageBody } = sent(letter, { attempt: 3 }).entry;
    // A new message id, as SQS gives one to each send.
    return parked({
      MessageId: "m-2",
      Body: MessageBody!,
      MessageAttributes: MessageAttributes ?? {},
      Attributes: MOVED,
    });
  };

  it.each([0, 5, 6, 7, 9])("knows a message with %i attributes of its own when it comes back", (count) => {
    const letter = parked({ ...own(count), Attributes: MOVED });
    const bounced = again(letter);
    expect(bounced.eventId).toBe(letter.eventId);
    expect(bounced.redrive).toEqual({ redriveId: "018f9c4e-1111-7000-8000-000000000001", attempt: 3 });
    // A second redrive leaves no mark of the first.
    const names = Object.keys(sent(bounced).entry.MessageAttributes!);
    expect(names.filter((name) => name.startsWith("own-"))).toHaveLength(count);
    expect(names.length).toBeLessThanOrEqual(10);
  });

  it("sends ten attributes of the application without marks: the event's own id tells the bounce", () => {
    const letter = parked({ ...own(9), Attributes: MOVED });
    const full = parked({
      MessageAttributes: { ...own(9).MessageAttributes, "event-id": { DataType: "String", StringValue: "order-7" } },
      Attributes: MOVED,
    });
    expect(Object.keys(sent(full).entry.MessageAttributes!)).toHaveLength(10);
    expect(again(full)).toMatchObject({ eventId: "order-7", redrive: null });
    expect(again(letter).redrive).not.toBeNull();
  });

  it("leaves the trace of a send out of a message without room for it", () => {
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const traced = (count: number) => {
      const letter = parked({ ...own(count), Attributes: MOVED });
      const headers = [...letter.headers, ["traceparent", traceparent] as const];
      return sent({ ...letter, headers: headers as typeof letter.headers }, { traceparent, traceparentAdded: true });
    };
    expect(traced(2).entry.MessageAttributes!.traceparent!.StringValue).toBe(traceparent);
    expect(Object.keys(traced(10).entry.MessageAttributes!).filter((name) => name.startsWith("own-"))).toHaveLength(10);
    expect(traced(10).entry.MessageAttributes).not.toHaveProperty("traceparent");
  });

  it("leaves marks out of a message of the greatest size", () => {
    const letter = parked({ Body: "x".repeat(1_048_576), Attributes: MOVED });
    expect(sent(letter).entry.MessageAttributes).toBeUndefined();
  });
});

describe("what SQS does not carry", () => {
  const message = (change: Partial<OutboundMessage>) => outboundMessage({ origin: { queue: "orders" }, ...change });
  it.each<[string, Partial<OutboundMessage>, string]>([
    ["no text", { payload: Buffer.from([0xff]) }, "SQS_INVALID_MESSAGE_CONTENTS"],
    ["nothing", { payload: Buffer.alloc(0) }, "SQS_INVALID_MESSAGE_CONTENTS"],
    ["an empty header", { headers: [["x", ""]] }, "SQS_INVALID_MESSAGE_CONTENTS"],
    ["a header of AWS", { headers: [["AWS.x", "1"]] }, "SQS_INVALID_MESSAGE_CONTENTS"],
    [
      "a header twice",
      {
        headers: [
          ["x", "1"],
          ["x", "2"],
        ],
      },
      "SQS_INVALID_MESSAGE_CONTENTS",
    ],
    ["eleven headers", { headers: Array.from({ length: 11 }, (_, n) => [`h${n}`, "v"]) }, "SQS_TOO_MANY_ATTRIBUTES"],
    ["no destination", { origin: {} }, "SQS_NO_ORIGIN_QUEUE"],
  ])("is refused before it leaves: %s", (_, change, code) => {
    expect(() => outboundOf(message(change), CONFIG, "main")).toThrow(expect.objectContaining({ code, sent: "no" }));
  });

  it("gives a FIFO queue an id that fits, and a new one for each attempt", () => {
    const ids = [1, 2].map((attempt) => {
      const origin = {
        queue: "orders.fifo",
        messageGroup: "g",
        properties: { MessageDeduplicationId: "é".repeat(90) },
      };
      return outboundOf(message({ origin, attempt }), CONFIG, "main").entry.MessageDeduplicationId!;
    });
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(/^[\x21-\x7e]{1,128}$/);
  });
});

describe("the configuration of SQS", () => {
  const parse = (config: object) => () => parseSourceConfig("sqs", config);
  it.each<[object, string | null]>([
    [{ queue: "orders-dlq.fifo" }, null],
    [{ queue: "https://sqs.eu-central-1.amazonaws.com/1/orders-dlq" }, null],
    [{ queue: "http://localhost:9324/000000000000/orders", endpoint: "http://localhost:9324" }, null],
    [{ queue: "http://localhost:9324/000000000000/orders" }, "config.queue"],
    [{ queue: "orders dlq" }, "config.queue"],
    [{ queue: "q", accessKeyId: "env:PARKADE_SECRET_A" }, "config.secretAccessKey"],
    [{ queue: "q", sessionToken: "t" }, "config.sessionToken"],
    [{ queue: "q", visibilitySeconds: 1 }, "config.visibilitySeconds"],
  ])("names the field that is wrong: %j -> %s", (config, expected) => {
    if (expected === null) expect(parse(config)).not.toThrow();
    else
      expect(parse(config)).toThrow(
        expect.objectContaining({ fields: [expect.objectContaining({ field: expected })] }),
      );
  });
});
