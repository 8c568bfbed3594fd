import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { classifier, timeoutVerdict } from "@/lib/retry/classify/classifier";
import { classify } from "@/lib/retry/classify/classify";
import { chain } from "@/lib/retry/classify/facts";
import { httpRule } from "@/lib/retry/classify/http";
import { NODE_ERRORS } from "@/lib/retry/classify/node";
import { REDIS_ERRORS } from "@/lib/retry/classify/redis";
import { upperSnake } from "@/lib/retry/classify/verdict";

function error(fields: Record<string, unknown>, cause?: unknown): Error {
  return Object.assign(new Error("503 ETIMEDOUT Throttling: text that must not matter", { cause }), fields);
}

/** kind, sent, repeatsMax, blame in short. */
function short(thrown: unknown): string {
  const { kind, sent, repeatsMax, blame } = classify(thrown);
  return [kind, sent, ...(repeatsMax === null ? [] : [`x${repeatsMax}`]), ...(blame === "local" ? ["local"] : [])].join(
    " ",
  );
}

function group(meaning: string, codes: string): [string, string][] {
  return codes
    .split(/\s+/)
    .filter(Boolean)
    .map((code) => [code, meaning]);
}

const BY_CODE: [code: string, meaning: string][] = [
  ...group(
    "transient no",
    "ECONNREFUSED EAI_AGAIN EHOSTUNREACH ENETUNREACH EHOSTDOWN ENETDOWN UND_ERR_CONNECT_TIMEOUT",
  ),
  ...group("transient no", "UND_ERR_DESTROYED NGHTTP2_REFUSED_STREAM"),
  ...group("transient no x3", "ENOTFOUND"),
  ...group("transient maybe", "ECONNRESET ECONNABORTED EPIPE ETIMEDOUT ESOCKETTIMEDOUT UND_ERR_SOCKET TIMEOUT"),
  ...group("transient maybe", "UND_ERR_HEADERS_TIMEOUT UND_ERR_BODY_TIMEOUT UND_ERR_INFO ERR_HTTP2_STREAM_ERROR"),
  ...group("transient maybe", "ERR_HTTP2_SESSION_ERROR ERR_HTTP2_GOAWAY_SESSION ERR_STREAM_PREMATURE_CLOSE"),
  ...group("transient maybe x1", "HPE_INVALID_CONSTANT HPE_HEADER_OVERFLOW"),
  ...group("cancelled maybe", "UND_ERR_ABORTED ABORT_ERR"),
  ...group("permanent no", "UND_ERR_CLOSED UND_ERR_INVALID_ARG UND_ERR_INVALID_RETURN_VALUE UND_ERR_NOT_SUPPORTED"),
  ...group(
    "permanent no",
    "UND_ERR_REQ_CONTENT_LENGTH_MISMATCH UND_ERR_RES_EXCEEDED_MAX_SIZE UND_ERR_HEADERS_OVERFLOW",
  ),
  ...group("permanent no", "ERR_INVALID_URL ERR_INVALID_ARG_TYPE ERR_INVALID_CHAR CERT_HAS_EXPIRED CERT_NOT_YET_VALID"),
  ...group("permanent no", "DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN UNABLE_TO_VERIFY_LEAF_SIGNATURE"),
  ...group("permanent no", "UNABLE_TO_GET_ISSUER_CERT_LOCALLY ERR_TLS_CERT_ALTNAME_INVALID"),
  ...group("transient no local", "EMFILE ENFILE ENOBUFS ENOMEM EADDRNOTAVAIL"),
  ...group("permanent no", "AMQP_NO_ROUTE AMQP_NOT_FOUND AMQP_ACCESS_REFUSED AMQP_PRECONDITION_FAILED"),
  ...group("permanent no", "AMQP_CONTENT_TOO_LARGE AMQP_404"),
  ...group("permanent no", "AMQP_NO_ORIGIN_EXCHANGE AMQP_NO_ORIGIN_QUEUE AMQP_INVALID_MESSAGE AMQP_HEADERS_TOO_LARGE"),
  ...group("permanent no", "HTTP_NO_TARGET OAUTH_REFUSED AMQP_UNREADABLE"),
  ...group("permanent no", "BULLMQ_NOT_FAILED KAFKA_NO_ORIGIN_TOPIC REDIS_NO_STREAM REDIS_NOPERM SIDEKIQ_NOT_A_JOB"),
  ...group("throttled no", "REDIS_OOM PUBSUB_RESOURCE_EXHAUSTED"),
  ...group(
    "permanent no",
    "PUBSUB_NOT_FOUND PUBSUB_PERMISSION_DENIED PUBSUB_MESSAGE_TOO_LARGE PUBSUB_INVALID_ARGUMENT",
  ),
  ...group("transient maybe", "PUBSUB_UNAVAILABLE PUBSUB_INTERNAL"),
  ...group("ambiguous maybe", "PUBSUB_DEADLINE_EXCEEDED PUBSUB_UNKNOWN"),
  ...group("transient no", "REDIS_READONLY"),
  ...group("cancelled maybe", "AMQP_CLOSED KAFKA_CLOSED REDIS_CLOSED"),
  ...group("transient no", "AMQP_NO_CONSUMERS AMQP_NACK AMQP_NOT_CONNECTED"),
  ...group("throttled no", "AMQP_BLOCKED AMQP_RESOURCE_ERROR AMQP_506"),
  ...group("transient maybe", "AMQP_CONNECTION_FORCED AMQP_320"),
  ...group("ambiguous maybe", "AMQP_CONFIRM_TIMEOUT AMQP_CONFIRM_LOST AMQP_CHANNEL_CLOSED AMQP_CONNECTION_CLOSED"),
  ...group(
    "ambiguous maybe",
    "UNKNOWN_SERVER_ERROR REQUEST_TIMED_OUT NETWORK_EXCEPTION NOT_ENOUGH_REPLICAS_AFTER_APPEND",
  ),
  ...group("ambiguous maybe", "KAFKA_REQUEST_TIMED_OUT"),
  ...group("transient no", "CORRUPT_MESSAGE LEADER_NOT_AVAILABLE NOT_LEADER_OR_FOLLOWER NOT_LEADER_FOR_PARTITION"),
  ...group("transient no", "BROKER_NOT_AVAILABLE REPLICA_NOT_AVAILABLE STALE_CONTROLLER_EPOCH NOT_COORDINATOR"),
  ...group("transient no", "COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_ENOUGH_REPLICAS NOT_CONTROLLER"),
  ...group("transient no", "KAFKA_STORAGE_ERROR KAFKA_NOT_LEADER_OR_FOLLOWER"),
  ...group("transient no x3", "UNKNOWN_TOPIC_OR_PARTITION"),
  ...group("throttled no", "THROTTLING_QUOTA_EXCEEDED KAFKA_THROTTLING_QUOTA_EXCEEDED"),
  ...group("permanent no", "MESSAGE_TOO_LARGE INVALID_TOPIC_EXCEPTION RECORD_LIST_TOO_LARGE INVALID_REQUIRED_ACKS"),
  ...group("permanent no", "TOPIC_AUTHORIZATION_FAILED GROUP_AUTHORIZATION_FAILED CLUSTER_AUTHORIZATION_FAILED"),
  ...group("permanent no", "INVALID_TIMESTAMP UNSUPPORTED_SASL_MECHANISM UNSUPPORTED_VERSION POLICY_VIOLATION"),
  ...group("permanent no", "UNSUPPORTED_FOR_MESSAGE_FORMAT OUT_OF_ORDER_SEQUENCE_NUMBER DUPLICATE_SEQUENCE_NUMBER"),
  ...group("permanent no", "INVALID_PRODUCER_EPOCH SASL_AUTHENTICATION_FAILED PRODUCER_FENCED INVALID_RECORD"),
  ...group("transient no", "NATS_NO_RESPONDERS NATS_CONNECTION_REFUSED NATS_DRAINING NATS_10008 NATS_10009 NATS_10077"),
  ...group("ambiguous maybe", "NATS_TIMEOUT NATS_CONNECTION_CLOSED NATS_DISCONNECT"),
  ...group("throttled no", "NATS_10023 NATS_10028 NATS_10047"),
  ...group("permanent no", "NATS_AUTHORIZATION_VIOLATION NATS_PERMISSIONS_VIOLATION NATS_MAX_PAYLOAD_EXCEEDED"),
  ...group("permanent no", "NATS_INVALID_SUBJECT NATS_10054 NATS_10059 NATS_10060 NATS_10070 NATS_10071 NATS_10076"),
  ...group("throttled no", "THROTTLING THROTTLING_EXCEPTION SQS_REQUEST_THROTTLED AWS_SLOW_DOWN"),
  ...group("permanent no", "QUEUE_DOES_NOT_EXIST SQS_QUEUE_DOES_NOT_EXIST ACCESS_DENIED"),
  ...group("throttled no", "HTTP_429 HTTP_509"),
  ...group("transient no", "HTTP_408 HTTP_425"),
  ...group("transient maybe", "HTTP_500 HTTP_502 HTTP_503 HTTP_504 HTTP_599"),
  ...group("permanent no", "HTTP_300 HTTP_304 HTTP_400 HTTP_404 HTTP_422 HTTP_499 HTTP_501 HTTP_505 HTTP_511"),
  ...group("transient no", "40001 40P01 55P03 57014 57P03 53300 08001 08004"),
  ...group("transient maybe", "57P01 57P02 08006 08003"),
  ...group("permanent no", "22001 23505 42P01 28P01"),
];

