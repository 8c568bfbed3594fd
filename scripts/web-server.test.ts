import { createServer, request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllowedHosts } from "../lib/guard/viewer/local-only.pure.ts";
import { parseTrustedProxies } from "./client-address.ts";
import { readRouteMethods } from "./route-methods.ts";
import { securityHeaders, shellOf } from "./security-headers.ts";
import { answerBrokenRequest, guarded, keepUpgrades } from "./web-server.ts";

type Answer = { status: number; headers: IncomingHttpHeaders; body: string };

/** What the handler behind the guard saw. */
let seen: IncomingHttpHeaders[] = [];
const server = createServer(
  guarded(
    (request, response) => {
      seen.push(request.headers);
      response.end("passed");
    },
    parseAllowedHosts(""),
    readRouteMethods(process.cwd()),
  ),
);
server.on("clientError", answerBrokenRequest);
let port = 0;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

function send(method: string, headers: Record<string, string>, path = "/api/v1/redrives"): Promise<Answer> {
  seen = [];
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: "127.0.0.1", port, method, path, headers }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        body += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
    });
    request.on("error", reject).end();
  });
}

/** Sends bytes as they are and returns all that comes back. */
function rawAnswer(request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.end(request));
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk;
    });
    socket.on("end", () => resolve(text)).on("error", reject);
  });
}

