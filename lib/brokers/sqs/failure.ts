import { networkCode, tlsFault } from "@/lib/brokers/coded-error";
import { queueName } from "@/lib/brokers/sqs/kind.shapes";
import { ADDRESS_REFUSED, addressRefusal } from "@/lib/platform/address-filter";

/** A failed request. The message names the queue, the cause and the fix, and never a credential. */
export class SqsError extends Error {
  override readonly name = "SqsError";
  /** `SQS_QUEUE_DOES_NOT_EXIST`, `SQS_ACCESS_DENIED`, `ECONNREFUSED`, ... upper snake case. */
  readonly code: string;
  /** HTTP status of the answer; null = there was none. */
  readonly status: number | null;

  constructor(
    code: string,
    message: string,
    { status = null, cause }: { status?: number | null; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.code = code;
    this.status = status;
  }
}

/** `AWS.SimpleQueueService.NonExistentQueue` -> `SQS_NON_EXISTENT_QUEUE`. */
export function sqsCode(name: string): string {
  const bare = name.slice(Math.max(name.lastIndexOf("."), name.lastIndexOf("#")) + 1);
  return `SQS_${bare.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toUpperCase()}`;
}

type Attempted = {
  /** The command of the SDK: `SendMessageBatch`. */
  command: string;
  /** Name or URL; null for a command without one. */
  queue: string | null;
  /** The server, for people: `https://sqs.eu-central-1.amazonaws.com`. */
  address: string;
};

/** The failure of a command in words. Errors that are SqsError already stay. */
export function sqsError(error: unknown, attempted: Attempted): SqsError {
  if (error instanceof SqsError) return error;
  const {
    name = "",
    message = "",
    $metadata,
  } = error as { name?: string; message?: string } & {
    $metadata?: { httpStatusCode?: number };
  };
  const { address } = attempted;
  const status = $metadata?.httpStatusCode ?? null;
  const refused = addressRefusal(error);
  if (refused !== null)
    return new SqsError(ADDRESS_REFUSED, `cannot connect to ${address}: ${refused.message}`, { cause: error });
  const network = status === null ? networkCode(error) : null;
  if (network !== null)
    return new SqsError(network, tlsFault(network, address) ?? `cannot reach ${address} (${network})`, {
      cause: error,
    });
  if (name === "CredentialsProviderError" || name === "TokenProviderError")
    return new SqsError(
      "SQS_NO_CREDENTIALS",
      "no AWS credentials found: set accessKeyId and secretAccessKey, or give the worker a role",
      { cause: error },
    );
  if (status === null && /region is missing/i.test(message))
    return new SqsError("SQS_NO_REGION", "no AWS region found: set region, or give the queue by its URL", {
      cause: error,
    });
  const code = sqsCode(name);
  return new SqsError(code, answerText(code, message, attempted), { status, cause: error });
}

const NO_QUEUE = new Set(["SQS_QUEUE_DOES_NOT_EXIST", "SQS_NON_EXISTENT_QUEUE"]);
const DENIED = new Set(["SQS_ACCESS_DENIED", "SQS_ACCESS_DENIED_EXCEPTION"]);
const BAD_KEYS = new Set([
  "SQS_INVALID_CLIENT_TOKEN_ID",
  "SQS_UNRECOGNIZED_CLIENT_EXCEPTION",
  "SQS_SIGNATURE_DOES_NOT_MATCH",
  "SQS_INVALID_SIGNATURE_EXCEPTION",
  "SQS_INVALID_ACCESS_KEY_ID",
  "SQS_EXPIRED_TOKEN",
  "SQS_EXPIRED_TOKEN_EXCEPTION",
  "SQS_MISSING_AUTHENTICATION_TOKEN",
]);

function answerText(code: string, message: string, { command, queue, address }: Attempted): string {
  const name = queue === null ? "" : queueName(queue);
  if (NO_QUEUE.has(code))
    return `queue ${name} does not exist at ${address}, or these credentials may not see it: check name, region and account`;
  // A batch needs the permission of the single command.
  if (DENIED.has(code))
    return `no permission for sqs:${command.replace(/Batch$/, "")} on queue ${name}: grant it (${address})`;
  if (BAD_KEYS.has(code)) return `${address} refuses the credentials (${code}): check access key, secret key and token`;
  if (code.startsWith("SQS_KMS")) return `the KMS key of queue ${name} cannot be used (${code}): ${message}`;
  return `${address} answered ${command} of queue ${name} with ${code}: ${message}`;
}