const AWS_NAMES: [name: string, meaning: string][] = [
  ...group(
    "throttled no",
    "Throttling ThrottlingException ThrottledException RequestThrottledException RequestThrottled",
  ),
  ...group(
    "throttled no",
    "TooManyRequestsException ProvisionedThroughputExceededException TransactionInProgressException",
  ),
  ...group("throttled no", "RequestLimitExceeded BandwidthLimitExceeded LimitExceededException SlowDown OverLimit"),
  ...group("throttled no", "PriorRequestNotComplete EC2ThrottledException KmsThrottled"),
  ...group(
    "transient maybe",
    "RequestTimeout RequestTimeoutException InternalError InternalFailure ServiceUnavailable",
  ),
  ...group("transient no x1", "RequestTimeTooSkewed RequestExpired"),
  ...group("permanent no", "AccessDenied AccessDeniedException InvalidClientTokenId SignatureDoesNotMatch"),
  ...group("permanent no", "UnrecognizedClientException QueueDoesNotExist NonExistentQueue InvalidMessageContents"),
  ...group("permanent no", "BatchRequestTooLong UnsupportedOperation InvalidParameterValue MissingParameter"),
  ...group("permanent no", "KmsAccessDenied KmsDisabled KmsNotFound"),
];

const AMQP_REPLIES: [code: number, meaning: string][] = [
  [311, "permanent no"],
  [312, "permanent no"],
  [313, "transient no"],
  [320, "transient maybe"],
  [402, "permanent no"],
  [403, "permanent no"],
  [404, "permanent no"],
  [405, "transient no"],
  [406, "permanent no"],
  [501, "permanent no"],
  [502, "permanent no"],
  [503, "permanent no"],
  [504, "permanent no"],
  [505, "permanent no"],
  [506, "throttled no"],
  [530, "permanent no"],
  [540, "permanent no"],
  [541, "transient maybe"],
];