describe("the web server", () => {
  test("answers a foreign host with a problem, and the console never sees the request", async () => {
    const answer = await send("GET", { host: "rebound.example" });
    expect(answer).toMatchObject({ status: 403, headers: { "content-type": "application/problem+json" } });
    expect(JSON.parse(answer.body)).toMatchObject({
      status: 403,
      code: "not-local",
      type: "urn:parkade:problem:not-local",
    });
    expect(seen).toEqual([]);
    // It hangs up instead of reading what a foreign page uploads.
    const upload = await send("POST", { origin: "https://evil.example" });
    expect(upload).toMatchObject({ status: 403, headers: { connection: "close" } });
  });

  test.each([
    ["GET", "/events/%", 400],
    ["GET", "/api/v1/events/%ff", 400],
    ["GET", "/api/v1/sources/%00", 400],
    ["GET", "/api/v1/events?q=%ff", 400],
    ["GET", "/api/v1/sources?cursor=%00", 400],
    ["GET", "http://elsewhere.example/api/v1/events", 400],
    ["OPTIONS", "*", 400],
    ["TRACE", "/api/v1/events", 405],
    ["POST", "/events", 405],
    ["DELETE", "/", 405],
    ["PROPFIND", "/api/v1/events", 405],
    ["PUT", "/api/v1/redrives/0", 405],
    ["POST", "/metrics", 405],
  ])("refuses %s %s with a problem before the framework sees it", async (method, path, status) => {
    const answer = await send(method, {}, path);
    expect(answer).toMatchObject({ status, headers: { "content-type": "application/problem+json" } });
    expect(answer.headers).toMatchObject({
      ...{ "x-content-type-options": "nosniff", "x-frame-options": "DENY", "cache-control": "no-store" },
      "content-security-policy": "sandbox; default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
    });
    expect(JSON.parse(answer.body).detail).not.toBe("");
    if (status === 405) expect(answer.headers.allow).toMatch(/GET/);
    expect(seen).toEqual([]);
  });

  test("lets the provider post the end of a session, no page of another site, and nothing else there", async () => {
    const path = "/sign-in/oidc/back-channel-logout";
    expect(await send("POST", {}, path)).toMatchObject({ status: 200, body: "passed" });
    expect((await send("POST", { origin: "https://evil.example" }, path)).status).toBe(403);
    expect((await send("POST", { "sec-fetch-site": "cross-site" }, path)).status).toBe(403);
    expect(await send("GET", {}, path)).toMatchObject({ status: 405, headers: { allow: "POST, OPTIONS" } });
    for (const page of ["/sign-in/oidc/callback", "/sign-in/oidc/start", "/sign-in", `${path}/x`])
      expect([page, (await send("POST", {}, page)).status]).toEqual([page, 405]);
  });

  test("refuses a second Host header", async () => {
    const answer = await rawAnswer(
      "GET / HTTP/1.1\r\nHost: localhost\r\nHost: elsewhere.example\r\nConnection: close\r\n\r\n",
    );
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(seen).toEqual([]);
  });

  test("answers what is no HTTP, or too large a head, with a problem", async () => {
    const head = await rawAnswer(`GET /${"x".repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    expect(head).toMatch(/^HTTP\/1\.1 431 [\s\S]*application\/problem\+json[\s\S]*select/);
    const nonsense = await rawAnswer("NONSENSE\r\n\r\n");
    expect(nonsense).toMatch(/^HTTP\/1\.1 400 [\s\S]*application\/problem\+json/);
    const headers = Object.entries(securityHeaders("/api/", "", shellOf(process.env)));
    expect(headers.length).toBeGreaterThan(8);
    for (const [name, value] of headers) {
      expect(head).toContain(`\r\n${name}: ${value}\r\n`);
      expect(nonsense).toContain(`\r\n${name}: ${value}\r\n`);
    }
  });

  test("hands on the query string as it came, and not what a client claims that it was", async () => {
    await send("GET", { "x-parkade-query": "source=chosen" }, "/api/v1/events?source=N&__proto__=x?y");
    expect(seen[0]!["x-parkade-query"]).toBe("source=N&__proto__=x?y");
    await send("GET", { "x-parkade-query": "source=chosen" }, "/api/v1/events");
    expect(seen[0]!["x-parkade-query"]).toBe("");
  });

  test("hands on the address that a request came from, and not what a client claims that it is", async () => {
    await send("GET", { "x-parkade-address": "10.0.0.7" }, "/api/v1/events");
    expect(seen[0]!["x-parkade-address"]).toMatch(/^(127\.0\.0\.1|::1|::ffff:127\.0\.0\.1)$/);
  });

  test("hands on what a trusted proxy says of the client, and believes nobody else", async () => {
    const proxied = createServer(
      guarded(
        (request, response) => {
          seen.push(request.headers);
          response.end();
        },
        parseAllowedHosts(""),
        [],
        parseTrustedProxies("127.0.0.1 ::1"),
      ),
    );
    await new Promise<void>((resolve) => proxied.listen(0, "127.0.0.1", resolve));
    const sent = { "x-forwarded-for": "127.0.0.1, 203.0.113.9", "x-parkade-address": "127.0.0.1" };
    const url = `http://127.0.0.1:${(proxied.address() as AddressInfo).port}/api/v1/events`;
    seen = [];
    await fetch(url, { headers: { ...sent, "x-parkade-proxied": "" } });
    await fetch(url, { headers: { "x-parkade-proxied": "" } });
    expect(seen.map((headers) => [headers["x-parkade-address"], headers["x-parkade-proxied"]])).toEqual([
      ["203.0.113.9", "1"],
      ["127.0.0.1", "1"],
    ]);
    await new Promise((resolve) => proxied.close(resolve));
    const handedOn = async (headers: Record<string, string>) => {
      await send("GET", headers, "/api/v1/events");
      return seen.map((passed) => [passed["x-parkade-address"], passed["x-parkade-proxied"]]);
    };
    expect(await handedOn({ "x-parkade-address": "192.0.2.9", "x-parkade-proxied": "1" })).toEqual([["127.0.0.1", ""]]);
    // A proxy that is not trusted is one nevertheless: what it passes on does not come from this machine.
    for (const name of ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"])
      expect(await handedOn({ [name]: "127.0.0.1", "x-parkade-proxied": "" })).toEqual([["127.0.0.1", "1"]]);
  });

  test("gives each answer a nonce of its own, and the same one to the page", async () => {
    const nonceOf = (answer: Answer) => /'nonce-([^']+)'/.exec(String(answer.headers["content-security-policy"]))?.[1];
    const first = nonceOf(await send("GET", {}, "/events"));
    expect(seen[0]!["x-nonce"]).toBe(first);
    expect(seen[0]!["content-security-policy"]).toContain(`'nonce-${first}'`);
    expect(nonceOf(await send("GET", {}, "/events"))).not.toBe(first);
  });

  test("lets nothing of an answer with data run or load, whatever stands in it", async () => {
    for (const path of ["/api/v1/events/e/payload", "/api/v1/events/export", "/metrics"]) {
      const { headers } = await send("GET", {}, path);
      expect(headers["content-security-policy"]).toBe(
        "sandbox; default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
      );
    }
  });

  test("does not let a client choose the nonce", async () => {
    await send("GET", { "x-nonce": "chosen", "content-security-policy": "script-src 'nonce-chosen'" });
    expect(seen[0]!["x-nonce"]).not.toBe("chosen");
    expect(seen[0]!["content-security-policy"]).not.toContain("chosen");
  });
});

