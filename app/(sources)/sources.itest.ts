import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as detail from "@/app/(events)/api/v1/events/[id]/route";
import type { EventDetail } from "@/lib/events/events.shapes";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import type { SourceOut } from "@/lib/sources/sources.shapes";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { deadLetter } from "@/lib/testing/letters";
import * as retried from "./api/v1/sources/[name]/retry/route";
import * as source from "./api/v1/sources/[name]/route";
import * as targets from "./api/v1/sources/[name]/targets/route";
import * as sources from "./api/v1/sources/route";

let console: TestConsole;
beforeEach(async () => {
  console = await testConsole();
});
afterEach(() => console.close());

const orders = {
  name: "orders",
  kind: "http",
  config: { redriveUrl: "http://user:hunter2@127.0.0.1:9/sink", headers: { "x-key": "s3cret" } },
};
const create = (body: unknown) =>
  console.call<SourceOut & { code: string }>(sources.POST, { body, headers: { "x-actor": "ada" } });
const audit = () =>
  console.deps.db.query<Record<string, unknown>>(
    "select actor, action, subject_id, before, after from audit_entries order by id",
  );

test("creates a source with a target for each lane, audited, and never tells a secret again", async () => {
  const answer = await create(orders);
  expect(answer.status).toBe(201);
  expect(answer.body).toMatchObject({ name: "orders", kind: "http", enabled: true, payloadSchema: null, parked: 0 });
  const targets = await console.deps.db.query("select name, lane, rate_per_second from targets order by lane");
  expect(targets).toEqual([
    { name: "orders", lane: "main", rate_per_second: 50 },
    { name: "orders.slow", lane: "slow", rate_per_second: 5 },
  ]);
  const list = await console.call(sources.GET);
  const entries = await audit();
  expect(entries).toMatchObject([{ actor: "ada", action: "source.created", subject_id: "orders", before: null }]);
  for (const text of [answer.text, list.text, JSON.stringify(entries)]) {
    expect(text).not.toContain("hunter2");
    expect(text).not.toContain("s3cret");
  }
});

test("a new source and a new target repeat nothing that may have arrived unless the request says so", async () => {
  const made = await console.call(sources.POST, { body: orders });
  expect(made).toMatchObject({ status: 201, body: { retryable: false } });
  const said = { ...orders, name: "billing", retryable: true };
  expect(await console.call(sources.POST, { body: said })).toMatchObject({ status: 201, body: { retryable: true } });
  const further = { name: "orders.audit", destination: { redriveUrl: "http://127.0.0.1:9/audit" }, reason: "a day" };
  const added = await console.call(targets.POST, { params: { name: "orders" }, body: further });
  expect(added).toMatchObject({ status: 201, body: { retryable: false } });
});

test("answers what it made when its answer was lost after the commit, and says since when the name is taken", async () => {
  const send = (body: unknown, key: string | null, actor = "ada") =>
    console.call<SourceOut & { code: string; detail: string }>(sources.POST, {
      body,
      headers: { "x-actor": actor, ...(key === null ? {} : { "idempotency-key": key }) },
    });
  const schema = { type: "object" };
  // The read after the commit fails.
  await console.deps.db.run("alter table dlq_level_sums rename to away");
  expect((await send({ ...orders, payloadSchema: schema }, "one")).status).toBe(500);
  await console.deps.db.run("alter table away rename to dlq_level_sums");
  expect(await send({ ...orders, payloadSchema: schema }, "one")).toMatchObject({
    status: 201,
    body: { name: "orders" },
  });
  expect(await audit()).toHaveLength(1);
  const [made] = await console.deps.db.query<{ at: number }>("select created_at as at from sources");
  for (const refused of [
    await send({ ...orders, payloadSchema: schema }, null),
    await send({ ...orders, payloadSchema: schema }, "two", "bob"),
    await send(orders, "three"),
    await send({ ...orders, payloadSchema: schema, config: { redriveUrl: "http://127.0.0.1:9/other" } }, "four"),
  ]) {
    expect(refused).toMatchObject({ status: 409, body: { code: "name-taken" } });
    expect(refused.body.detail).toContain(`a source named orders since ${new Date(made!.at).toISOString()}`);
  }
});

