import { isSecretName } from "@/lib/guard/redaction/redact.pure";
import { PLAIN_ADDRESS_WORDS, type PlainSecretMode, referenceIn } from "@/lib/guard/redaction/secret-references.pure";

export const MASK = "***";

/** User, password and secret parameters, as they stand in the URL and decoded. */
export function urlSecrets(text: string): string[] {
  if (!URL.canParse(text)) return [];
  const url = new URL(text);
  const parameters = [...url.searchParams].filter(([name]) => isSecretParameter(name)).map(([, value]) => value);
  const userinfo = url.password === "" ? [] : [url.password, `${url.username}:${url.password}`];
  return [...userinfo, ...userinfo.map(decoded), ...parameters];
}

/** The whole value, and what stands behind `Bearer` or `Basic`. */
export function headerSecrets(value: string): string[] {
  const credential = /^(?:bearer|basic|token|apikey)\s+(\S+)$/i.exec(value)?.[1];
  return credential === undefined ? [value] : [value, credential];
}

/** A fixed header is a secret by its name or its form: `x-tenant: acme` may stand in every error, and in the store. */
export function isSecretHeader(name: string, value: string): boolean {
  return isSecretName(name) || headerSecrets(value).length > 1;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Query parameters that carry a credential in some URL scheme, beside the names that every header has. */
const SECRET_PARAMETER = /pass|secret|token|key|sig|credential|auth|jwt|bearer|pwd|^(?:code|sas|sid)$/i;

function isSecretParameter(name: string): boolean {
  return SECRET_PARAMETER.test(name) || isSecretName(name);
}

/** A path segment that nobody types: a capability in the address, as webhooks have. Names and UUIDs are none. */
function isSecretSegment(segment: string): boolean {
  if (segment.length < 20 || !/^[A-Za-z0-9_-]+$/.test(segment)) return false;
  const mixed = /[a-z]/.test(segment) && /[A-Z]/.test(segment);
  return segment.replace(/\D/g, "").length >= 3 && /[A-Za-z]/.test(segment) && (mixed || !/[_-]/.test(segment));
}

/**
 * A URL without user, password, secret parameters (also those after `;`), fragment and segments of its path that look
 * like a token; a reference and other text unchanged. For every text a person sees.
 */
export function redactUrl(text: string): string {
  if (referenceIn(text) !== null || !URL.canParse(text)) return text;
  const url = new URL(text);
  if (url.username !== "") url.username = MASK;
  if (url.password !== "") url.password = MASK;
  for (const name of [...url.searchParams.keys()]) if (isSecretParameter(name)) url.searchParams.set(name, MASK);
  if (url.hash !== "") url.hash = MASK;
  if (url.pathname.startsWith("/")) url.pathname = url.pathname.split("/").map(redactSegment).join("/");
  return url.toString();
}

function redactSegment(segment: string): string {
  const [plain = "", ...parameters] = segment.split(";");
  const shown = parameters.map((parameter) => {
    const [name = "", value] = parameter.split("=", 2);
    return value !== undefined && isSecretParameter(name) ? `${name}=${MASK}` : parameter;
  });
  return [isSecretSegment(plain) ? MASK : plain, ...shown].join(";");
}

/** True for an address with a part that `redactUrl` hides. A user alone is none, but before an HTTP address it is a token. */
export function urlHoldsSecret(text: string): boolean {
  if (referenceIn(text) !== null || !URL.canParse(text)) return false;
  const url = new URL(text);
  if (url.password === "" && !/^https?:$/.test(url.protocol)) url.username = "";
  return redactUrl(url.href) !== url.href;
}

/** Why an edited address is refused that holds a secret; null = it is not. One that is as it was before, `stored`, stays. */
export function plainAddressFault(edited: string, stored: unknown, mode: PlainSecretMode): string | null {
  return mode === "refuse" && edited !== stored && urlHoldsSecret(edited) ? PLAIN_ADDRESS_WORDS : null;
}
