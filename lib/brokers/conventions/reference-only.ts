import type { Origin } from "@/lib/intake/dead-letter.pure";

/**
 * What a dead letter is that names records and does not hold them, in `origin.payloadState`: `reference-only` for one
 * record, `batch-reference` for several. There is nothing to send back.
 */
export type PayloadState = "reference-only" | "batch-reference";

export function isReferenceOnly({ payloadState }: Origin): boolean {
  return payloadState === "reference-only" || payloadState === "batch-reference";
}
