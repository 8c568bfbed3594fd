/** Standard Webhooks asks for 24 to 64 bytes in base64, behind `whsec_` or alone; fewer than 16 would be guessed. */
export const WEBHOOK_SECRET = /^(whsec_)?[A-Za-z0-9+/]{22,}={0,2}$/;
export const NO_WEBHOOK_SECRET =
  "must be at least 16 bytes in base64, with or without the prefix whsec_, for standard-webhooks";

/** How far the time of a signature may lie from the receiver's clock, in both directions: the value of Standard Webhooks. */
export const SIGNATURE_TOLERANCE_MS = 5 * 60_000;
