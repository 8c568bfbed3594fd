import { afterAll, beforeAll, expect, test } from "vitest";
import { openapiDocument } from "@/app/_server/openapi/openapi";
import { ROUTES } from "@/app/routes";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource, deadLetter } from "@/lib/testing/letters";

/** One text for each way into SQL: it ends a text or a bracket, adds a condition, a statement, rows or a wait, is a pattern or an array. */
const INJECTIONS = [
  `'`,
  `') or ('1'='1`,
  `1 or 1=1`,
  `'; drop table sources cascade; --`,
  `' union all select version() --`,
  `'||(select pg_sleep(30))||'`,
  `\\'; select pg_sleep(30); --`,
  `%`,
  `{1,2}'::text[]`,
  `note=' or ''='`,
];

type Parameter = { name: string; in: string; schema?: { enum?: unknown } };
type Body = { content: Record<string, { schema: { $ref?: string; examples?: unknown[] } }> };
type Operation = { operationId: string; parameters?: Parameter[]; requestBody?: Body };
type Document = {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, { examples?: unknown[] }> };
};
type Case = { at: string; method: string; path: string; operation: Operation };

/** They connect to addresses: `app/outgoing.itest.ts` and `workers/outgoing.itest.ts` have those. */
const CONNECTING = /^(probe|retrySource|testChannel)/;

let web: TestConsole;
let document: Document;
let cases: Case[];
/** Of every place of a path, an id that exists in no table. */
const ABSENT = "00000000-0000-7000-8000-000000000000";

beforeAll(async () => {
  web = await testConsole({ PARKADE_CLIENT_REQUESTS: "0" });
  await addSource(web.deps.db, "orders");
  const arrivals = ["a", "b", "c"].map((eventId) => ({
    source: "orders",
    letter: deadLetter({ eventId, aggregateId: eventId, eventType: "t", errorCode: "CODE", tags: { note: eventId } }),
  }));
  await parkEvents(web.deps, arrivals, localViewer("ada"));
  document = (await openapiDocument(ROUTES)) as Document;
  cases = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...{ at: `${method.toUpperCase()} ${path}`, method: method.toUpperCase() },
      ...{ path, operation },
    })),
  );
});
afterAll(() => web.close());

type Asked = { params?: Record<string, string>; query?: string; body?: unknown };
type Answer = { status: number; items: unknown[] | null; ms: number };

async function ask({ path, method }: Case, { params = {}, query = "", body }: Asked): Promise<Answer> {
  const handlers = (await ROUTES[path]!()) as unknown as Record<string, Parameters<TestConsole["call"]>[0]>;
  const places = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name!, ABSENT] as const);
  const begun = performance.now();
  const answer = await web.call<{ items?: unknown[] } | null>(handlers[method]!, {
    ...{ method, params: { ...Object.fromEntries(places), ...params }, query },
    ...(body === undefined ? {} : { body }),
  });
  return { status: answer.status, items: answer.body?.items ?? null, ms: performance.now() - begun };
}

/** Whose rows after such a text are no mistake. */
const AFTER_A_TEXT = new Set(["GET /api/v1/sources cursor"]);

/** Names and sizes of what an injection could make, empty or fill. */
async function store(): Promise<unknown> {
  const rows = (text: string) => web.deps.db.query<Record<string, unknown>>(text);
  return {
    tables: await rows(
      "select relname from pg_class where relkind in ('r', 'p', 'v') and relnamespace = 'public'::regnamespace and not relispartition order by 1",
    ),
    // Roles are those of the whole server, where tests beside this one make some.
    roles: await rows("select rolname from pg_roles where rolname = 'intruder'"),
    functions: await rows("select count(*) from pg_proc where pronamespace = 'public'::regnamespace"),
    events: await rows("select event_id, status, source_id from dlq_events order by 1"),
    sources: await rows("select name from sources where name = 'orders'"),
  };
}

