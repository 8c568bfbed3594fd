import { Agent, createServer, request as httpRequest, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApiRoute, dispatchRoutes } from "./api-dispatch.ts";

const LONG = JSON.stringify({ items: Array.from({ length: 500 }, (_, n) => ({ n })) });
let cancelled = 0;

const whole = (text: string, type = "application/json") =>
  new Response(text, { headers: { "content-type": type, "content-length": String(Buffer.byteLength(text)) } });

const routes: ApiRoute[] = [
  {
    path: "/api/things/[name]",
    handlers: {
      GET: async (_request, { params }) => Response.json(await params),
      DELETE: () => new Response(null, { status: 204 }),
    },
  },
  {
    path: "/api/things",
    handlers: {
      GET: (request) => whole(new URL(request.url).search === "?long" ? LONG : '{"all":true}'),
      POST: async (request) => whole(await request.text(), "text/plain"),
    },
  },
  {
    path: "/api/stream",
    handlers: {
      GET: () => {
        let n = 0;
        const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
          if (n++ === 3) controller.close();
          else controller.enqueue(new TextEncoder().encode(`line ${n}\n`));
        };
        return new Response(new ReadableStream({ pull }), { headers: { "content-type": "application/x-ndjson" } });
      },
    },
  },
  {
    path: "/api/endless",
    handlers: {
      GET: () => {
        const pull = (controller: ReadableStreamDefaultController<Uint8Array>) =>
          controller.enqueue(new Uint8Array(65_536));
        const cancel = () => {
          cancelled++;
        };
        return new Response(new ReadableStream({ pull, cancel }), { headers: { "content-type": "text/csv" } });
      },
    },
  },
  { path: "/api/guarded", handlers: { GET: () => whole("x", "text/html") } },
  {
    path: "/api/cookies",
    handlers: {
      POST: () => {
        const headers = new Headers({ "content-security-policy": "none" });
        for (const cookie of ["session=1; Path=/", "browser=2; Path=/"]) headers.append("set-cookie", cookie);
        return new Response(null, { status: 204, headers });
      },
    },
  },
  { path: "/api/refuses", handlers: { POST: () => new Response(null, { status: 429 }) } },
  {
    path: "/api/stops",
    handlers: {
      POST: async (request) => {
        for await (const _chunk of request.body!) break;
        return new Response(null, { status: 413 });
      },
    },
  },
  { path: "/api/broken", handlers: { GET: () => Promise.reject(new Error("a fault of a route")) } },
  { path: "/api/[...path]", handlers: { GET: async (_request, { params }) => Response.json(await params) } },
];

const dispatch = dispatchRoutes(routes, (_request, response) => response.end("next"));
const server = createServer((request, response) => {
  response.setHeader("content-security-policy", "sandbox");
  dispatch(request, response);
});
let port = 0;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

type Answer = { status: number; headers: IncomingHttpHeaders; body: Buffer };

function send(method: string, path: string, headers: Record<string, string> = {}, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({ host: "127.0.0.1", port, method, path, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    outgoing.on("error", reject).end(body);
  });
}

describe("dispatch of route files", () => {
  test("calls the handler of the path and the method, and passes the body", async () => {
    const answer = await send("POST", "/api/things", {}, "as sent");
    expect(answer).toMatchObject({ status: 200, headers: { "content-length": "7" } });
    expect(answer.body.toString()).toBe("as sent");
  });

  test("decodes a varying part, and prefers an exact path", async () => {
    expect(JSON.parse((await send("GET", "/api/things/a%2Fb%20c")).body.toString())).toEqual({ name: "a/b c" });
    expect(JSON.parse((await send("GET", "/api/things")).body.toString())).toEqual({ all: true });
  });

  test("hands a path that no route has to the route of all others", async () => {
    expect(JSON.parse((await send("GET", "/api/things/a/b")).body.toString())).toEqual({ path: "things/a/b" });
  });

  test.each(["/", "/api", "/api/things/", "/events"])("leaves %s to Next", async (path) => {
    expect((await send("GET", path)).body.toString()).toBe("next");
  });

  test("answers HEAD with the headers of GET and no body", async () => {
    const answer = await send("HEAD", "/api/things");
    expect(answer.headers).toMatchObject({ "content-length": "12", "content-type": "application/json" });
    expect(answer.body.length).toBe(0);
  });

  test("sends every cookie of an answer, and leaves the headers of the server in front as they are", async () => {
    const { headers } = await send("POST", "/api/cookies");
    expect(headers["set-cookie"]).toEqual(["session=1; Path=/", "browser=2; Path=/"]);
    expect(headers["content-security-policy"]).toBe("sandbox");
  });

  test("answers OPTIONS with the methods of the route", async () => {
    const answer = await send("OPTIONS", "/api/things/a");
    expect(answer).toMatchObject({ status: 204, headers: { allow: "HEAD, GET, DELETE, OPTIONS" } });
  });

  test("compresses a long text for a client that takes gzip, and only then", async () => {
    const zipped = await send("GET", "/api/things?long", { "accept-encoding": "gzip, deflate" });
    expect(zipped.headers).toMatchObject({ "content-encoding": "gzip", vary: "accept-encoding" });
    expect(gunzipSync(zipped.body).toString()).toBe(LONG);
    for (const accepted of ["identity", "gzip;q=0", "br"]) {
      const plain = await send("GET", "/api/things?long", { "accept-encoding": accepted });
      expect(plain.headers["content-encoding"]).toBeUndefined();
      expect(plain.body.toString()).toBe(LONG);
    }
    const short = await send("GET", "/api/things", { "accept-encoding": "gzip" });
    expect(short.headers["content-encoding"]).toBeUndefined();
  });

  test("streams an answer of unknown length, compressed or not", async () => {
    const lines = "line 1\nline 2\nline 3\n";
    expect((await send("GET", "/api/stream")).body.toString()).toBe(lines);
    const zipped = await send("GET", "/api/stream", { "accept-encoding": "gzip" });
    expect(gunzipSync(zipped.body).toString()).toBe(lines);
  });

  test("ends the source of a stream when the client leaves", async () => {
    const outgoing = httpRequest({ host: "127.0.0.1", port, path: "/api/endless" }, (response) => {
      response.once("data", () => outgoing.destroy());
    });
    outgoing.on("error", () => undefined).end();
    await expect.poll(() => cancelled).toBe(1);
  });

  test.each([
    ["/api/refuses", 429],
    ["/api/stops", 413],
  ])("%s answers a client that sends its whole body first, and its next request", async (path, status) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const post = () =>
      new Promise<number>((resolve, reject) => {
        const outgoing = httpRequest({ host: "127.0.0.1", port, method: "POST", path, agent }, (response) => {
          response.resume().once("end", () => resolve(response.statusCode ?? 0));
        });
        outgoing.on("error", reject).end(Buffer.alloc(20_000_000));
      });
    expect([await post(), await post()]).toEqual([status, status]);
    agent.destroy();
  });

  test("answers a fault of a route with 500, without its text", async () => {
    const answer = await send("GET", "/api/broken");
    expect(answer.status).toBe(500);
    expect(answer.body.toString()).not.toContain("fault of a route");
  });
});
