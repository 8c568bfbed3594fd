import { simpleName } from "@/lib/brokers/conventions/exception-text";

/** Exception recorded, but of no known kind. */
const UNHANDLED_EXCEPTION = "UNHANDLED_EXCEPTION";
/** The message states no reason. */
export const UNKNOWN_ERROR = "UNKNOWN";

/** By the word of the broker or framework for why a message was dead-lettered. */
const BY_REASON: Record<string, string> = {
  rejected: "REJECTED",
  expired: "EXPIRED",
  maxlen: "MAXLEN",
  delivery_limit: "DELIVERY_LIMIT",
  "dead-letter": "NO_CONSUMER", // MassTransit: no consumer for this message type
  "payload-gone": "PAYLOAD_GONE", // NATS: the stream did not hold the message any more
  // EventBridge
  no_permissions: "ACCESS_DENIED",
  access_denied: "ACCESS_DENIED",
  no_resource: "NOT_FOUND",
  throttling: "THROTTLED",
  timeout: "TIMEOUT",
  connection_failure: "CONNECTION_ERROR",
  error_from_target: "UNHANDLED_EXCEPTION",
  // Lambda
  retriesexhausted: "DELIVERY_LIMIT",
  retryattemptsexhausted: "DELIVERY_LIMIT",
  eventageexceeded: "EXPIRED",
  maximumrecordageexceeded: "EXPIRED",
  zeroreservedconcurrency: "THROTTLED",
  maximumpayloadsizeexceeded: "TOO_LARGE",
};

/** Exception names of the JDK, Spring, Hibernate, .NET, Entity Framework, Python and Node. First match wins: narrow rows come first. */
const BY_TYPE: readonly [RegExp, string][] = [
  [
    /OptimisticLock|DbUpdateConcurrency|ConcurrencyException|ConcurrentModification|StaleObjectState|VersionConflict|StaleState/,
    "VERSION_CONFLICT",
  ],
  [/Idempoten|DuplicateKey|DuplicateMessage|DuplicateRequest|AlreadyProcessed/, "IDEMPOTENCY_CONFLICT"],
  [
    /Json(Parse|Mapping|Reader|Serialization|Decode)?(Exception|Error)|MessageConversion|Serializ|Deserializ|MismatchedInput|InvalidFormat|UnrecognizedProperty|InvalidDefinition|MalformedMessage|Protobuf|XmlException|JSONDecode|Unmarshal/,
    "DESERIALIZATION_ERROR",
  ],
  [/Timeout|TimedOut|TaskCanceled|OperationCanceled|DeadlineExceeded/i, "TIMEOUT"],
  [
    /Validation|ConstraintViolation|MethodArgument|IllegalArgument|ArgumentNull|ArgumentOutOfRange|ArgumentException|InvalidArgument|NumberFormat|FormatException|DateTimeParse|ValueError|AssertionError|SchemaViolation/,
    "VALIDATION_ERROR",
  ],
  [/HttpServerError|InternalServerError|BadGateway|ServiceUnavailable|GatewayTimeout|ServerError/, "UPSTREAM_5XX"],
  [
    /HttpClientError|BadRequest|TooManyRequests|UnprocessableEntity|HttpNotFound|WebClientResponse|ApiException/,
    "UPSTREAM_4XX",
  ],
  [/AccessDenied|Unauthori[sz]ed|Authentication|Authori[sz]ation|Forbidden|SecurityException/, "ACCESS_DENIED"],
  [
    /ConnectException|Connection(Refused|Reset|Failure|Closed|Error|Exception)|Socket(Exception|Error)|UnknownHost|NoRouteToHost|HttpRequestException|ResourceAccess|BrokerUnreachable|CannotCreateTransaction|CannotGetJdbcConnection|EndpointNotFound/,
    "CONNECTION_ERROR",
  ],
  [/NotFound|NoSuchElement|NoResult|KeyError|EntityNotFound|MissingEntity/, "NOT_FOUND"],
  [/DataIntegrity|UniqueConstraint|UniqueViolation|ForeignKey/, "CONSTRAINT_VIOLATION"],
  [
    /NullPointer|NullReference|ClassCast|InvalidCast|IndexOutOfRange|IndexOutOfBounds|ArrayIndex|TypeError/,
    "CONSUMER_BUG",
  ],
];

/** Code of an exception type by its name, null when the table does not know it. */
export function codeOfType(type: string): string | null {
  const name = simpleName(type);
  return BY_TYPE.find(([pattern]) => pattern.test(name))?.[1] ?? null;
}

/** Error code where the consumer wrote none: by the first known exception of the chain, else by the reason. */
export function deriveErrorCode(exceptionTypes: readonly string[], reason: string | null): string {
  for (const type of exceptionTypes) {
    const code = codeOfType(type);
    if (code !== null) return code;
  }
  if (exceptionTypes.length > 0) return UNHANDLED_EXCEPTION;
  if (reason === null) return UNKNOWN_ERROR;
  return BY_REASON[reason.toLowerCase()] ?? UNKNOWN_ERROR;
}
