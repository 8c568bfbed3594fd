const SYSLOG_PROTOCOLS = ["udp", "tcp", "tls"] as const;

/** Where the audit is sent to. */
export type SyslogAddress = {
  protocol: (typeof SYSLOG_PROTOCOLS)[number];
  /** A name or an IP address, without brackets. */
  host: string;
  port: number;
};

export const SYSLOG_RULE = "must look like udp://host:port, tcp://host:port or tls://host:port";

/** Of PARKADE_AUDIT_SYSLOG. null = it is no such address. */
export function parseSyslogAddress(text: string): SyslogAddress | null {
  if (!URL.canParse(text)) return null;
  const { protocol, hostname, port, username, password, pathname, search, hash } = new URL(text);
  const known = SYSLOG_PROTOCOLS.find((name) => `${name}:` === protocol);
  const host = hostname.replace(/^\[|\]$/g, "");
  if (known === undefined || host === "" || Number(port) < 1) return null;
  if (username + password + search + hash !== "" || !["", "/"].includes(pathname)) return null;
  return { protocol: known, host, port: Number(port) };
}

export function syslogAddressText({ protocol, host, port }: SyslogAddress): string {
  return `${protocol}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
