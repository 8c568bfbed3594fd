import { isData } from "../lib/guard/viewer/local-only.pure.ts";

/**
 * The style sheet that sonner, which shows the notices, puts into the page by itself and without a nonce: allowed by the hash of
 * its text. A test compares it with the installed version. The other hash is that of the empty element before its text is set.
 */
const SONNER_STYLE = "'sha256-StEaX+se6YS7pqjzrzMIA0KaX9zF/8zAhvQXZAe5epY='";
const EMPTY_STYLE = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='";

/** Answers with data are no page: no script or resource of a payload or a name runs or loads. */
const DATA_POLICY = "sandbox; default-src 'none'; base-uri 'none'; frame-ancestors 'none'";

/** Features of a browser that the console does not use. A feature that Chromium does not know is a complaint on each page. */
const UNUSED_FEATURES = [
  "accelerometer",
  "autoplay",
  "camera",
  "display-capture",
  "encrypted-media",
  "geolocation",
  "gyroscope",
  "hid",
  "magnetometer",
  "microphone",
  "midi",
  "payment",
  "picture-in-picture",
  "screen-wake-lock",
  "serial",
  "usb",
  "xr-spatial-tracking",
];

/** A year, so that a browser which was here once asks by https alone. Without subdomains: they may be those of others. */
const STRICT_TRANSPORT = "max-age=31536000";

export type Shell = {
  /** People reach the console by https, through a proxy or by itself. */
  https: boolean;
  /** Next compiles in the browser and sets styles without a nonce. */
  dev: boolean;
};

export function shellOf(env: Readonly<Record<string, string | undefined>>): Shell {
  return {
    https: /^https:/i.test(env.PARKADE_PUBLIC_URL ?? ""),
    dev: env.NODE_ENV === "development",
  };
}

/**
 * The headers of every answer, also of files and refusals, by lower-case name. `nonce` is that of this answer. Next keeps what is set
 * first, so a handler cannot set a weaker policy.
 */
export function securityHeaders(path: string, nonce: string, { https, dev }: Shell): Record<string, string> {
  return {
    "content-security-policy": isData(path) ? DATA_POLICY : pagePolicy(nonce, { https, dev }),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "origin-agent-cluster": "?1",
    "permissions-policy": UNUSED_FEATURES.map((feature) => `${feature}=()`).join(", "),
    ...(isFile(path) ? {} : { "cache-control": "no-store" }),
    ...(https ? { "strict-transport-security": STRICT_TRANSPORT } : {}),
  };
}

/** Files of the build hold no data, and Next says how long each may be kept. */
function isFile(path: string): boolean {
  return path.startsWith("/_next/static/") || path === "/icon.svg";
}

/**
 * Scripts run by nonce only: Next finds it in the request's policy and puts it on its own scripts, pages put it on theirs from
 * `x-nonce`. Texts become scripts only through the policies that are named: `nextjs` of Next, and `default` of
 * `lib/platform/browser/head-scripts.browser.ts`, which lets files of the build pass. Style elements need the nonce.
 * Style attributes of the pages as the server renders them may be inline: they hold sizes and places of charts.
 */
function pagePolicy(nonce: string, { https, dev }: Shell): string {
  return [
    "default-src 'none'",
    `script-src 'self' 'nonce-${nonce}' 'strict-dynamic'${dev ? " 'unsafe-eval'" : ""}`,
    // For browsers that do not know the two directives after it.
    "style-src 'self' 'unsafe-inline'",
    dev
      ? "style-src-elem 'self' 'unsafe-inline'"
      : `style-src-elem 'self' 'nonce-${nonce}' ${SONNER_STYLE} ${EMPTY_STYLE}`,
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "manifest-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    // In development Next evaluates modules as texts.
    ...(dev ? [] : ["require-trusted-types-for 'script'", "trusted-types default nextjs"]),
    ...(https ? ["upgrade-insecure-requests"] : []),
  ].join("; ");
}
