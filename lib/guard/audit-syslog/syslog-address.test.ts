import { expect, test } from "vitest";
import { EnvError, readEnv } from "@/lib/platform/env";
import { parseSyslogAddress, SYSLOG_RULE, syslogAddressText } from "./syslog-address.pure";

test.each([
  ["udp://siem.example.com:514", { protocol: "udp", host: "siem.example.com", port: 514 }],
  ["tcp://10.0.0.7:601/", { protocol: "tcp", host: "10.0.0.7", port: 601 }],
  ["tls://[fd00::7]:6514", { protocol: "tls", host: "fd00::7", port: 6514 }],
])("%s is an address", (text, address) => {
  expect(parseSyslogAddress(text)).toEqual(address);
  expect(syslogAddressText(parseSyslogAddress(text)!)).toBe(text.replace(/\/$/, ""));
});

test.each([
  ...["", "siem.example.com:514", "tls://siem.example.com", "tls://siem.example.com:0", "tls://siem.example.com:65536"],
  ...["https://siem.example.com:6514", "tls://:6514", "tls://user:secret@siem.example.com:6514"],
  ...["tls://siem.example.com:6514/path", "tls://siem.example.com:6514?verify=no", "tls://siem.example.com:6514#x"],
])("%j is none", (text) => {
  expect(parseSyslogAddress(text)).toBeNull();
});

test("PARKADE_AUDIT_SYSLOG is checked at the start, and a wrong value is not repeated", () => {
  const read = (text: string) =>
    readEnv({ DATABASE_URL: "postgres://localhost/parkade", PARKADE_AUDIT_SYSLOG: text }).auditSyslog;
  expect(read("")).toBeNull();
  expect(read("tls://siem.example.com:6514")).toMatchObject({ host: "siem.example.com" });
  const wrong = () => read("tls://user:hunter-canary@siem.example.com:6514");
  expect(wrong).toThrow(EnvError);
  expect(wrong).toThrow(new RegExp(`^PARKADE_AUDIT_SYSLOG ${SYSLOG_RULE}\\.$`));
});