const KAFKA_NUMBERS: [code: number, name: string][] = [
  [-1, "UNKNOWN_SERVER_ERROR"],
  [2, "CORRUPT_MESSAGE"],
  [3, "UNKNOWN_TOPIC_OR_PARTITION"],
  [5, "LEADER_NOT_AVAILABLE"],
  [6, "NOT_LEADER_OR_FOLLOWER"],
  [7, "REQUEST_TIMED_OUT"],
  [8, "BROKER_NOT_AVAILABLE"],
  [9, "REPLICA_NOT_AVAILABLE"],
  [10, "MESSAGE_TOO_LARGE"],
  [11, "STALE_CONTROLLER_EPOCH"],
  [13, "NETWORK_EXCEPTION"],
  [14, "COORDINATOR_LOAD_IN_PROGRESS"],
  [15, "COORDINATOR_NOT_AVAILABLE"],
  [16, "NOT_COORDINATOR"],
  [17, "INVALID_TOPIC_EXCEPTION"],
  [18, "RECORD_LIST_TOO_LARGE"],
  [19, "NOT_ENOUGH_REPLICAS"],
  [20, "NOT_ENOUGH_REPLICAS_AFTER_APPEND"],
  [21, "INVALID_REQUIRED_ACKS"],
  [29, "TOPIC_AUTHORIZATION_FAILED"],
  [30, "GROUP_AUTHORIZATION_FAILED"],
  [31, "CLUSTER_AUTHORIZATION_FAILED"],
  [32, "INVALID_TIMESTAMP"],
  [33, "UNSUPPORTED_SASL_MECHANISM"],
  [35, "UNSUPPORTED_VERSION"],
  [41, "NOT_CONTROLLER"],
  [43, "UNSUPPORTED_FOR_MESSAGE_FORMAT"],
  [44, "POLICY_VIOLATION"],
  [45, "OUT_OF_ORDER_SEQUENCE_NUMBER"],
  [46, "DUPLICATE_SEQUENCE_NUMBER"],
  [47, "INVALID_PRODUCER_EPOCH"],
  [56, "KAFKA_STORAGE_ERROR"],
  [58, "SASL_AUTHENTICATION_FAILED"],
  [87, "INVALID_RECORD"],
  [89, "THROTTLING_QUOTA_EXCEEDED"],
  [90, "PRODUCER_FENCED"],
];

