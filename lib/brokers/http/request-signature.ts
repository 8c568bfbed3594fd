import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { NO_WEBHOOK_SECRET, SIGNATURE_TOLERANCE_MS, WEBHOOK_SECRET } from "@/lib/brokers/http/webhook-secret.pure";

/** How the body of a request is signed with HMAC-SHA256. */
export type Signing = {
  /** `standard-webhooks` (default): three headers over id, time and body. `hmac`: one header over the body. */
  scheme?: "standard-webhooks" | "hmac";
  /** standard-webhooks: base64, with or without `whsec_`. hmac: any text. */
  secret: string;
  /** Of hmac. Default `x-signature`. */
  header?: string;
  /** Of hmac: stands before the signature, such as `sha256=`. Default none. */
  prefix?: string;
  /** Of hmac. Default `hex`. */
  encoding?: "hex" | "base64";
  /** Of hmac: carries seconds since 1970; then `TIMESTAMP.BODY` is signed. Default: a signature has no time. */
  timestampHeader?: string;
};

/** How a signed request is checked: a `Signing` with its defaults, and each secret that counts. */
export type SignatureCheck = Required<Omit<Signing, "secret" | "timestampHeader">> &
  Pick<Signing, "timestampHeader"> & { secrets: readonly string[] };

/** A signature header may list several, one for each secret in use. More than this is no list of secrets. */
const SIGNATURES_MAX = 20;

export const WEBHOOK_ID = "webhook-id";
export const WEBHOOK_TIMESTAMP = "webhook-timestamp";
export const WEBHOOK_SIGNATURE = "webhook-signature";
const HMAC_HEADER = "x-signature";

export function signatureCheck(form: Omit<Signing, "secret">, secrets: readonly string[]): SignatureCheck {
  return { scheme: "standard-webhooks", header: HMAC_HEADER, prefix: "", encoding: "hex", ...form, secrets };
}

/** The key of Standard Webhooks: base64 behind `whsec_`. */
export function webhookKey(secret: string): Buffer {
  return Buffer.from(secret.replace(/^whsec_/, ""), "base64");
}

function hmac(key: string | Uint8Array, parts: readonly (string | Uint8Array)[]): Buffer {
  const mac = createHmac("sha256", key);
  for (const part of parts) mac.update(part);
  return mac.digest();
}

/** An id of Standard Webhooks that is the same for the same parts. */
export function webhookIdOf(...parts: readonly string[]): string {
  return `msg_${createHash("sha256").update(parts.join(" ")).digest("base64url").slice(0, 32)}`;
}

type Signed = { id: string; atMs: number; body: string | Uint8Array };

/** Headers that sign `body`, by name. Made for each attempt: a receiver refuses an old timestamp. */
export function signatureHeaders(signing: Signing, { id, atMs, body }: Signed): Record<string, string> {
  const timestamp = String(Math.floor(atMs / 1000));
  if (signing.scheme !== "hmac") return webhookHeaders(webhookKey(signing.secret), { id, timestamp, body });
  const { header = HMAC_HEADER, prefix = "", encoding = "hex", timestampHeader, secret } = signing;
  const mac = hmac(secret, timestampHeader === undefined ? [body] : [`${timestamp}.`, body]);
  return {
    ...(timestampHeader === undefined ? {} : { [timestampHeader]: timestamp }),
    [header]: `${prefix}${mac.toString(encoding)}`,
  };
}

/** `timestamp` is in seconds. Source: Standard Webhooks 1.0. */
export function webhookHeaders(
  key: Uint8Array,
  { id, timestamp, body }: { id: string; timestamp: string; body: string | Uint8Array },
): Record<string, string> {
  const mac = hmac(key, [`${id}.${timestamp}.`, body]).toString("base64");
  return { [WEBHOOK_ID]: id, [WEBHOOK_TIMESTAMP]: timestamp, [WEBHOOK_SIGNATURE]: `v1,${mac}` };
}

/** What is wrong with the settings of a signature, beginning with the name of the setting; null = nothing. */
export function signingFault({ scheme = "standard-webhooks", secret }: Signing): string | null {
  if (scheme !== "standard-webhooks" && scheme !== "hmac") {
    return `scheme is ${JSON.stringify(scheme)}: give standard-webhooks or hmac`;
  }
  if (typeof secret !== "string" || secret === "") return "secret is empty: use the secret that is set at the source";
  return scheme === "standard-webhooks" && !WEBHOOK_SECRET.test(secret) ? `secret ${NO_WEBHOOK_SECRET}` : null;
}

/** Why Parkade refused a signature if this machine's clock is off by its `Date` header. null = the clocks agree, or no time was given. */
export function clockFault(answeredAt: string | null, nowMs: number): string | null {
  const aheadMs = nowMs - Date.parse(answeredAt ?? "");
  // The Date header is cut to whole seconds.
  if (!(Math.abs(aheadMs) > SIGNATURE_TOLERANCE_MS - 1_000)) return null;
  const minutes = Math.round(Math.abs(aheadMs) / 60_000);
  return (
    `the clock of this machine is ${minutes} minutes ${aheadMs > 0 ? "ahead of" : "behind"} Parkade's, ` +
    "and a signature counts for five minutes: set the clock"
  );
}

/** Why a signature does not count, for the log of the server; null = it is right. Every secret is tried. */
export function signatureFault(
  intake: SignatureCheck,
  { headers, body, nowMs }: { headers: Pick<Headers, "get">; body: Uint8Array; nowMs: number },
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

function plainSignature(header: string, { prefix, encoding }: SignatureCheck): Buffer[] {
  if (!header.startsWith(prefix)) return [];
  return [Buffer.from(header.slice(prefix.length), encoding)];
}
