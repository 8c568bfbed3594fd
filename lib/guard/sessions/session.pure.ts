/** A session that nobody uses ends after a night. */
export const SESSION_IDLE_MS = 12 * 3_600_000;
/** However much it is used. */
export const SESSION_MS_MAX = 7 * 86_400_000;
/** For how long a browser is known to an account that it has signed in to. */
export const KNOWN_BROWSER_MS = 180 * 86_400_000;
/** How exactly the last use is stored: a write for each request would cost more than the request. */
export const SEEN_EVERY_MS = 60_000;

/** A browser gives a cookie of the first name back to this host alone, over https alone; plain http may not set it. */
const COOKIES = {
  session: { https: "__Host-parkade", http: "parkade", sameSite: "Lax" },
  flow: { https: "__Host-parkade-oidc", http: "parkade-oidc", sameSite: "Lax" },
  // Read by a sign-in alone, which a page of the console asks for.
  knownBrowser: { https: "__Host-parkade-browser", http: "parkade-browser", sameSite: "Strict" },
} as const;
type Given = { https: boolean; maxAgeMs: number };

export function sessionCookie(secret: string, given: Given): string {
  return cookie("session", secret, given);
}

/** Of a sign-in at the provider under way. */
export function flowCookie(secret: string, given: Given): string {
  return cookie("flow", secret, given);
}

/** By which an account knows the browser again: see `known-browsers.ts`. */
export function knownBrowserCookie(secret: string, https: boolean): string {
  return cookie("knownBrowser", secret, { https, maxAgeMs: KNOWN_BROWSER_MS });
}

function cookie(kind: keyof typeof COOKIES, secret: string, { https, maxAgeMs }: Given): string {
  const { [https ? "https" : "http"]: name, sameSite } = COOKIES[kind];
  const age = Math.floor(maxAgeMs / 1000);
  return `${name}=${secret}; Path=/; HttpOnly; SameSite=${sameSite}; Max-Age=${age}${https ? "; Secure" : ""}`;
}

/** The secret that a Cookie header brings; null = none. Over https the cookie of plain http does not count. */
export function sentSecret(header: string | null, https: boolean): string | null {
  return sent("session", header, https);
}

export function sentFlow(header: string | null, https: boolean): string | null {
  return sent("flow", header, https);
}

export function sentKnownBrowser(header: string | null, https: boolean): string | null {
  return sent("knownBrowser", header, https);
}

function sent(kind: keyof typeof COOKIES, header: string | null, https: boolean): string | null {
  const name = COOKIES[kind][https ? "https" : "http"];
  for (const part of header?.split(";") ?? []) {
    const [key, ...value] = part.split("=");
    if (key!.trim() === name) return value.join("=").trim() || null;
  }
  return null;
}