/** The first bytes of the answer to a request with these header lines. */
function answerTo(path: string, ...lines: string[]): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () =>
      socket.write([`GET ${path} HTTP/1.1`, ...lines, "", ""].join("\r\n"), "latin1"),
    );
    socket.setEncoding("latin1").once("data", (text: string) => resolve(text));
  });
}

test.each(["a b", "[", "%", "x:99999", "localhost@evil.example", "::1"])(
  "refuses the Host %j in words, where addresses would be built of it",
  async (host) => {
    for (const path of ["/healthz", "/api/v1/x"]) {
      expect(await answerTo(path, `Host: ${host}`)).toMatch(/^HTTP\/1.1 400[\s\S]*The Host header is no host name/);
    }
  },
);

test("refuses an X-Actor that nobody may use, before a page fails of it, and takes any letters", async () => {
  const host = "Host: 127.0.0.1";
  for (const name of ["a".repeat(129), "worker", "LOCAL"]) {
    expect(await answerTo("/", host, `X-Actor: ${name}`)).toMatch(/^HTTP\/1.1 400[\s\S]*The name in X-Actor/);
  }
  const name = Buffer.from("Łukasz Żółć").toString("latin1");
  expect(await answerTo("/", host, `X-Actor: ${name}`)).not.toMatch(/^HTTP\/1.1 400/);
});

test("refuses two X-Actor headers, which would become one name", async () => {
  const answer = await answerTo("/api/v1/x", "Host: 127.0.0.1", "X-Actor: maria", "x-actor: bob");
  expect(answer).toMatch(/^HTTP\/1.1 400[\s\S]*two X-Actor headers/);
});

describe("requests to upgrade the connection", () => {
  /** Next's part: it listens for upgrades, and leaves the socket of one that it does not know. */
  async function serverWith(dev: boolean) {
    const allowedHosts = parseAllowedHosts("");
    const web = createServer(guarded((_, response) => void response.end("a page"), allowedHosts));
    const taken: string[] = [];
    keepUpgrades(web, { dev, allowedHosts }).on("upgrade", (request) => taken.push(request.url ?? ""));
    await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
    const { port: webPort } = web.address() as AddressInfo;
    const upgrade = (host: string, origin?: string) =>
      new Promise<string>((resolve, reject) => {
        const socket = connect(webPort, "127.0.0.1");
        socket.on("error", reject).setEncoding("latin1");
        socket.once("data", (text: string) => {
          resolve(text.split("\r\n", 1)[0]!);
          socket.destroy();
        });
        socket.once("close", () => resolve("closed"));
        const from = origin === undefined ? "" : `Origin: ${origin}\r\n`;
        socket.write(`GET /x HTTP/1.1\r\nHost: ${host}\r\n${from}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
      });
    const open = () => new Promise<number>((resolve) => web.getConnections((_, count) => resolve(count)));
    return { web, webPort, taken, upgrade, open };
  }

  test("500 of them are answered as ordinary requests, behind the guard, and leave no connection", async () => {
    const { web, webPort, taken, upgrade, open } = await serverWith(false);
    const answers = await Promise.all(Array.from({ length: 500 }, () => upgrade(`127.0.0.1:${webPort}`)));
    expect(new Set(answers)).toEqual(new Set(["HTTP/1.1 200 OK"]));
    expect(await upgrade("rebound.example")).toBe("HTTP/1.1 403 Forbidden");
    await expect.poll(open).toBe(0);
    expect(taken).toEqual([]);
    web.close();
  });

  test("reach the hot reload of development from the console's own pages alone", async () => {
    const { web, webPort, taken, upgrade, open } = await serverWith(true);
    expect(await upgrade("rebound.example")).toBe("closed");
    expect(await upgrade(`127.0.0.1:${webPort}`, "https://evil.example")).toBe("closed");
    await expect.poll(open).toBe(0);
    expect(taken).toEqual([]);
    const own = upgrade(`127.0.0.1:${webPort}`, `http://127.0.0.1:${webPort}`);
    await expect.poll(() => taken).toEqual(["/x"]);
    web.closeAllConnections();
    web.close();
    void own;
  });
});