describe("an error code", () => {
  it.each(BY_CODE)("%s is %s", (code, meaning) => {
    expect(short(error({ code }))).toBe(meaning);
    expect(classify(error({ code })).code).toBe(code);
  });

  it.each(AWS_NAMES)("%s of AWS is %s, by name, by Code, by code and as an adapter writes it", (name, meaning) => {
    expect(short(error({ name }))).toBe(meaning);
    expect(short(error({ Code: name }))).toBe(meaning);
    expect(short(error({ code: `AWS.SimpleQueueService.${name}` }))).toBe(meaning);
    expect(short(error({ code: `SQS_${upperSnake(name)}` }))).toBe(meaning);
    expect(classify(error({ name })).code).toBe(upperSnake(name));
  });

  it.each(AMQP_REPLIES)("AMQP reply %d is %s when it comes with class and method", (code, meaning) => {
    expect(short(error({ code, classId: 60, methodId: 40 }))).toBe(meaning);
    expect(classify(error({ code, classId: 60, methodId: 40 })).code).toBe(`AMQP_${code}`);
    expect(short(error({ code: `AMQP_${code}` }))).toBe(meaning);
    expect(classify(error({ code })).code).toBe("UNKNOWN");
    expect(classify(error({ code, classId: 60 })).code).toBe("UNKNOWN");
    expect(classify(error({ code, methodId: 60 })).code).toBe("UNKNOWN");
  });

  it.each(KAFKA_NUMBERS)("Kafka %d is %s", (code, name) => {
    const verdict = classify(error({ name: "KafkaJSProtocolError", code }));
    expect(verdict).toEqual({ ...classify(error({ type: name })), code: `KAFKA_${name}` });
    expect(verdict.kind).toBe(classify(error({ code: name })).kind);
    expect(classify(error({ code })).code).toBe("UNKNOWN");
  });

  it.each([
    ...group("transient no", "KafkaJSConnectionError KafkaJSBrokerNotFound"),
    ...group("ambiguous maybe", "KafkaJSConnectionClosedError KafkaJSRequestTimeoutError KafkaJSTimeout"),
    ...group("permanent no", "KafkaJSSASLAuthenticationError KafkaJSNotImplemented"),
    ...group("cancelled maybe", "KafkaJSAbortError"),
    ...group("transient no", "NoRespondersError DrainingConnectionError"),
    ...group("ambiguous maybe", "ClosedConnectionError"),
    ...group("permanent no", "AuthorizationError UserAuthenticationExpiredError PermissionViolationError"),
    ...group("permanent no", "InvalidSubjectError"),
    ...group("cancelled maybe", "AbortError"),
    ...group("transient maybe", "TimeoutError"),
  ])("the name %s is %s", (name, meaning) => {
    expect(short(error({ name }))).toBe(meaning);
  });

  it("names what is known by name only", () => {
    const code = (name: string) => classify(error({ name })).code;
    expect(["AbortError", "TimeoutError", "NoRespondersError", "ClosedConnectionError"].map(code)).toEqual([
      "ABORTED",
      "TIMEOUT",
      "NATS_NO_RESPONDERS",
      "NATS_CONNECTION_CLOSED",
    ]);
    expect(code("DrainingConnectionError")).toBe("NATS_DRAINING");
    expect(code("AuthorizationError")).toBe("NATS_AUTHORIZATION_VIOLATION");
    expect(code("UserAuthenticationExpiredError")).toBe("NATS_AUTHORIZATION_VIOLATION");
    expect(code("PermissionViolationError")).toBe("NATS_PERMISSIONS_VIOLATION");
    expect(code("InvalidSubjectError")).toBe("NATS_INVALID_SUBJECT");
    expect(code("KafkaJSRequestTimeoutError")).toBe("KAFKA_JSREQUEST_TIMEOUT_ERROR");
  });

  it.each([
    [{ err_code: 10059 }, "permanent no", "NATS_10059"],
    [{ api_error: { err_code: 10008 } }, "transient no", "NATS_10008"],
    [{ api_error: null }, "permanent maybe", "UNKNOWN"],
    [{ err_code: 99999 }, "permanent maybe", "UNKNOWN"],
    [{ type: "NOT_LEADER_FOR_PARTITION" }, "transient no", "KAFKA_NOT_LEADER_FOR_PARTITION"],
    [{ type: "some-other-type" }, "permanent maybe", "UNKNOWN"],
    [{ name: "KafkaJSProtocolError", code: 999 }, "permanent maybe", "UNKNOWN"],
  ])("%j is %s", (fields, meaning, code) => {
    expect(short(error(fields))).toBe(meaning);
    expect(classify(error(fields)).code).toBe(code);
  });

  it.each([
    "AMQP_4040",
    "XAMQP_404",
    "AMQP_999",
    "NATS_123456",
    "XNATS_10008",
    "NATS_99999",
    "HTTP_5030",
    "XHTTP_503",
    "HTTP_200",
    "KAFKA_NOPE",
    "XKAFKA_MESSAGE_TOO_LARGE",
    "XXHPE_1",
    "NATS_100590",
    "FOO_SQS_THROTTLING",
    "XXXXXXMESSAGE_TOO_LARGE",
    "235055",
    "23xx12345",
    "99999",
    "ABCDE",
    "40001X",
    "X40001",
    "99000",
  ])("%s is nobody's", (code) => {
    expect(short(error({ code }))).toBe("permanent maybe");
  });
});

