import tls from "node:tls";

/** TLS 1.3, and of TLS 1.2 what has forward secrecy (ECDHE) and an authenticated cipher: no suite with CBC. As RFC 9325 recommends. */
const RECOMMENDED = [
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  "TLS_AES_128_GCM_SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
].join(":");

/**
 * Every TLS connection that this process opens offers these suites alone, unless it names its own. `given`: PARKADE_TLS_CIPHERS, names of
 * OpenSSL with colons between them; null, empty or no such list = the recommended ones. A connection that is made by way of a secure context of its own
 * must name `tls.DEFAULT_CIPHERS` in it.
 */
export function offerTlsSuites(given: string | null | undefined): void {
  tls.DEFAULT_CIPHERS = given && isSuiteList(given) ? given : RECOMMENDED;
}

/** Of PARKADE_TLS_CIPHERS. */
export const SUITE_LIST_RULE = "must name suites as OpenSSL does, with colons between them";

/** False when OpenSSL knows no suite of the list. */
export function isSuiteList(text: string): boolean {
  try {
    tls.createSecureContext({ ciphers: text });
    return true;
  } catch {
    return false;
  }
}
