import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { EnvError } from "@/lib/platform/env-error";

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/**
 * Every TLS connection of this process trusts these authorities too, beside the public ones, unless it names its own. `file`: PEM,
 * with one or more certificates; null = none. Throws EnvError when it holds none.
 */
export function trustCertificates(file: string | null): void {
  if (file === null) return;
  const certificates = certificatesIn(file);
  if (certificates.length === 0)
    throw new EnvError([
      `PARKADE_CA_FILE does not name a readable file with PEM certificates: correct the path, or unset it.`,
    ]);
  setDefaultCACertificates([...new Set([...getCACertificates("default"), ...certificates])]);
}

/** Empty for a file that cannot be read, and for one in which any certificate is broken. */
function certificatesIn(file: string): string[] {
  try {
    const found = readFileSync(file, "utf8").match(CERTIFICATE) ?? [];
    for (const certificate of found) new X509Certificate(certificate);
    return found;
  } catch {
    return [];
  }
}