describe("an HTTP status", () => {
  it.each([
    [{ status: 404 }, "permanent no", "HTTP_404"],
    [{ statusCode: 502 }, "transient maybe", "HTTP_502"],
    [{ $metadata: { httpStatusCode: 429 } }, "throttled no", "HTTP_429"],
    [{ response: { status: 408 } }, "transient no", "HTTP_408"],
    [{ status: "503" }, "permanent maybe", "UNKNOWN"],
    [{ response: null }, "permanent maybe", "UNKNOWN"],
    [{ $metadata: "x" }, "permanent maybe", "UNKNOWN"],
    [{ code: "UND_ERR_REQ_RETRY", statusCode: 429 }, "throttled no", "HTTP_429"],
    [{ code: "UND_ERR_RESPONSE", statusCode: 400 }, "permanent no", "HTTP_400"],
    [{ code: "UND_ERR_REQ_RETRY" }, "permanent maybe", "UND_ERR_REQ_RETRY"],
    [{ code: "SOME_CODE", status: 503 }, "transient maybe", "HTTP_503"],
  ])("%j is %s", (fields, meaning, code) => {
    expect(short(error(fields))).toBe(meaning);
    expect(classify(error(fields)).code).toBe(code);
  });

  it("makes 503 throttling only with a hint that can be read", () => {
    for (const shape of [{ status: 503 }, { code: "HTTP_503" }]) {
      expect(short(error({ ...shape, retryAfter: "7" }))).toBe("throttled no");
      expect(short(error({ ...shape, retryAfter: "Fri, 20 Nov 2026 09:01:30 GMT" }))).toBe("throttled no");
      expect(short(error({ ...shape, retryAfter: "soon" }))).toBe("transient maybe");
      expect(short(error({ ...shape, retryAfter: null }))).toBe("transient maybe");
    }
    expect(classify(error({ status: 503, retryAfter: "7" })).retryAfter).toBe("7");
    expect(classify(error({ status: 503, retryAfter: 7 })).retryAfter).toBeNull();
  });

  it.each([199, 200, 299, 600, 500.5, Number.NaN])("%d is no failure", (status) => {
    expect(httpRule(status, false)).toBeNull();
  });

  it("hints change nothing about other statuses", () => {
    for (const status of [300, 400, 500, 502, 504, 511])
      expect(httpRule(status, true)).toEqual(httpRule(status, false));
  });
});

