import { type Header, headerText } from "@/lib/platform/plain/dead-letter.pure";
import { RETRY_COUNT_HEADER, readRetryCount } from "@/lib/retry/amplification";

/** Which send of its redrive a message was. Written by Parkade on every send. */
const REDRIVE_ATTEMPT_HEADER = "x-redrive-attempt";

/**
 * How often a parked message had been repeated by others before it came here: its x-retry-count, less the repeats that
 * an earlier redrive of ours had added to it (x-redrive-attempt counts them, from 1). Those were a person's decision
 * then, and a new redrive is a new one; what callers and consumers repeated by themselves counts against our attempts,
 * so that layers of retries add up and do not multiply.
 *
 * Missing or malformed counts are 0.
 */
export function incomingRetryCount(headers: readonly Header[]): number {
  const ours = Math.max(readRetryCount(textOf(headers, REDRIVE_ATTEMPT_HEADER)), 1) - 1;
  return Math.max(readRetryCount(textOf(headers, RETRY_COUNT_HEADER)) - ours, 0);
}

/** The first header of that name, as text. Binary has no count. */
function textOf(headers: readonly Header[], wanted: string): string | null {
  const found = headers.find(([name]) => name.toLowerCase() === wanted);
  return found === undefined ? null : headerText(found);
}
