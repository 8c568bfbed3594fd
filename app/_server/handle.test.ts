import pino from "pino";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { DomainError, PROBLEM_CODES } from "@/lib/core/problem";
import type { Viewer } from "@/lib/core/viewer";
import { systemClock } from "@/lib/platform/clock";
import { readEnv } from "@/lib/platform/env";
import { type Deps, setDeps } from "./deps";
import { handle, type Route } from "./handle";
import { STATUS } from "./problem";
import { RequestLimits } from "./request-limits";
import { identifyLocal } from "./viewer";

const lines: string[] = [];

beforeEach(() => {
  lines.length = 0;
  const env = readEnv({ DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" });
  const log = pino({ level: "debug" }, { write: (line: string) => lines.push(line) });
  setDeps({
    env,
    log,
    clock: systemClock,
    identify: identifyLocal,
    limits: new RequestLimits(env.limits),
  } as unknown as Deps);
});
afterEach(() => setDeps(null));

const none = { params: Promise.resolve({}) };

function call(
  route: Partial<Route<unknown, unknown, unknown>>,
  request: Request = new Request("http://localhost:3000/api/v1/x"),
) {
  const run = async () => ({});
  return handle({ id: "test", summary: "A test", answer: z.looseObject({}), run, ...route })(request, none);
}

function post(body: BodyInit, headers: Record<string, string> = { "content-type": "application/json" }) {
  return new Request("http://localhost:3000/api/v1/x", { method: "POST", body, headers });
}

const shape = z.strictObject({
  reason: z.string("must be text"),
  select: z.union([z.strictObject({ ids: z.array(z.string()) }), z.strictObject({ filter: z.string() })]),
});

describe("handle", () => {
  test("answers a known fault as a problem with its code, field and status", async () => {
    const response = await call({
      problems: ["name-taken"],
      run: async () => {
        throw new DomainError("name-taken", "There is a source of this name: choose another", {
          fields: [{ field: "name", detail: "is taken" }],
        });
      },
    });
    expect(response.status).toBe(409);
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    expect(await response.json()).toMatchObject({
      type: "urn:parkade:problem:name-taken",
      status: 409,
      code: "name-taken",
      detail: "There is a source of this name: choose another",
      errors: [{ field: "name", detail: "is taken" }],
    });
  });

  test("never tells the text of an unknown error, and logs it under the id it answers", async () => {
    const response = await call({
      run: async () => {
        throw new Error("password=hunter2");
      },
    });
    const text = await response.text();
    expect(response.status).toBe(500);
    expect(text).not.toContain("hunter2");
    const id = response.headers.get("x-request-id")!;
    expect(text).toContain(id);
    expect(lines.find((line) => line.includes("hunter2"))).toContain(id);
  });

  test("names the nearest branch's fields when a body fits no branch of a union", async () => {
    const route = { body: shape, run: async () => ({}) };
    const response = await call(route, post(JSON.stringify({ reason: 7, select: { ids: ["a", 3] }, extra: 1 })));
    const { code, errors } = (await response.json()) as { code: string; errors: { field: string }[] };
    expect(code).toBe("invalid-request");
    expect(errors.map((fault) => fault.field).sort()).toEqual(["extra", "reason", "select.ids[1]"]);
  });

  test.each([
    ["no JSON", post("{"), "invalid-json"],
    ["no UTF-8", post(new Uint8Array([0x22, 0xff, 0x22])), "invalid-utf8"],
    ["a form", post("a=b", { "content-type": "application/x-www-form-urlencoded" }), "unsupported-media-type"],
    ["too much", post("x".repeat(2 ** 20 + 1)), "payload-too-large"],
    ["a foreign page", post("{}", { "content-type": "application/json", origin: "https://evil.example" }), "not-local"],
    ["a rebound name", post("{}", { "content-type": "application/json", host: "evil.example" }), "not-local"],
    [
      "an actor that is no name",
      post("{}", { "content-type": "application/json", "x-actor": "a".repeat(129) }),
      "invalid-request",
    ],
  ])("refuses %s", async (_, request, code) => {
    const response = await call({ body: shape, run: async () => ({}) }, request);
    expect(await response.json()).toMatchObject({ code });
  });

  test.each([
    ["a field that the schema does not name", { id: "1", secret: 2 }],
    ["a field of another type", { id: 1 }],
    ["nothing", undefined],
  ])("does not answer %s, outside of production", async (_, result) => {
    const route = { answer: z.object({ id: z.string() }), run: async () => result };
    await expect(call(route)).rejects.toThrow("schema");
  });

  test("does not answer a code that the operation does not declare, outside of production", async () => {
    const run = async () => {
      throw new DomainError("name-taken", "There is a source of this name");
    };
    await expect(call({ run })).rejects.toThrow("name-taken");
  });

  test("refuses a query name that the route does not know", async () => {
    const response = await call({ run: async () => ({}) }, new Request("http://localhost/api/v1/x?limt=5"));
    expect(await response.json()).toMatchObject({ code: "invalid-request", errors: [{ field: "limt" }] });
  });

  test("attributes to x-actor, else to local", async () => {
    const route = { run: async ({ viewer }: { viewer: Viewer }) => ({ actor: viewer.name }) };
    expect(await (await call(route)).json()).toEqual({ actor: "local" });
    const named = new Request("http://localhost/api/v1/x", { headers: { "x-actor": " ada " } });
    expect(await (await call(route, named)).json()).toEqual({ actor: "ada" });
  });

  test.each([
    ["UTF-8", Buffer.from("Błażej").toString("latin1"), "Błażej"],
    ["Latin-1", "Zo\u00eb", "Zoë"],
  ])("reads a name in %s", async (_, header, actor) => {
    const request = new Request("http://localhost/api/v1/x", { headers: { "x-actor": header } });
    const route = { run: async ({ viewer }: { viewer: Viewer }) => ({ actor: viewer.name }) };
    expect(await (await call(route, request)).json()).toEqual({ actor });
  });

  test("refuses a name under which Parkade acts", async () => {
    const request = new Request("http://localhost/api/v1/x", { headers: { "x-actor": "worker" } });
    expect(await (await call({ run: async () => ({}) }, request)).json()).toMatchObject({
      code: "invalid-request",
      errors: [{ field: "x-actor", detail: expect.stringContaining("Parkade itself") }],
    });
  });
});

test("every code has a status of its class", () => {
  for (const code of PROBLEM_CODES) expect(STATUS[code]).toBeGreaterThanOrEqual(400);
});
