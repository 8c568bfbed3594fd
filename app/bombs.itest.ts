import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openapiDocument } from "@/app/_server/openapi/openapi";
import { ROUTES } from "@/app/routes";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource } from "@/lib/testing/letters";

/** Bodies and texts that are small to send and dear to read, at every route that takes a body or a query. */
type Parameter = { name: string; in: string };
type Operation = { operationId: string; parameters?: Parameter[]; requestBody?: { content: Record<string, unknown> } };
type Case = { at: string; method: string; path: string; operation: Operation };

/** They connect to addresses. */
const CONNECTING = /^(probe|retrySource|testChannel)/;
const ABSENT = "00000000-0000-7000-8000-000000000000";
/** A request is answered in milliseconds; a backtracking pattern or a parser that is no longer linear takes minutes. */
const MS_MAX = 5_000;

let web: TestConsole;
let cases: Case[];

beforeAll(async () => {
  web = await testConsole({ PARKADE_CLIENT_REQUESTS: "0" });
  await addSource(web.deps.db, "orders");
  const document = (await openapiDocument(ROUTES)) as { paths: Record<string, Record<string, Operation>> };
  cases = Object.entries(document.paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        ...{ at: `${method.toUpperCase()} ${path}`, method: method.toUpperCase() },
        ...{ path, operation },
      })),
    )
    .filter(({ operation }) => !CONNECTING.test(operation.operationId));
});
afterAll(() => web.close());

async function faultOf(
  { at, path, method }: Case,
  what: string,
  asked: { query?: string; body?: unknown; headers?: Record<string, string> },
) {
  const handlers = (await ROUTES[path]!()) as unknown as Record<string, Parameters<TestConsole["call"]>[0]>;
  const params = Object.fromEntries([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name!, ABSENT]));
  const begun = performance.now();
  const { status } = await web.call(handlers[method]!, { method, params, ...asked });
  const ms = performance.now() - begun;
  // There is no archive here, which is what a removal says.
  if (status >= 500 && status !== 503) return [`${at} with ${what}: ${status}`];
  return ms > MS_MAX ? [`${at} with ${what}: took ${Math.round(ms)} ms`] : [];
}

const DEEP = 50_000;
const BODIES: Record<string, string> = {
  "lists in lists": "[".repeat(DEEP) + "]".repeat(DEEP),
  "objects in objects": `${'{"select":'.repeat(DEEP)}1${"}".repeat(DEEP)}`,
  "a list that does not end": "[".repeat(DEEP),
  "a filter deep inside": `{"select":{"filter":${'{"source":'.repeat(5_000)}1${"}".repeat(5_000)}},"reason":"x"}`,
  "a number without end": `{"select":{"ids":[1e${"9".repeat(20_000)}]}}`,
  "four thousand names": `{${Array.from({ length: 4_000 }, (_, index) => `"n${index}":1`).join(",")}}`,
  "a prototype":
    '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"select":{"__proto__":{"polluted":true}}}',
  "a name twice": '{"reason":"a","reason":"b","select":{},"select":{"filter":{}}}',
  "half a character": '{"reason":"\\ud800","name":"\\udfff"}',
  "a text of zeros": `{"reason":"${"\\u0000".repeat(1_000)}"}`,
};

test.each(Object.entries(BODIES))(
  "%s in a body is answered in words and at once, by every route",
  async (what, body) => {
    const faults: string[] = [];
    const taking = cases.filter(({ operation }) => operation.requestBody !== undefined);
    expect(taking.length).toBeGreaterThan(50);
    for (const one of taking) faults.push(...(await faultOf(one, what, { body })));
    expect(faults).toEqual([]);
    expect((Object.prototype as { polluted?: boolean }).polluted).toBeUndefined();
  },
);

test("a body that is compressed is not unpacked by any route", async () => {
  const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024, " "));
  const faults: string[] = [];
  for (const one of cases.filter(({ operation }) => operation.requestBody !== undefined))
    for (const coding of ["gzip", "deflate, gzip"])
      faults.push(...(await faultOf(one, coding, { body: bomb, headers: { "content-encoding": coding } })));
  expect(faults).toEqual([]);
});

/** Texts on which patterns with repeated parts go back and forth. */
const TEXTS: Record<string, string> = {
  "a's and a !": `${"a".repeat(10_000)}!`,
  blanks: `${" ".repeat(10_000)}x`,
  "digits and dots": `${"1.".repeat(5_000)}x`,
  hyphens: `${"-".repeat(10_000)}\n`,
  commas: `${",".repeat(10_000)}`,
  "an address": `http://${"a.".repeat(5_000)}@`,
  "a time": `2026-01-01T${"00:".repeat(3_000)}`,
  "percent signs": "%25".repeat(3_000),
  "quotes and backslashes": '\\"'.repeat(5_000),
  "a duration": `-${"1d".repeat(5_000)}`,
};

test.each(Object.entries(TEXTS))("a query of %s is answered at once, by every route", async (what, text) => {
  const faults: string[] = [];
  for (const one of cases)
    for (const { name } of (one.operation.parameters ?? []).filter((parameter) => parameter.in === "query"))
      faults.push(
        ...(await faultOf(one, `${what} in ${name}`, { query: `?${new URLSearchParams({ [name]: text })}` })),
      );
  expect(faults).toEqual([]);
});
