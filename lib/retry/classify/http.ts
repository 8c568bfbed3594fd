import { type Family, judged } from "@/lib/retry/classify/classifier";
import { AWAY, type CodeRule, MAYBE_SENT, NOT_SENT, PERMANENT, THROTTLED, tableOf } from "@/lib/retry/classify/verdict";

/** Codes of the HTTP adapter that are no status. */
const CODES = tableOf<CodeRule>({
  HTTP_NO_TARGET: PERMANENT,
  OAUTH_REFUSED: PERMANENT, // the client's settings must change first
  OAUTH_UNAVAILABLE: AWAY, // without a token nothing is sent
  ADDRESS_REFUSED: PERMANENT, // the operator's list of addresses must change first
});

/** Errors with the status of an HTTP answer, or with an adapter's code. */
export const HTTP_ERRORS: Family = {
  // A wrapper of a response (UND_ERR_REQ_RETRY) has a code that no family knows: its status decides.
  byCode: ({ code }, hinted) => (typeof code === "string" ? judged(code, httpCodeRule(code, hinted)) : undefined),
  byStatus: (status, hinted) => judged(`HTTP_${status}`, httpRule(status, hinted)),
};

/** Rule of an adapter's code: `HTTP_503`, or one that is no status. null when it is neither. */
function httpCodeRule(code: string, hinted: boolean): CodeRule | null {
  const status = /^HTTP_(\d{3})$/.exec(code)?.[1];
  return status === undefined ? (CODES[code] ?? null) : httpRule(Number(status), hinted);
}

/**
 * The rule of an HTTP status that is not a success.
 *
 * 408 and 425 were not processed (RFC 9110 15.5.9, RFC 8470 5.2). 429 is throttling, 503 only with a usable hint.
 * 501, 505 and 511 do not pass on their own (RFC 9110 15.6.2, 15.6.6, RFC 6585 6). Other 5xx may have been
 * processed before they failed. Other 4xx and the redirects a publisher did not follow are permanent.
 *
 * @param hinted whether a well-formed Retry-After came with it
 * @returns null for 1xx, 2xx and anything that is not an HTTP status
 */
export function httpRule(status: number, hinted: boolean): CodeRule | null {
  if (!Number.isInteger(status) || status < 300 || status > 599) return null;
  if (status === 429) return THROTTLED;
  if (status === 408 || status === 425) return NOT_SENT;
  if (status < 500) return PERMANENT;
  if (status === 501 || status === 505 || status === 511) return PERMANENT;
  // Bandwidth limit exceeded: not registered, sent by hosting panels and treated as throttling by the AWS SDKs.
  if (status === 509) return THROTTLED;
  return status === 503 && hinted ? THROTTLED : MAYBE_SENT;
}
