/** A failure whose message names the cause and the fix, and never a credential. */
export class CodedError extends Error {
  /** Upper snake case: a code of the broker with its kind in front (`KAFKA_...`), or of the socket (`ECONNREFUSED`). */
  readonly code: string;

  constructor(code: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

const TRUST = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/** What is wrong with the TLS of a server, and the setting that mends it; null for any other code. */
export function tlsFault(code: string, address: string): string | null {
  if (code === "ERR_SSL_WRONG_VERSION_NUMBER" || code === "ERR_SSL_PACKET_LENGTH_TOO_LONG")
    return `${address} does not speak TLS (${code}): use the port that does, or turn TLS off`;
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return `the certificate of ${address} is for another name (${code}): correct the address, or set tls.servername`;
  if (code === "CERT_HAS_EXPIRED") return `the certificate of ${address} has expired (${code})`;
  return TRUST.has(code) ? `the certificate of ${address} is not trusted (${code}): set tls.ca` : null;
}

/** Codes of undici by the names of the system errors they stand for. */
const CODES: Record<string, string> = {
  UND_ERR_CONNECT_TIMEOUT: "ETIMEDOUT",
  UND_ERR_HEADERS_TIMEOUT: "ETIMEDOUT",
  UND_ERR_BODY_TIMEOUT: "ETIMEDOUT",
  UND_ERR_SOCKET: "ECONNRESET",
};

/** The code of a socket, of TLS or of undici along the chain of causes; null when there is none. */
export function networkCode(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { code } = error as { code?: unknown };
  // The SDK's own errors carry `Code`, and no system error has lower-case letters in its code.
  if (typeof code === "string" && /^[A-Z][A-Z0-9_]+$/.test(code)) return CODES[code] ?? code;
  // A host with several addresses fails with one error for each.
  return networkCode(error instanceof AggregateError ? error.errors[0] : error.cause);
}
