import type { ProbeSample } from "@/lib/brokers/port";
import type { DeadLetter } from "@/lib/core/dead-letter";

/** How many messages a probe looks at. */
export const SAMPLE_MAX = 3;

/** What a probe says of a message: the facts under which it would be parked. */
export function sampleOf(letter: DeadLetter): ProbeSample {
  return {
    eventId: letter.eventId,
    aggregateType: letter.aggregateType,
    aggregateId: letter.aggregateId,
    version: letter.version === null ? null : String(letter.version),
    eventType: letter.eventType,
    errorCode: letter.errorCode,
    errorType: letter.error.type,
    convention: letter.origin.convention ?? "generic",
    contentType: letter.contentType,
    payloadBytes: letter.payload.byteLength,
    tags: letter.tags,
  };
}
