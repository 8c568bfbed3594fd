/**
 * Retries at every layer multiply: three layers of three attempts make 27 calls of one fault. Only the layer nearest
 * to the fault repeats; the request states how often it has been repeated already, and the answer states that a layer below
 * has stopped repeating. Source: Google SRE book, "Addressing Cascading Failures".
 */

/** Header that carries how often a request has been repeated so far. */
export const RETRY_COUNT_HEADER = "x-retry-count";

/** Reads a retry count; anything but a plain non-negative integer is 0. */
export function readRetryCount(value: string | null | undefined): number {
  if (value === null || value === undefined || !/^\d{1,9}$/.test(value.trim())) return 0;
  return Number(value);
}

/** Attempts left to this layer when the caller's own repeats count against the same limit; at least the one asked for. */
export function attemptsAllowed(maxAttempts: number, incomingRetryCount: number): number {
  return Math.max(1, maxAttempts - incomingRetryCount);
}

/** The retry count to send with attempt `attempt` (1-based) of this layer. */
export function outgoingRetryCount(incomingRetryCount: number, attempt: number): number {
  return incomingRetryCount + attempt - 1;
}
