import { type Family, judged } from "@/lib/retry/classify/classifier";
import {
  CANCELLED,
  type CodeRule,
  MAYBE_SENT,
  NOT_SENT,
  PERMANENT,
  THROTTLED,
  tableOf,
  upperSnake,
} from "@/lib/retry/classify/verdict";

/**
 * Error codes of AWS services and of SQS in particular, as `error.name` or `error.Code`. They beat the status: AWS
 * throttles with 400, 403, 502 and 503 alike.
 * Sources: botocore retries/standard.py and test_special.py; smithy-typescript constants; SQS API reference.
 */
const CODES = tableOf<CodeRule>({
  Throttling: THROTTLED,
  ThrottlingException: THROTTLED,
  ThrottledException: THROTTLED,
  RequestThrottledException: THROTTLED,
  RequestThrottled: THROTTLED,
  TooManyRequestsException: THROTTLED,
  ProvisionedThroughputExceededException: THROTTLED,
  TransactionInProgressException: THROTTLED,
  RequestLimitExceeded: THROTTLED,
  BandwidthLimitExceeded: THROTTLED,
  LimitExceededException: THROTTLED,
  SlowDown: THROTTLED,
  PriorRequestNotComplete: THROTTLED,
  EC2ThrottledException: THROTTLED,
  OverLimit: THROTTLED,
  KmsThrottled: THROTTLED,
  RequestTimeout: MAYBE_SENT,
  RequestTimeoutException: MAYBE_SENT,
  InternalError: MAYBE_SENT,
  InternalFailure: MAYBE_SENT,
  ServiceUnavailable: MAYBE_SENT,
  // Signed too long ago: the SDK corrects its clock from the answer, so one repeat is enough.
  RequestTimeTooSkewed: { ...NOT_SENT, repeatsMax: 1 },
  RequestExpired: { ...NOT_SENT, repeatsMax: 1 },
  AccessDenied: PERMANENT,
  AccessDeniedException: PERMANENT,
  InvalidClientTokenId: PERMANENT,
  SignatureDoesNotMatch: PERMANENT,
  UnrecognizedClientException: PERMANENT,
  QueueDoesNotExist: PERMANENT,
  NonExistentQueue: PERMANENT,
  InvalidMessageContents: PERMANENT,
  BatchRequestTooLong: PERMANENT,
  UnsupportedOperation: PERMANENT,
  InvalidParameterValue: PERMANENT,
  MissingParameter: PERMANENT,
  KmsAccessDenied: PERMANENT,
  KmsDisabled: PERMANENT,
  KmsNotFound: PERMANENT,
  KmsInvalidState: PERMANENT,
  KmsInvalidKeyUsage: PERMANENT,
  KmsOptInRequired: PERMANENT,
  KmsAccessDeniedException: PERMANENT,
  InvalidAttributeValue: PERMANENT,
  InvalidAddress: PERMANENT,
  InvalidSecurity: PERMANENT,
  ExpiredToken: PERMANENT,
  ExpiredTokenException: PERMANENT,
  // The adapter's own: a person must edit the message or configure its source.
  NoOriginQueue: PERMANENT,
  MessageTooLarge: PERMANENT,
  TooManyAttributes: PERMANENT,
  ReferenceOnly: PERMANENT,
  NoCredentials: PERMANENT,
  NoRegion: PERMANENT,
  NoOutcome: MAYBE_SENT,
  // Our own side closed the publisher: the message has not failed.
  SqsClosed: CANCELLED,
});

/** The same names as adapters write them: `SQS_THROTTLING_EXCEPTION`, `QUEUE_DOES_NOT_EXIST`. */
const UPPER = tableOf<CodeRule>(
  Object.fromEntries(Object.entries(CODES).map(([name, rule]) => [upperSnake(name), rule])),
);

/** Errors of AWS SDKs, which have a name and no code, and of adapters, which have a code. */
export const AWS_ERRORS: Family = {
  byCode({ code, name }) {
    const known = code ?? name;
    return typeof known === "string" ? judged(upperSnake(known), awsRule(known)) : undefined;
  },
};

/** Rule of an AWS error code; namespaces such as `AWS.SimpleQueueService.NonExistentQueue` are dropped. */
function awsRule(code: string): CodeRule | null {
  const name = code.slice(code.lastIndexOf(".") + 1);
  return CODES[name] ?? UPPER[name] ?? UPPER[name.replace(/^(SQS|AWS)_/, "")] ?? null;
}