describe("a chain of causes", () => {
  it("is decided by the outermost link anyone knows", () => {
    expect(classify(error({}, error({ code: "ECONNREFUSED" }))).code).toBe("ECONNREFUSED");
    expect(classify(error({ code: "EPIPE" }, error({ code: "ECONNREFUSED" }))).code).toBe("EPIPE");
    expect(classify(error({ code: "MY_WRAPPER" }, error({}, { code: "CERT_HAS_EXPIRED" }))).kind).toBe("permanent");
  });

  it("follows an AggregateError through its first error", () => {
    const both = new AggregateError([error({ code: "ECONNREFUSED" }), error({ code: "EPIPE" })]);
    expect(classify(error({}, both)).code).toBe("ECONNREFUSED");
    expect(chain({ errors: "no list" })).toHaveLength(1);
  });

  it("ends at a cycle and at ten links", () => {
    const first = error({});
    const second = error({}, first);
    first.cause = second;
    expect(chain(first)).toEqual([first, second]);
    let deep: unknown = { code: "ECONNREFUSED" };
    for (let link = 0; link < 10; link++) deep = error({}, deep);
    expect(chain(deep)).toHaveLength(10);
    expect(classify(deep).code).toBe("UNKNOWN");
    expect(classify((deep as Error).cause).code).toBe("ECONNREFUSED");
  });

  it.each([null, undefined, "ECONNREFUSED", 503, Symbol("x")])("thrown %s is permanent and maybe sent", (thrown) => {
    expect(classify(thrown)).toEqual({
      kind: "permanent",
      code: "UNKNOWN",
      unknown: true,
      sent: "maybe",
      repeatsMax: null,
      blame: "target",
      retryAfter: null,
      retryAfterMs: null,
      pushbackMs: null,
      stop: false,
    });
  });

  it("never throws and never loops", () => {
    fc.assert(
      fc.property(fc.anything(), (thrown) => {
        expect(["transient", "throttled", "permanent", "cancelled", "ambiguous"]).toContain(classify(thrown).kind);
      }),
    );
  });
});

describe("what an adapter states", () => {
  it("about the send beats the table", () => {
    expect(short(error({ code: "ECONNRESET", sent: "no" }))).toBe("transient no");
    expect(short(error({ code: "ECONNREFUSED", sent: "maybe" }))).toBe("transient maybe");
    expect(short(error({ code: "ECONNRESET", sent: "yes" }))).toBe("transient maybe");
    expect(short(error({ sent: "no" }, error({ code: "EPIPE", sent: "maybe" })))).toBe("transient no");
    expect(short(error({}, error({ code: "EPIPE", sent: "no" })))).toBe("transient no");
  });

  it("decides what nobody else knows", () => {
    expect(short(error({ code: "SOMETHING_NEW", sent: "no" }))).toBe("transient no");
    expect(short(error({ code: "SOMETHING_NEW", sent: "maybe" }))).toBe("ambiguous maybe");
    expect(classify(error({ code: "somethingNew", sent: "maybe" })).code).toBe("SOMETHING_NEW");
    expect(classify(error({ code: 77, sent: "maybe" })).code).toBe("UNKNOWN");
  });

  it("includes that the connection never stood", () => {
    expect(short(error({ code: "ETIMEDOUT", syscall: "connect" }))).toBe("transient no");
    expect(short(error({ code: "ETIMEDOUT", syscall: "read" }))).toBe("transient maybe");
    expect(short(error({}, error({ code: "ETIMEDOUT", syscall: "connect" })))).toBe("transient no");
    expect(short(error({ code: "ETIMEDOUT", syscall: "connect", sent: "maybe" }))).toBe("transient maybe");
  });

  it("includes that nothing more must come", () => {
    const stop = (fields: Record<string, unknown>) => classify(error({ status: 503, ...fields })).stop;
    expect(stop({})).toBe(false);
    expect(stop({ retriesExhausted: true })).toBe(true);
    expect(stop({ retriesExhausted: "yes" })).toBe(false);
    expect(stop({ pushback: "-1" })).toBe(true);
    expect(stop({ pushback: "250" })).toBe(false);
    expect(stop({ pushback: null })).toBe(false);
    expect(stop({ pushback: "25x" })).toBe(true);
    expect(stop({ pushback: "x25" })).toBe(true);
    expect(stop({ pushback: ["100"] })).toBe(true);
    expect(classify(error({}, error({ status: 503, retriesExhausted: true }))).stop).toBe(true);
  });

  it("includes the first Retry-After of the chain", () => {
    expect(classify(error({}, error({ status: 429, retryAfter: "9" }))).retryAfter).toBe("9");
    expect(classify(error({ retryAfter: "8" }, error({ status: 429, retryAfter: "9" }))).retryAfter).toBe("8");
  });
});

