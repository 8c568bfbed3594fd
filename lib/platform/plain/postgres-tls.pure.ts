/** What an address of PostgreSQL must do, to be read after the name of its variable. */
export const VERIFIED_TLS_RULE =
  "must not disable the check of the server's certificate: use sslmode=verify-full, and name the authority in PARKADE_CA_FILE or sslrootcert";

const LOOPBACK = /^(?:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1|\[::1\]|\/.*|%2f.*)$/i;

/**
 * Whether `pg` encrypts the connection to this address and takes any certificate, so that whoever sits between reads the password.
 * Never for this machine. With `uselibpqcompat=true` the modes mean what they mean to libpq; otherwise all but `no-verify` verify.
 * @param envMode PGSSLMODE, which counts where the address says nothing
 */
export function takesAnyCertificate(address: string, envMode: string | undefined): boolean {
  if (!URL.canParse(address)) return false;
  const { hostname, searchParams } = new URL(address);
  // Of a name that stands twice the last one counts.
  const asked: Record<string, string | undefined> = Object.fromEntries(searchParams);
  if (LOOPBACK.test(asked.host || hostname)) return false;
  const mode = asked.sslmode || undefined;
  if (asked.ssl === "no-verify" || mode === "no-verify") return true;
  if (asked.uselibpqcompat === "true") return mode === "prefer" || (mode === "require" && !asked.sslrootcert);
  return asked.ssl === undefined && mode === undefined && envMode === "no-verify";
}