/** What an answer to such a text must not be; null = it is as it should be. */
function fault({ status, items, ms }: Answer, what: string): string | null {
  if (status >= 500 && status !== 503) return `${what}: ${status}`;
  if (status === 200 && items !== null && items.length > 0) return `${what}: ${items.length} items`;
  return ms > 20_000 ? `${what}: took ${Math.round(ms)} ms` : null;
}

test("no text in a filter or another parameter of a query is SQL: no error of the server, and no row", async () => {
  const before = await store();
  const faults: string[] = [];
  let asked = 0;
  for (const one of cases.filter(({ operation }) => !CONNECTING.test(operation.operationId)))
    for (const { name } of (one.operation.parameters ?? []).filter((parameter) => parameter.in === "query"))
      for (const text of INJECTIONS) {
        asked += 1;
        const query = `?${new URLSearchParams({ [name]: text })}`;
        const answer = await ask(one, { query });
        // A cursor of sources is a name, and what follows it in the order of names is the next page.
        if (AFTER_A_TEXT.has(`${one.at} ${name}`)) answer.items = null;
        // No event has such a text: whoever excludes it leaves nothing out.
        if (name.startsWith("not.") && answer.items !== null) {
          const all = (await ask(one, {})).items!.length;
          if (answer.items.length !== all)
            faults.push(`${one.at} ${name}=${text}: ${answer.items.length} of ${all} items`);
          answer.items = null;
        }
        const found = fault(answer, `${one.at} ${name}=${text}`);
        if (found !== null) faults.push(found);
      }
  expect(faults).toEqual([]);
  expect(asked).toBeGreaterThan(600);
  expect(await store()).toEqual(before);
});

test("no text in a path is SQL", async () => {
  const before = await store();
  const faults: string[] = [];
  let asked = 0;
  for (const one of cases.filter(({ operation }) => !CONNECTING.test(operation.operationId)))
    for (const [, name] of one.path.matchAll(/\{(\w+)\}/g))
      for (const text of INJECTIONS) {
        asked += 1;
        // Without a body a change is refused, and a read or a deletion asks the store.
        const found = fault(await ask(one, { params: { [name!]: text } }), `${one.at} {${name}}=${text}`);
        if (found !== null) faults.push(found);
      }
  expect(faults).toEqual([]);
  expect(asked).toBeGreaterThan(300);
  expect(await store()).toEqual(before);
});

/** The value with the text in place of one string of it, for each string. */
function withText(value: unknown, text: string): unknown[] {
  if (typeof value === "string") return [text];
  if (Array.isArray(value))
    return value.flatMap((entry, at) => withText(entry, text).map((next) => value.with(at, next)));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, entry]) =>
    withText(entry, text).map((next) => ({ ...value, [key]: next })),
  );
}

function exampleOf({ requestBody }: Operation): unknown {
  const schema = requestBody?.content["application/json"]?.schema;
  const named = schema?.$ref === undefined ? schema : document.components.schemas[schema.$ref.split("/").at(-1)!];
  return named?.examples?.[0];
}

test("no text in the body of a request is SQL", async () => {
  const { tables, roles, functions } = (await store()) as Record<string, unknown>;
  const faults: string[] = [];
  let asked = 0;
  for (const one of cases.filter(({ operation }) => !CONNECTING.test(operation.operationId))) {
    const example = exampleOf(one.operation);
    if (example === undefined) continue;
    for (const text of [`'; drop table sources cascade; --`, `\\`])
      for (const body of withText(example, text)) {
        asked += 1;
        const found = fault({ ...(await ask(one, { body })), items: null }, `${one.at} ${JSON.stringify(body)}`);
        if (found !== null) faults.push(found);
      }
  }
  expect(faults).toEqual([]);
  expect(asked).toBeGreaterThan(250);
  expect(await store()).toMatchObject({ tables, roles, functions, sources: [{ name: "orders" }] });
});