describe("a timeout of ours", () => {
  it("was surely not sent only while connecting", () => {
    expect(timeoutVerdict("TIMEOUT_CONNECT")).toMatchObject({ kind: "transient", sent: "no", code: "TIMEOUT_CONNECT" });
    expect(timeoutVerdict("TIMEOUT_FIRST_BYTE")).toMatchObject({ kind: "transient", sent: "maybe" });
    expect(timeoutVerdict("TIMEOUT_ATTEMPT")).toMatchObject({ kind: "transient", sent: "maybe" });
  });
});

describe("names that every object has", () => {
  const NAMES = ["constructor", "toString", "valueOf", "hasOwnProperty", "isPrototypeOf", "__proto__"];
  const places = (name: string): [string, Record<string, unknown>][] => [
    ["code", { code: name }],
    ["Code", { Code: name }],
    ["code with a prefix", { code: `KAFKA_${name}` }],
    ["name", { name }],
    ["type", { type: name }],
    ["namespaced code", { code: `AWS.${name}` }],
  ];
  it.each(NAMES.flatMap((name) => places(name).map(([place, link]) => [name, place, link] as const)))(
    "%s as %s is an unknown error: permanent",
    (_name, _place, link) => {
      expect(classify(link)).toMatchObject({ kind: "permanent", sent: "maybe", repeatsMax: null, stop: false });
    },
  );

  it("whatever string comes as code, name or type, the answer is a whole verdict", () => {
    const kinds = ["transient", "throttled", "permanent", "cancelled", "ambiguous"];
    const text = fc.oneof(fc.constantFrom(...Object.getOwnPropertyNames(Object.prototype)), fc.string());
    fc.assert(
      fc.property(text, text, text, (code, name, type) => {
        expect(kinds).toContain(classify({ code, name, type }).kind);
      }),
    );
  });
});

describe("an error reply of Redis", () => {
  const judge = classifier(REDIS_ERRORS, NODE_ERRORS);

  it.each([
    ["LOADING Redis is loading the dataset in memory", "transient no REDIS_LOADING"],
    ["READONLY You can't write against a read only replica.", "transient no REDIS_READONLY"],
    ["OOM command not allowed when used memory > 'maxmemory'.", "throttled no REDIS_OOM"],
    ["WRONGTYPE Operation against a key", "permanent no REDIS_WRONGTYPE"],
    ["ERR unknown command", "permanent no REDIS_ERR"],
    ["SOMETHING new", "permanent maybe UNKNOWN"],
  ])("%s", (message, meaning) => {
    const { code, kind, sent } = judge(Object.assign(new Error(message), { name: "ReplyError" }));
    expect(`${kind} ${sent} ${code}`).toBe(meaning);
  });

  it("is known by its type: the same words in another error say nothing", () => {
    expect(judge(new Error("LOADING the page")).kind).toBe("permanent");
    expect(judge({ name: "MaxRetriesPerRequestError" })).toMatchObject({ kind: "transient", sent: "maybe" });
  });
});
