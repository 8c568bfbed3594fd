import { type Family, judged } from "@/lib/retry/classify/classifier";
import { AWAY, CANCELLED, type CodeRule, MAYBE_SENT, NOT_SENT, PERMANENT, tableOf } from "@/lib/retry/classify/verdict";

/**
 * Error codes of Node's net, dns and tls, of undici and of llhttp. What matters is the phase: before a connection
 * existed nothing was sent; after that the request may have been processed.
 * Sources: Node "Common system errors", undici "Errors", smithy-typescript service-error-classification.
 */
const CODES = tableOf<CodeRule>({
  ECONNREFUSED: AWAY,
  // A name that does not resolve is usually a slow DNS change, sometimes a typo: a few repeats, not all of them.
  ENOTFOUND: { ...AWAY, repeatsMax: 3 },
  EAI_AGAIN: AWAY,
  EHOSTUNREACH: AWAY,
  ENETUNREACH: AWAY,
  EHOSTDOWN: AWAY,
  ENETDOWN: AWAY,
  UND_ERR_CONNECT_TIMEOUT: AWAY,
  UND_ERR_DESTROYED: NOT_SENT,
  ECONNRESET: MAYBE_SENT,
  ECONNABORTED: MAYBE_SENT,
  EPIPE: MAYBE_SENT,
  ETIMEDOUT: MAYBE_SENT,
  ESOCKETTIMEDOUT: MAYBE_SENT,
  UND_ERR_SOCKET: MAYBE_SENT,
  UND_ERR_HEADERS_TIMEOUT: MAYBE_SENT,
  UND_ERR_BODY_TIMEOUT: MAYBE_SENT,
  UND_ERR_INFO: MAYBE_SENT,
  NGHTTP2_REFUSED_STREAM: NOT_SENT,
  ERR_HTTP2_STREAM_ERROR: MAYBE_SENT,
  ERR_HTTP2_SESSION_ERROR: MAYBE_SENT,
  ERR_HTTP2_GOAWAY_SESSION: MAYBE_SENT,
  ERR_STREAM_PREMATURE_CLOSE: MAYBE_SENT,
  TIMEOUT: MAYBE_SENT,
  UND_ERR_ABORTED: CANCELLED,
  ABORT_ERR: CANCELLED,
  UND_ERR_CLOSED: PERMANENT,
  UND_ERR_INVALID_ARG: PERMANENT,
  UND_ERR_INVALID_RETURN_VALUE: PERMANENT,
  UND_ERR_NOT_SUPPORTED: PERMANENT,
  UND_ERR_REQ_CONTENT_LENGTH_MISMATCH: PERMANENT,
  UND_ERR_RES_EXCEEDED_MAX_SIZE: PERMANENT,
  UND_ERR_HEADERS_OVERFLOW: PERMANENT,
  ERR_INVALID_URL: PERMANENT,
  ERR_INVALID_ARG_TYPE: PERMANENT,
  ERR_INVALID_CHAR: PERMANENT,
  CERT_HAS_EXPIRED: PERMANENT,
  CERT_NOT_YET_VALID: PERMANENT,
  DEPTH_ZERO_SELF_SIGNED_CERT: PERMANENT,
  SELF_SIGNED_CERT_IN_CHAIN: PERMANENT,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: PERMANENT,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: PERMANENT,
  ERR_TLS_CERT_ALTNAME_INVALID: PERMANENT,
  // Out of file descriptors, ports, buffers or memory: ours, not the target's.
  EMFILE: { ...NOT_SENT, blame: "local" },
  ENFILE: { ...NOT_SENT, blame: "local" },
  ENOBUFS: { ...NOT_SENT, blame: "local" },
  ENOMEM: { ...NOT_SENT, blame: "local" },
  EADDRNOTAVAIL: { ...NOT_SENT, blame: "local" },
});

/** A response llhttp cannot parse: worth one repeat, since a proxy in the way may have cut it. */
const MALFORMED_RESPONSE: CodeRule = { ...MAYBE_SENT, repeatsMax: 1 };

export const NODE_ERRORS: Family = {
  byCode: ({ code }) => (typeof code === "string" ? judged(code, nodeRule(code)) : undefined),
  byName: (name) => judged(name === "TimeoutError" ? "TIMEOUT" : "ABORTED", abortRule(name)),
};

function nodeRule(code: string): CodeRule | null {
  return CODES[code] ?? (code.startsWith("HPE_") ? MALFORMED_RESPONSE : null);
}

/** Rule of an error known only by its `name`: what AbortController and AbortSignal.timeout throw. */
function abortRule(name: string): CodeRule | null {
  if (name === "AbortError") return CANCELLED;
  return name === "TimeoutError" ? MAYBE_SENT : null;
}
