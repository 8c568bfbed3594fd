import type { HttpConfig } from "@/lib/brokers/http/kind.shapes";
import { WEBHOOK_ID, WEBHOOK_SIGNATURE, WEBHOOK_TIMESTAMP } from "@/lib/brokers/http/request-signature";

type Signing = NonNullable<HttpConfig["signing"]>;
export type SignedIntake = NonNullable<HttpConfig["signedIntake"]>;

/** Names of the headers that a signature takes: parked ones of the same name belong to another request. */
export function signatureNames(signing: Signing | undefined): string[] {
  if (signing === undefined) return [];
  if (signing.scheme === "standard-webhooks") return [WEBHOOK_ID, WEBHOOK_TIMESTAMP, WEBHOOK_SIGNATURE];
  return [signing.header, signing.timestampHeader ?? signing.header].map((name) => name.toLowerCase());
}

/** Whether a request tries to be signed for this source: then its body is read as a whole before its first event. */
export function namesSignature(intake: SignedIntake, headers: Headers): boolean {
  return headers.has(intake.scheme === "standard-webhooks" ? WEBHOOK_SIGNATURE : intake.header);
}