// Each way to save an address: app/outgoing.itest.ts.
test("an IP address that nobody may reach is refused in a source of each kind, before it is stored", async () => {
  const METADATA = "169.254.169.254";
  const stored = { name: "stored", kind: "http", config: {} };
  expect((await create(stored)).status).toBe(201);
  for (const [kind, field, config] of [
    ["http", "config.redriveUrl", { redriveUrl: `http://${METADATA}/in` }],
    ["http", "config.checkCall.url", { redriveUrl: "http://127.0.0.1:9/", checkCall: { url: `http://${METADATA}/` } }],
    ["rabbitmq", "config.url", { url: `amqp://${METADATA}`, queue: "q" }],
    ["kafka", "config.bootstrap.1", { bootstrap: ["kafka.example:9092", `${METADATA}:9092`], topics: ["t"] }],
    ["outbox", "config.url", { url: `postgres://u:p@db.example/db?host=${METADATA}` }],
    ["sidekiq", "config.url", { url: `redis://:p@${METADATA}:6379/1` }],
  ] as const)
    expect(await create({ name: "away", kind, config }), kind).toMatchObject({
      status: 422,
      body: {
        code: "invalid-config",
        errors: [{ field, detail: expect.stringContaining(`${METADATA} is an address that`) }],
      },
    });
  expect(await console.deps.db.query("select name from sources")).toEqual([{ name: "stored" }]);
});

test("changes what is sent and keeps what came back masked", async () => {
  const { body } = await create(orders);
  const change = { config: { ...body.config, slowLaneUrl: "http://127.0.0.1:9/slow" }, enabled: false };
  const changed = await console.call<SourceOut>(source.PATCH, {
    method: "PATCH",
    params: { name: "orders" },
    body: change,
  });
  expect(changed.body).toMatchObject({ enabled: false, config: { slowLaneUrl: "http://127.0.0.1:9/slow" } });
  const [row] = await console.deps.db.query<{ config: unknown }>("select config from sources");
  expect(row!.config).toMatchObject({ redriveUrl: orders.config.redriveUrl, headers: { "x-key": "s3cret" } });
  expect((await audit()).at(-1)).toMatchObject({
    action: "source.changed",
    before: { mode: "running" },
    after: { mode: "stopped" },
  });
});

describe("the mode of a source that is read", () => {
  const queue = { name: "orders", kind: "rabbitmq", config: { url: "amqp://127.0.0.1:9", queue: "orders.dlq" } };
  const patch = (body: unknown) =>
    console.call<SourceOut & { code: string }>(source.PATCH, {
      method: "PATCH",
      params: { name: "orders" },
      body,
      headers: { "x-actor": "ada" },
    });

  test("is changed with its reason and its author, without a new connection", async () => {
    const { body: before } = await create(queue);
    const { body } = await patch({ mode: "draining", reason: "moves to another broker" });
    expect(body).toMatchObject({
      mode: "draining",
      enabled: true,
      modeBy: "ada",
      modeReason: "moves to another broker",
      updatedAt: before.updatedAt,
    });
    expect((await audit()).at(-1)).toMatchObject({ before: { mode: "running" }, after: { mode: "draining" } });
  });

  test("follows a switch of the source, and a mode beside it goes before", async () => {
    await create(queue);
    for (const [mode, change, after] of [
      ["stopped", { enabled: true }, "running"],
      ["paused", { enabled: true }, "paused"],
      ["draining", { enabled: true }, "draining"],
      ["paused", { enabled: false }, "stopped"],
      ["running", { enabled: false, mode: "paused" }, "paused"],
    ] as const) {
      await patch({ mode });
      expect((await patch(change)).body, mode).toMatchObject({ mode: after, enabled: after !== "stopped" });
    }
  });

  test("a source that is not read cannot be paused", async () => {
    await create(orders);
    expect((await patch({ mode: "paused" })).body).toMatchObject({ code: "invalid-config" });
    expect((await create({ ...orders, name: "other", mode: "draining" })).body).toMatchObject({
      code: "invalid-config",
    });
  });

  test("a wish for an attempt is audited", async () => {
    await create(queue);
    const retry = (name: string) => console.call(retried.POST, { method: "POST", params: { name } });
    expect([(await retry("orders")).status, (await retry("nobody")).status]).toEqual([204, 404]);
    expect((await audit()).at(-1)).toMatchObject({ action: "source.retried", subject_id: "orders" });
  });
});

test("refuses a name that is taken, or that no URL holds, a kind that is not there, and a config of another kind", async () => {
  await create(orders);
  for (const [body, code] of [
    [orders, "name-taken"],
    [{ ...orders, name: "a b" }, "invalid-request"],
    [{ ...orders, name: "x", kind: "carrier-pigeon" }, "invalid-config"],
    [{ ...orders, name: "x", config: { queue: "q" } }, "invalid-config"],
    [{ kind: "http" }, "invalid-request"],
  ] as const)
    expect((await create(body)).body).toMatchObject({ code });
});

