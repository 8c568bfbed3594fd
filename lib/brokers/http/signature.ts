import { timingSafeEqual } from "node:crypto";
import {
  hmac,
  WEBHOOK_ID,
  WEBHOOK_SIGNATURE,
  WEBHOOK_TIMESTAMP,
  webhookKey,
} from "@/lib/brokers/http/request-signature";
import { SIGNATURE_TOLERANCE_MS } from "@/lib/core/webhook-secret";
import type { HttpConfig } from "@/lib/kinds/http";

/** A signature header may list several, one for each secret in use. More than this is no list of secrets. */
const SIGNATURES_MAX = 20;

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

/** Why a signature does not count, for the log of the server; null = it is right. Every secret is tried. */
export function signatureFault(
  intake: SignedIntake,
  { headers, body, nowMs }: { headers: Headers; body: Uint8Array; nowMs: number },
): string | null {
  const standard = intake.scheme === "standard-webhooks";
  const signature = headers.get(standard ? WEBHOOK_SIGNATURE : intake.header);
  if (signature === null) return "no signature";
  const timestampName = standard ? WEBHOOK_TIMESTAMP : intake.timestampHeader;
  const timestamp = timestampName === undefined ? null : headers.get(timestampName);
  if (timestampName !== undefined) {
    if (timestamp === null || !/^\d{1,12}$/.test(timestamp)) return "no timestamp";
    if (Math.abs(nowMs - Number(timestamp) * 1000) > SIGNATURE_TOLERANCE_MS) return "timestamp too far from now";
  }
  const id = headers.get(WEBHOOK_ID);
  if (standard && (id === null || id === "" || id.includes("."))) return "no webhook-id";
  const signed = standard ? [`${id}.${timestamp}.`, body] : timestamp === null ? [body] : [`${timestamp}.`, body];
  const given = standard ? versionOne(signature) : plainSignature(signature, intake);
  let right = false;
  for (const secret of intake.secrets) {
    const expected = hmac(standard ? webhookKey(secret) : secret, signed);
    for (const one of given) if (one.length === expected.length && timingSafeEqual(one, expected)) right = true;
  }
  return right ? null : "wrong signature";
}

/** `v1,BASE64 v1a,...`: one for each secret of the sender; other versions are passed over. */
function versionOne(header: string): Buffer[] {
  return header
    .split(" ", SIGNATURES_MAX)
    .filter((one) => one.startsWith("v1,"))
    .map((one) => Buffer.from(one.slice("v1,".length), "base64"));
}

function plainSignature(header: string, { prefix, encoding }: SignedIntake): Buffer[] {
  if (!header.startsWith(prefix)) return [];
  return [Buffer.from(header.slice(prefix.length), encoding)];
}
