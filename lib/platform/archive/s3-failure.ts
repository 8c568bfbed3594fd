import { DomainError } from "@/lib/platform/plain/problem.pure";

/** What the SDK says of a failed call. `status` null = there was no answer. */
export function failureOf(error: unknown): { name: string; status: number | null; tries: number } {
  const { name = "", $metadata } = (error ?? {}) as {
    name?: string;
    $metadata?: { httpStatusCode?: number; attempts?: number };
  };
  return { name, status: $metadata?.httpStatusCode ?? null, tries: $metadata?.attempts ?? 1 };
}

type Attempted = {
  /** `PutObject`: the name of the permission, too. */
  command: string;
  place: string;
  bucket: string;
};

const CREDENTIALS =
  "check PARKADE_SECRET_ARCHIVE_KEY_ID and PARKADE_SECRET_ARCHIVE_KEY, or the AWS credentials of the environment";

const BAD_KEYS = new Set([
  "InvalidAccessKeyId",
  "SignatureDoesNotMatch",
  "InvalidClientTokenId",
  "UnrecognizedClientException",
  "InvalidToken",
  "ExpiredToken",
  "TokenRefreshRequired",
  // Of versitygw.
  "XAdminUserNotFound",
]);
const FULL = /quota|insufficientstorage|storagefull|nospace|diskfull/i;
const SLOW = new Set(["SlowDown", "ServiceUnavailable", "TooManyRequests", "Throttling", "ThrottlingException"]);
const CHANGED = new Set(["BadDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch", "InvalidDigest"]);
const OTHER_REGION = new Set([
  "PermanentRedirect",
  "AuthorizationHeaderMalformed",
  "IllegalLocationConstraintException",
]);

/** A failed call as `archive-unavailable` with the fault and the fix. Errors that are DomainError already stay. */
export function s3Fault(error: unknown, attempted: Attempted): DomainError {
  if (error instanceof DomainError) return error;
  return new DomainError("archive-unavailable", faultText(error, attempted), { internal: error });
}

function faultText(error: unknown, { command, place, bucket }: Attempted): string {
  const { name, status } = failureOf(error);
  const message = error instanceof Error ? error.message : "";
  if (name === "CredentialsProviderError" || name === "TokenProviderError")
    return `There are no credentials for the archive ${place}: ${CREDENTIALS}`;
  if (/region is missing/i.test(message))
    return `The archive ${place} has no region: add region=... to PARKADE_ARCHIVE, or set AWS_REGION`;
  if (/checksum/i.test(message) || CHANGED.has(name))
    return `The bytes of an object were changed on the way to or from the archive ${place}: its checksum is another one (${command})`;
  if (name === "TimeoutError" || name === "AbortError")
    return `The archive ${place} did not answer ${command} in time: check it, and the network on the way`;
  if (status === null) return unreachableText(error, place);
  if (name === "NoSuchBucket")
    return `The bucket ${bucket} of the archive ${place} does not exist: create it, or correct PARKADE_ARCHIVE`;
  if (BAD_KEYS.has(name)) return `The archive ${place} refuses the credentials (${name}): ${CREDENTIALS}`;
  if (name === "RequestTimeTooSkewed")
    return `The archive ${place} rejects the clock of this machine: synchronize it with a time server`;
  if (OTHER_REGION.has(name) || status === 301)
    return `The bucket ${bucket} is in another region or account: correct the region of PARKADE_ARCHIVE (${name})`;
  if (name === "InvalidObjectState")
    return `An object of the archive ${place} was moved to cold storage: restore it there first`;
  if (status === 507 || FULL.test(name))
    return `The archive ${place} is full (${name}): free some space or raise its quota`;
  if (SLOW.has(name) || status === 429 || status === 503)
    return `The archive ${place} is overloaded (${name}): it is tried again later`;
  if (status === 403 || status === 401)
    return `The archive ${place} refuses ${command} (${name}): grant s3:PutObject, s3:GetObject, s3:DeleteObject and s3:ListBucket on the bucket`;
  return `The archive ${place} answered ${command} with ${status} ${name}`;
}

const NETWORK: Record<string, string> = {
  ECONNREFUSED: "nothing listens there",
  ENOTFOUND: "its name is not known",
  EAI_AGAIN: "its name cannot be looked up",
  ECONNRESET: "it closed the connection",
  EPIPE: "it closed the connection",
  EHOSTUNREACH: "there is no route to it",
  ENETUNREACH: "there is no route to it",
};

function unreachableText(error: unknown, place: string): string {
  const code = networkCode(error);
  const why = code === null ? "" : ` (${NETWORK[code] ?? "its connection failed"}: ${code})`;
  return `The archive ${place} cannot be reached${why}: check it, and the endpoint of PARKADE_ARCHIVE`;
}

function networkCode(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { code } = error as { code?: unknown };
  if (typeof code === "string" && /^[A-Z][A-Z0-9_]+$/.test(code)) return code;
  // A host with several addresses fails with one error for each.
  return networkCode(error instanceof AggregateError ? error.errors[0] : error.cause);
}