describe("links to logs and traces", () => {
  const links = [
    { label: "Trace", kind: "traces", url: "https://jaeger.example/trace/{traceId}" },
    { label: "Logs", kind: "logs", url: "https://logs.example/?q={aggregateId}&from={fromMs}&to={toMs}" },
  ];
  const patch = (body: object) =>
    console.call<SourceOut & { code: string; errors: object[] }>(source.PATCH, {
      method: "PATCH",
      params: { name: "orders" },
      body,
    });

  test("are stored with the source and its audit, and stand at each event of it", async () => {
    expect((await create({ ...orders, links: [links[0]] })).body.links).toEqual([links[0]]);
    expect((await patch({ links })).body.links).toEqual(links);
    expect((await patch({ knownDays: 30 })).body.links).toEqual(links);
    const changed = (await audit()).find(({ action }) => action === "source.changed");
    expect(changed).toMatchObject({ before: { links: [links[0]] }, after: { links } });
    const letter = deadLetter({ aggregateId: null, version: null, failedAtMs: Date.parse("2026-11-19T10:00:00.250Z") });
    await parkEvents(console.deps, [{ source: "orders", letter }], localViewer("tester"));
    const [event] = await console.deps.db.query<{ id: string }>("select id from dlq_events");
    const read = () => console.call<EventDetail>(detail.GET, { params: { id: event!.id } });
    expect((await read()).body.links).toEqual([
      { ...links[0], url: "https://jaeger.example/trace/0af7651916cd43dd8448eb211c80319c", lacks: null },
      { ...links[1], url: null, lacks: "no aggregate id" },
    ]);
    expect((await patch({ links: [] })).body.links).toEqual([]);
    expect((await read()).body.links).toEqual([]);
  });

  // What makes one wrong: source-links.test.ts.
  test("with a script, a password or another fault are refused at their field, by both ways to set them", async () => {
    await create(orders);
    for (const [url, detail] of [
      ["javascript:alert(1)", /http:\/\/ or https:\/\//],
      ["https://ada:hunter2@x.example/", /user or password/],
    ] as const) {
      const wrong = { links: [links[0], { label: "Logs", kind: "logs", url }] };
      const refusal = { status: 422, body: { code: "invalid-config", errors: [{ field: "links[1].url" }] } };
      for (const answer of [await patch(wrong), await create({ ...orders, name: "other", ...wrong })]) {
        expect(answer).toMatchObject(refusal);
        expect(answer.text).toMatch(detail);
        expect(answer.text).not.toContain("hunter2");
      }
    }
    const errors = [{ field: "links[1].label", detail: "is used by another link of this source" }];
    expect(await patch({ links: [links[0], links[0]] })).toMatchObject({ status: 422, body: { errors } });
    for (const [wrong, field] of [
      [Array.from({ length: 11 }, (_, n) => ({ ...links[0], label: `${n}` })), "links"],
      [[{ ...links[0], url: `https://x.example/${"a".repeat(2_031)}` }], "links[0].url"],
      [[{ ...links[0], label: "" }], "links[0].label"],
      [[{ ...links[0], kind: "metrics" }], "links[0].kind"],
    ] as const)
      expect(await patch({ links: wrong })).toMatchObject({
        status: 400,
        body: { code: "invalid-request", errors: [{ field }] },
      });
  });
});

test("deletes a source only when no event refers to it", async () => {
  await create(orders);
  const remove = () => console.call<{ code: string }>(source.DELETE, { method: "DELETE", params: { name: "orders" } });
  await parkEvents(console.deps, [{ source: "orders", letter: deadLetter() }], localViewer("tester"));
  expect((await remove()).body.code).toBe("source-in-use");
  await console.deps.db.run("truncate dlq_events, dlq_event_bodies, event_keys, dlq_group_levels");
  expect((await remove()).status).toBe(204);
  expect(await console.deps.db.query("select * from targets")).toEqual([]);
  expect((await audit()).at(-1)).toMatchObject({ action: "source.deleted", subject_id: "orders", after: null });
  expect((await remove()).body.code).toBe("unknown-source");
});

test("pages by name", async () => {
  for (const name of ["c", "a", "b"]) await create({ ...orders, name });
  type Page = { items: SourceOut[]; nextCursor: string | null };
  const first = await console.call<Page>(sources.GET, { query: "?limit=2" });
  expect(first.body.items.map((item) => item.name)).toEqual(["a", "b"]);
  const second = await console.call<Page>(sources.GET, { query: `?limit=2&cursor=${first.body.nextCursor}` });
  expect(second.body).toMatchObject({ items: [{ name: "c" }], nextCursor: null });
});
