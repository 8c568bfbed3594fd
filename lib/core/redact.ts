import type { Header } from "./dead-letter";

/** Header names that carry a credential. Stored and sent as they are, but not shown. */
const SECRET_NAME =
  /^(?:proxy-)?authorization$|cookie|api[-_]?key|(?:^|[-_.])(?:token|secret|password|passwd|signature)(?:$|[-_.])/i;

/** Bullets in place of the value: that something was there, not what or how long. */
export const REDACTED = "\u2022\u2022\u2022\u2022\u2022\u2022";

export function isSecretHeader(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** The headers as they may be shown, in their order. */
export function redactHeaders(headers: readonly Header[]): Header[] {
  return headers.map((header) => {
    const [name, value] = header;
    return value !== null && isSecretHeader(name) ? [name, REDACTED] : header;
  });
}
