/** The nonce of the page, which a style element needs that a script adds. Undefined on the server. */
export function pageNonce(): string | undefined {
  // Browsers hide the attribute from style sheets, and give the value to scripts alone.
  return typeof document === "undefined" ? undefined : document.querySelector<HTMLElement>("script[nonce]")?.nonce;
}
