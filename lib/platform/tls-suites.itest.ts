import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { isSuiteList } from "@/lib/platform/tls-suites";
import { type TestCertificates, testCertificates } from "@/lib/testing/certificates";

const CBC = "ECDHE-ECDSA-AES128-SHA256";
const AEAD = "ECDHE-ECDSA-AES128-GCM-SHA256";

let certificates: TestCertificates;
const servers: Server[] = [];
beforeAll(() => {
  certificates = testCertificates();
});
afterAll(() => certificates.remove());
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** Speaks TLS 1.2 with this suite, or TLS 1.3. */
async function serverWith(ciphers: string | null): Promise<string> {
  const { cert, key } = certificates.server;
  const suite = ciphers === null ? {} : { ciphers, maxVersion: "TLSv1.2" as const };
  const server = createServer({ cert, key, ...suite }, (_, response) => response.end());
  server.on("tlsClientError", () => undefined);
  servers.push(server.listen(0, "127.0.0.1"));
  await once(server, "listening");
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** In a process of its own: the suites of a process are those of all its connections. `given`: null = Node's own suites. */
async function ask(url: string, given: string | null): Promise<string> {
  const program = `
    import { offerTlsSuites } from "./lib/platform/tls-suites.ts";
    if (process.env.GIVEN !== undefined) offerTlsSuites(process.env.GIVEN);
    const said = await fetch(process.argv[1]).then(({ status }) => String(status), (error) => error.cause.code);
    process.stdout.write(said);
  `;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", "tsx", "--input-type=module", "-e", program, url],
    {
      env: {
        PATH: process.env.PATH,
        NODE_ENV: "test",
        NODE_EXTRA_CA_CERTS: certificates.caFile,
        ...(given !== null && { GIVEN: given }),
      },
    },
  );
  return stdout;
}

it("a server that has suites with CBC alone is refused, one with an authenticated cipher or TLS 1.3 is not", async () => {
  const cbc = await serverWith(CBC);
  expect(await ask(cbc, null), "by Node's own suites").toBe("200");
  expect(await ask(cbc, "")).toMatch(/^ERR_SSL_.*HANDSHAKE_FAILURE$/);
  expect(await ask(await serverWith(AEAD), "")).toBe("200");
  expect(await ask(await serverWith(null), "")).toBe("200");
});

it("PARKADE_TLS_CIPHERS takes the place of the list", async () => {
  expect(await ask(await serverWith(CBC), `${AEAD}:${CBC}`)).toBe("200");
  expect(await ask(await serverWith(AEAD), CBC)).toMatch(/^ERR_SSL_.*HANDSHAKE_FAILURE$/);
  expect([CBC, `${AEAD}:${CBC}`, "no-such-suite"].map(isSuiteList)).toEqual([true, true, false]);
});
