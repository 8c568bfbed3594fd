import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { outbound } from "@/lib/brokers/broker.conformance";
import { parseSourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import type { Publisher } from "@/lib/brokers/port";
import { brokerRegistry } from "@/lib/brokers/registry";
import { systemClock } from "@/lib/platform/clock";
import { type TestCertificates, testCertificates } from "@/lib/testing/certificates";

const never = new AbortController().signal;
let certificates: TestCertificates;
let heard: string[] = [];
const servers: Server[] = [];
const publishers: Publisher[] = [];

beforeAll(() => {
  certificates = testCertificates();
});
afterAll(() => certificates.remove());
afterEach(async () => {
  heard = [];
  await Promise.all(publishers.splice(0).map((publisher) => publisher.close()));
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** A target with TLS; it says whose certificate a client showed. */
async function target(options: { wrongName?: boolean; clients?: boolean } = {}): Promise<string> {
  const { cert, key } = options.wrongName ? certificates.wrongName : certificates.server;
  const asks = options.clients ? { requestCert: true, rejectUnauthorized: true, ca: certificates.ca } : {};
  const server = createServer({ cert, key, ...asks }, (request, response) => {
    const { subject } = (request.socket as TLSSocket).getPeerCertificate();
    heard.push(subject === undefined ? "nobody" : String(subject.CN));
    request.resume().on("end", () => response.end());
  });
  // A handshake that failed is the client's error.
  server.on("tlsClientError", () => undefined);
  servers.push(server.listen(0, "127.0.0.1"));
  await once(server, "listening");
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}/in`;
}

async function publish(config: object, variables: Record<string, string> = {}) {
  const registry = brokerRegistry({ clock: systemClock, random: Math.random, secrets: { variables, listed: [] } });
  const publisher = registry.publisher(parseSourceConfig("http", config));
  publishers.push(publisher);
  const probed = await publisher.probe(never);
  return { probed, receipt: await publisher.publish(outbound({}), never) };
}

it("refuses a target whose authority nobody named, before anything is sent", async () => {
  const redriveUrl = await target();
  await expect(publish({ redriveUrl })).rejects.toMatchObject({ sent: "no" });
  await expect(publish({ redriveUrl, tls: { ca: certificates.otherCa } })).rejects.toMatchObject({ sent: "no" });
  expect(heard).toEqual([]);
});

it("takes the authority of the target, and still compares the name", async () => {
  const tls = { ca: certificates.ca };
  expect((await publish({ redriveUrl: await target(), tls })).probed).toMatchObject({ reachable: true });
  expect(heard).toEqual(["nobody", "nobody"]);
  const redriveUrl = await target({ wrongName: true });
  await expect(publish({ redriveUrl, tls })).rejects.toMatchObject({ sent: "no" });
  await publish({ redriveUrl, tls: { ...tls, servername: "elsewhere.invalid" } });
  expect(heard).toHaveLength(4);
});

it("shows a client certificate, whose key stands in a variable", async () => {
  const redriveUrl = await target({ clients: true });
  const { ca, client } = certificates;
  await expect(publish({ redriveUrl, tls: { ca } })).rejects.toThrow();
  const tls = { ca, cert: client.cert, key: "env:PARKADE_SECRET_CLIENT_KEY" };
  await publish({ redriveUrl, tls }, { PARKADE_SECRET_CLIENT_KEY: client.key });
  expect(heard).toEqual(["parkade-client", "parkade-client"]);
});

it("trusts the target's authority for its check call at the same server, and shows our certificate to no other", async () => {
  const { ca, client } = certificates;
  const tls = { ca, cert: client.cert, key: client.key };
  const [here, elsewhere] = [await target({ clients: true }), await target({ clients: true })];
  const ask = async (checkUrl: string) => {
    const registry = brokerRegistry({
      clock: systemClock,
      random: Math.random,
      secrets: { variables: {}, listed: [] },
    });
    const config = { redriveUrl: here, tls, checkCall: { url: checkUrl } };
    const check = registry.ownerCheck(parseSourceConfig("http", config))!;
    const event = { id: "a", revision: 1, key: "orders:a", eventType: "t", aggregateType: null, aggregateId: null };
    const payload = { version: null, contentType: "application/json", payload: Buffer.from("{}") };
    const [answer] = await check.ask([{ ...event, ...payload }], never);
    await check.close();
    return JSON.stringify(answer);
  };
  // The server was reached: its answer is none, and says so.
  expect(await ask(here)).toContain("unanswered");
  expect(heard).toEqual(["parkade-client"]);
  expect(await ask(elsewhere)).toContain("unanswered");
  expect(heard).toEqual(["parkade-client"]);
});

/** In a process of its own: the authorities of a process are those of all its connections. */
it("trusts the authorities of PARKADE_CA_FILE beside the public ones, for every connection of a process", async () => {
  const url = await target();
  const program = `
    import { trustCertificates } from "./lib/platform/trusted-certificates.ts";
    import { getCACertificates } from "node:tls";
    const trusted = () => new Set(getCACertificates("default")).size;
    const before = trusted();
    trustCertificates(process.env.FILE || null);
    const said = await fetch(process.argv[1], { method: "POST" }).then(({ status }) => String(status), (error) => error.cause.code);
    process.stdout.write(said + " " + (trusted() - before));
  `;
  const run = (file: string) =>
    promisify(execFile)(process.execPath, ["--import", "tsx", "--input-type=module", "-e", program, url], {
      // Without the variables of Node that add authorities themselves.
      env: { PATH: process.env.PATH, NODE_ENV: "test", FILE: file },
    });
  expect((await run("")).stdout).toBe("UNABLE_TO_VERIFY_LEAF_SIGNATURE 0");
  expect((await run(certificates.caFile)).stdout).toBe("200 1");
  for (const file of [certificates.server.keyFile, "/no/such/file"])
    await expect(run(file)).rejects.toThrow(/PARKADE_CA_FILE does not name a readable file/);
});
