import pino from "pino";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import * as z from "zod/mini";
import { readEnv } from "@/lib/env";
import { localViewer, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { systemClock } from "@/lib/platform/clock";
import { DomainError, PROBLEM_CODES, type ProblemCode } from "@/lib/platform/plain/problem.pure";
import { type Deps, deps, setDeps } from "./deps";
import { handle, type Route } from "./handle";
import type { Operation } from "./operation";
import { PROBLEMS } from "./problem";
import { RequestLimits } from "./request-limits";
import { SharedReads } from "./shared-reads";
import { identifyLocal } from "./viewer";

const lines: string[] = [];

beforeEach(() => {
  lines.length = 0;
  const env = readEnv({ DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" });
  const log = pino({ level: "debug" }, { write: (line: string) => lines.push(line) });
  setDeps({
    env,
    log,
    clock: { ...systemClock, measured: async () => undefined },
    identify: identifyLocal,
    limits: new RequestLimits(env.limits),
    sharedReads: new SharedReads(),
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

  describe("logs", () => {
    const written = (message: string) => lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === message);
    const read = (headers: Record<string, string>) => new Request("http://localhost:3000/api/v1/x", { headers });
    const refusing = (code: ProblemCode) => async () => {
      throw new DomainError(code, "No");
    };

    test("the name of the viewer with each request", async () => {
      await call({}, read({ "x-actor": "ada" }));
      expect(written("request")).toMatchObject([{ viewer: "ada", status: 200 }]);
    });

    test("who is refused an action, and from where, as a warning", async () => {
      const problems: ProblemCode[] = ["forbidden"];
      const request = read({ "x-actor": "ada", "x-parkade-address": "192.0.2.9" });
      expect((await call({ problems, run: refusing("forbidden") }, request)).status).toBe(403);
      const warning = { level: 40, code: "forbidden", viewer: "ada", address: "192.0.2.9", path: "/api/v1/x" };
      expect(written("request refused")).toMatchObject([warning]);
    });

    test("from where somebody is refused who has not signed in, and nothing of the token", async () => {
      const identify = refusing("unauthenticated");
      setDeps({ ...deps(), identify } as unknown as Deps);
      const request = read({ authorization: "Bearer pk_hunter2", "x-parkade-address": "192.0.2.9" });
      expect((await call({}, request)).status).toBe(401);
      expect(written("request refused")).toMatchObject([{ level: 40, code: "unauthenticated", address: "192.0.2.9" }]);
      expect(lines.join("")).not.toContain("hunter2");
    });

    test("from where a sign-in failed, and nothing of what was typed", async () => {
      const route = {
        problems: ["sign-in-failed"] as ProblemCode[],
        body: z.object({}),
        run: refusing("sign-in-failed"),
      };
      const headers = { "content-type": "application/json", "x-parkade-address": "192.0.2.9" };
      expect((await call(route, post(JSON.stringify({ name: "hunter2" }), headers))).status).toBe(401);
      expect(written("request refused")).toMatchObject([{ level: 40, code: "sign-in-failed", address: "192.0.2.9" }]);
      expect(lines.join("")).not.toContain("hunter2");
    });

    test("no warning of what is merely wrong", async () => {
      await call({ problems: ["name-taken"], run: refusing("name-taken") }, read({}));
      expect(written("request refused")).toEqual([]);
      expect(written("request")).toMatchObject([{ status: 409 }]);
    });
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
});

describe("a read that is shared", () => {
  /** Runs that end only when the test says so; each answers its own number. */
  function polledRoute() {
    const runs: { end(): void; fail(error: Error): void }[] = [];
    const run = ({ viewer }: { viewer: Viewer }) => {
      const n = runs.length + 1;
      return new Promise<object>((resolve, reject) => {
        runs.push({ end: () => resolve({ n, viewer: viewer.name }), fail: reject });
      });
    };
    const route = { problems: ["name-taken"], coalesce: true, run } satisfies Partial<Route<unknown, unknown, unknown>>;
    const read = (query = "", init: RequestInit = {}) =>
      call({ ...route, query: anyQuery }, new Request(`http://localhost:3000/api/v1/x${query}`, init));
    return { runs, read };
  }
  const anyQuery = { fields: {}, problems: [], read: () => ({}) } as unknown as NonNullable<Operation["query"]>;
  const started = (runs: unknown[], count: number) => vi.waitFor(() => expect(runs).toHaveLength(count));

  test("runs once for equal requests under way, and answers each with an id of its own", async () => {
    const { runs, read } = polledRoute();
    const asked = [read("?a=1"), read("?a=1"), read("?a=1")];
    await started(runs, 1);
    runs[0]!.end();
    const responses = await Promise.all(asked);
    for (const response of responses) expect(await response.json()).toEqual({ n: 1, viewer: "local" });
    expect(new Set(responses.map(({ headers }) => headers.get("x-request-id"))).size).toBe(3);
    const later = read("?a=1");
    await started(runs, 2);
    runs[1]!.end();
    expect(await (await later).json()).toMatchObject({ n: 2 });
  });

  test.each<[string, string, RequestInit]>([
    ["another query", "?a=2", {}],
    ["another viewer", "?a=1", { headers: { "x-actor": "ada" } }],
  ])("runs anew for %s", async (_, query, init) => {
    const { runs, read } = polledRoute();
    const asked = [read("?a=1"), read(query, init)];
    await started(runs, 2);
    for (const run of runs) run.end();
    const answers = await Promise.all(asked.map(async (response) => (await response).json()));
    expect(answers.map((answer) => (answer as { n: number }).n).sort()).toEqual([1, 2]);
  });

  test("takes three connections at once, however many its reads ask for", async () => {
    let [running, most] = [0, 0];
    const query = async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      return [];
    };
    setDeps({ ...deps(), db: { query } as unknown as Deps["db"] });
    const run: Route<unknown, unknown, unknown>["run"] = async ({ deps: { db } }: { deps: Deps }) => {
      await Promise.all(Array.from({ length: 9 }, () => db.query("select 1")));
      return {};
    };
    expect((await call({ coalesce: true, run } as never)).status).toBe(200);
    expect(most).toBe(3);
  });

  test("runs anew for a viewer of the same name who sees other sources", async () => {
    const reads = new SharedReads();
    const read = { route: "r", params: {}, query: "", viewer: localViewer() };
    const narrow = { ...read, viewer: { ...read.viewer, sources: ["orders"] } };
    expect(await Promise.all([reads.read(read, async () => "all"), reads.read(narrow, async () => "orders")])).toEqual([
      "all",
      "orders",
    ]);
  });

  test.each([
    ["succeeded", {}],
    ["failed", { code: "name-taken" }],
  ])("does not join a run that began before a change that %s", async (end, answer) => {
    const { runs, read } = polledRoute();
    const before = read();
    await started(runs, 1);
    const run = async () => {
      if (end === "failed") throw new DomainError("name-taken", "There is a source of this name");
      return {};
    };
    const changed = await call({ problems: ["name-taken"], body: z.object({}), run }, post("{}"));
    expect(await changed.json()).toMatchObject(answer);
    const after = read();
    await started(runs, 2);
    for (const run of runs) run.end();
    expect(await (await before).json()).toMatchObject({ n: 1 });
    expect(await (await after).json()).toMatchObject({ n: 2 });
  });

  test("answers a failure to each under the id of its own request, and forgets it", async () => {
    const { runs, read } = polledRoute();
    const asked = [read(), read()];
    await started(runs, 1);
    runs[0]!.fail(new DomainError("name-taken", "There is a source of this name"));
    const ids = await Promise.all(
      asked.map(async (response) => {
        const refused = await response;
        expect(await refused.json()).toMatchObject({ code: "name-taken" });
        return refused.headers.get("x-request-id");
      }),
    );
    expect(new Set(ids).size).toBe(2);
    const later = read();
    await started(runs, 2);
    runs[1]!.end();
    expect((await later).status).toBe(200);
  });

  test("answers the others when the caller that began the run leaves", async () => {
    const { runs, read } = polledRoute();
    const leaves = new AbortController();
    const asked = [read("", { signal: leaves.signal }), read()];
    await started(runs, 1);
    leaves.abort();
    runs[0]!.end();
    expect(await (await asked[1]!).json()).toMatchObject({ n: 1 });
    await asked[0];
  });
});

/** `unknown-lane` is a wrong word in a query, not a thing that the request is about. */
test.each([
  ["unknown-*, except unknown-lane,", /^unknown-(?!lane$)/, 404],
  ["*-unavailable", /-unavailable$/, 503],
  ["internal", /^internal$/, 500],
])("each code %s has the status of its kind", (_, kind, status) => {
  const codes = PROBLEM_CODES.filter((code) => kind.test(code));
  expect(codes).not.toEqual([]);
  expect(codes.filter((code) => PROBLEMS[code][0] !== status)).toEqual([]);
});
