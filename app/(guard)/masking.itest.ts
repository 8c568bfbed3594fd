import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Deps, setDeps } from "@/app/_server/deps";
import { ROUTES } from "@/app/routes";
import type { EventDetail } from "@/lib/events/events.shapes";
import { REDACTED } from "@/lib/guard/redaction/redact.pure";
import { localViewer, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { readEvidence } from "@/lib/observe/alerts/evidence.read";
import { createLog } from "@/lib/platform/log";
import { type CallOptions, type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource, deadLetter } from "@/lib/testing/letters";

/** Personal data and credentials that are easy to find, in every part of an event. */
const CANARIES = {
  email: "ada.canary@example.com",
  card: "4111 1111 1111 1111",
  iban: "DE89370400440532013000",
  token: "pk_canary0canary0canary0",
  password: "hunter-canary",
  /** By rules alone. */
  nickname: "canarella",
  name: "Lovelace-Canary",
};
const ADMIN = localViewer("ada");
const OTHER: Viewer = { name: "eve", means: "session", sources: ["billing"], actions: "all" };
const NO_REVEAL: Viewer = { ...ADMIN, actions: ["view", "export", "edit", "change-masks"] };

let web: TestConsole;
let id: string;
const lines: string[] = [];

async function ask<Body = Record<string, unknown>>(viewer: Viewer, route: string, options: CallOptions = {}) {
  setDeps({ ...web.deps, identify: () => viewer } satisfies Deps);
  const [method, path] = route.split(" ") as [string, string];
  type Handlers = Record<string, Parameters<TestConsole["call"]>[0]>;
  const handlers = (await (ROUTES as unknown as Record<string, () => Promise<Handlers>>)[path]!()) as Handlers;
  return web.call<Body>(handlers[method]!, { ...options, method });
}

const MASKS = "/api/v1/mask-rules";
const REVEAL = "POST /api/v1/events/{id}/reveal";
const detail = async () => (await ask<EventDetail>(ADMIN, "GET /api/v1/events/{id}", { params: { id } })).body;
const add = (body: object) => ask<{ id: string }>(ADMIN, `POST ${MASKS}`, { body });
const entries = () => web.deps.db.query("select action, reason from audit_entries order by id desc limit 3");

const all = Object.values(CANARIES).join(", ");
const payload = {
  customer: { name: CANARIES.name, email: CANARIES.email, nickname: CANARIES.nickname },
  card: CANARIES.card,
  list: [{ password: CANARIES.password }, `${CANARIES.token} ${CANARIES.iban}`],
  inner: JSON.stringify({ to: CANARIES.email, nickname: CANARIES.nickname }),
  amount: 12.5,
};

beforeAll(async () => {
  web = await testConsole();
  const destination = { write: (line: string) => void lines.push(line) };
  web.deps.log = createLog({ process: "test", level: "trace", destination });
  await addSource(web.deps.db, "orders");
  await addSource(web.deps.db, "billing");
  expect((await add({ kind: "key", pattern: "*nickname" })).status).toBe(201);
  expect((await add({ kind: "pointer", pattern: "/customer/name", source: "orders" })).status).toBe(201);
  const said = `no ${CANARIES.email} ${CANARIES.card} ${CANARIES.iban} ${CANARIES.token} password=${CANARIES.password} nickname=${CANARIES.nickname} name: "${CANARIES.name}"`;
  const letter = deadLetter({
    error: { type: "E", message: said, stack: `E: ${said}\n at a.b (c.ts:1)` },
    payload: Buffer.from(JSON.stringify(payload)),
    headers: [
      ["x-nickname", CANARIES.nickname],
      ["x-to", CANARIES.email],
      ["authorization", CANARIES.password],
      ["x-plain", "seen"],
    ],
    tags: { to: CANARIES.email, nickname: CANARIES.nickname, orderId: "77" },
    origin: { queue: "q", properties: { nickname: CANARIES.nickname, note: `for ${CANARIES.email}` } } as never,
  });
  await parkEvents(web.deps, [{ source: "orders", letter }], ADMIN);
  id = (await web.deps.db.query<{ id: string }>("select id from dlq_events"))[0]!.id;
});
afterAll(() => web.close());

/** Every GET except the API document, which contains no stored data and takes seconds. */
async function everyGet(): Promise<string[]> {
  const found: string[] = [];
  for (const [path, load] of Object.entries(ROUTES)) {
    if (!path.endsWith("openapi.json") && "GET" in (await load())) found.push(path);
  }
  return found;
}

/** In the forms in which an answer may hold them. */
const leaks = (text: string) =>
  Object.entries(CANARIES).flatMap(([what, canary]) =>
    [canary, encodeURIComponent(canary), Buffer.from(canary).toString("base64").slice(0, -4)].some((form) =>
      text.includes(form),
    )
      ? [what]
      : [],
  );

test("no answer to any GET shows personal data, whoever asks, nor does a preview, an alert or the log", async () => {
  const { fingerprint } = await detail();
  const edit = { base: 1, contentType: "text/plain", reason: "as text" };
  const revise = (viewer: Viewer) => ask(viewer, "POST /api/v1/events/{id}/revisions", { params: { id }, body: edit });
  expect(await revise(NO_REVEAL)).toMatchObject({ status: 403, body: { code: "forbidden" } });
  expect((await revise(ADMIN)).status).toBe(201);
  const values: Record<string, string> = { id, name: "orders", fingerprint, revision: "2" };
  const queries: Record<string, string> = {
    "/api/v1/events/{id}/revisions/compare": "?from=1&to=2",
    "/api/v1/events/export": "?format=csv",
    "/api/v1/stats/top-errors": "?from=-1h",
    "/api/v1/stats/differences": "?against=day",
  };
  let answered = 0;
  for (const path of await everyGet()) {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
    const params = Object.fromEntries(names.map((name) => [name, values[name]!]));
    for (const viewer of /events|groups|stats/.test(path) ? [ADMIN, NO_REVEAL] : [ADMIN]) {
      const answer = await ask(viewer, `GET ${path}`, { params, query: queries[path] ?? "" });
      expect(leaks(answer.text + JSON.stringify([...answer.headers])), path).toEqual([]);
      if (answer.status === 200) answered++;
    }
  }
  expect(answered).toBeGreaterThan(60);
  const select = { ids: [id] };
  const recipes = [
    { kind: "form", steps: [{ op: "copy", from: "/customer", to: "/open" }] },
    { kind: "form", steps: [{ op: "move", from: "/customer/name", to: "/open" }] },
    { kind: "json-patch", patch: [{ op: "copy", from: "/list/0/password", path: "/open" }] },
  ];
  const asked: [string, object][] = [
    ...recipes.map((recipe): [string, object] => ["POST /api/v1/events/mend/preview", { select, recipe }]),
    ["POST /api/v1/redrives/preview", { select }],
    [`POST ${MASKS}/trial`, { eventId: id }],
    [`POST ${MASKS}/trial`, { eventId: id, rule: { kind: "detector", pattern: "email", enabled: false } }],
    ["POST /api/v1/admission-rules/try", { rule: { source: "orders", when: [], do: { park: "early" } } }],
    [
      "POST /api/v1/alert-rules/try",
      { watch: { kind: "new-group", atLeast: 1, quietMs: 86_400_000, sources: ["orders"] } },
    ],
  ];
  for (const [route, body] of asked) {
    const { status, text } = await ask(ADMIN, route, { body });
    expect([route, status, text]).toEqual([route, 200, text]);
    expect(leaks(text), JSON.stringify(body)).toEqual([]);
    expect(text).not.toMatch(/LOVELACE/);
  }
  const evidence = JSON.stringify(
    await readEvidence(web.deps.db, { source: "orders", errorCode: null, fingerprint: null }),
  );
  expect(evidence).toContain(REDACTED);
  expect(leaks(evidence)).toEqual([]);
  expect(lines.length).toBeGreaterThan(60);
  expect(leaks(lines.join("\n"))).toEqual([]);
  // The revision has the bytes that arrived: a content type unmasks nothing.
  const stored = await web.deps.db.query("select convert_from(payload, 'utf8') as text from event_revisions");
  expect(stored).toEqual([{ text: JSON.stringify(payload) }]);
});

describe("a reveal", () => {
  test("shows the event and two revisions whole, with one entry that says why", async () => {
    const body = { reason: "she asked what we hold", revisions: [1, 2] };
    const answer = await ask(ADMIN, REVEAL, { params: { id }, body });
    expect(answer.status, answer.text).toBe(200);
    expect(leaks(answer.text)).toEqual(Object.keys(CANARIES));
    expect(answer.body).toMatchObject({
      event: { tags: { nickname: CANARIES.nickname }, body: { masked: false, maskedCount: 0 } },
      revisions: [{ revision: 1 }, { revision: 2 }],
    });
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect((await entries())[0]).toEqual({ action: "event.revealed", reason: body.reason });
    const { history } = await detail();
    expect(history.at(-1)).toMatchObject({ actor: "ada", reason: body.reason });
  });

  test("of a payload needs a reason as well, in the query or a header", async () => {
    const route = "GET /api/v1/events/{id}/payload";
    const [first] = await entries();
    expect(await ask(ADMIN, route, { params: { id } })).toMatchObject({
      status: 422,
      body: { code: "reason-required" },
    });
    expect((await entries())[0]).toEqual(first);
    for (const options of [{ query: "?reason=to+try+it" }, { headers: { "x-reason": "to try it" } }]) {
      expect((await ask(ADMIN, route, { params: { id }, ...options })).text).toBe(JSON.stringify(payload));
      expect((await entries())[0]).toEqual({ action: "event.revealed", reason: "to try it" });
    }
  });

  test("is refused without the right, is unknown of another source, and shows nothing that is not on record", async () => {
    const [first] = await entries();
    const body = { reason: "curious" };
    const asked = (viewer: Viewer) => ask(viewer, REVEAL, { params: { id }, body });
    expect(await asked(NO_REVEAL)).toMatchObject({ status: 403, body: { code: "forbidden" } });
    expect(await asked(OTHER)).toMatchObject({ status: 404, body: { code: "unknown-event" } });
    expect((await ask(ADMIN, REVEAL, { params: { id }, body: { reason: " " } })).status).toBe(400);
    await web.deps.db.run("alter table audit_entries add constraint shut check (action <> 'event.revealed') not valid");
    try {
      for (const answer of [
        await asked(ADMIN),
        await ask(ADMIN, "GET /api/v1/events/{id}/payload", { params: { id }, query: "?reason=no" }),
      ]) {
        expect(answer.status).toBe(500);
        expect(leaks(answer.text)).toEqual([]);
      }
    } finally {
      await web.deps.db.run("alter table audit_entries drop constraint shut");
    }
    expect((await entries())[0]).toEqual(first);
  });
});

test("rules are added, changed and removed with an entry each, and count from the next read on", async () => {
  const rule = { kind: "key", pattern: "amount", source: "orders" };
  const added = await add(rule);
  expect(added.status, added.text).toBe(201);
  expect((await detail()).body.text).toContain(`"amount":"${REDACTED}"`);
  expect(await add(rule)).toMatchObject({ status: 409, body: { code: "name-taken" } });
  expect(await add({ ...rule, source: "ordres" })).toMatchObject({ status: 404, body: { code: "unknown-source" } });
  for (const [kind, pattern] of [
    ["pointer", "a"],
    ["key", "**"],
    ["detector", "mail"],
  ])
    expect(await add({ kind, pattern })).toMatchObject({ status: 422, body: { code: "invalid-mask-rule" } });
  const params = { id: added.body.id };
  const route = `${MASKS}/{id}`;
  expect((await ask(ADMIN, `PATCH ${route}`, { params, body: { enabled: false } })).body).toMatchObject({
    enabled: false,
  });
  expect((await detail()).body.text).toContain('"amount":12.5');
  // Again, and nothing changes.
  await ask(ADMIN, `PATCH ${route}`, { params, body: { enabled: false } });
  expect((await ask(OTHER, `DELETE ${route}`, { params })).status).toBe(404);
  expect((await ask(ADMIN, `DELETE ${route}`, { params })).status).toBe(204);
  expect((await ask(ADMIN, `DELETE ${route}`, { params })).status).toBe(404);
  expect((await entries()).map(({ action }) => action)).toEqual([
    "mask-rule.removed",
    "mask-rule.changed",
    "mask-rule.added",
  ]);
  // A detector that is off for one source finds nothing there.
  const off = await add({ kind: "detector", pattern: "iban", source: "orders", enabled: false });
  expect((await detail()).body.text).toContain(CANARIES.iban);
  await ask(ADMIN, `DELETE ${route}`, { params: { id: off.body.id } });
  expect((await detail()).body.text).not.toContain(CANARIES.iban);
});

test("a trial says which rule masks what, in a sample and with a rule that is not stored", async () => {
  const body = {
    text: JSON.stringify({ zip: 8000, to: CANARIES.email }),
    source: "orders",
    rule: { kind: "key", pattern: "z*" },
  };
  const { body: tried } = await ask(NO_REVEAL, `POST ${MASKS}/trial`, { body });
  expect(tried).toMatchObject({
    text: `{"zip":"${REDACTED}","to":"${REDACTED}"}`,
    count: 2,
    places: [
      { at: "/zip", by: "key z*" },
      { at: "/to", by: "email" },
    ],
  });
  expect((await ask(OTHER, `POST ${MASKS}/trial`, { body: { eventId: id } })).status).toBe(404);
  expect((await ask(ADMIN, `POST ${MASKS}/trial`, { body: {} })).status).toBe(400);
});

test("a search is no way around: a viewer who may not reveal finds nothing that is masked", async () => {
  expect(all).toContain(CANARIES.card);
  const masked = [`?tag.to=${encodeURIComponent(CANARIES.email)}`, `?tag.nickname=${CANARIES.nickname}`];
  masked.push(...masked.map((query) => query.replace("tag.", "not.tag.")));
  for (const route of ["GET /api/v1/events", "GET /api/v1/events/count", "GET /api/v1/groups"]) {
    for (const query of masked) expect((await ask(NO_REVEAL, route, { query })).status, `${route}${query}`).toBe(403);
    expect((await ask(NO_REVEAL, route, { query: "?tag.orderId=77" })).status, route).toBe(200);
  }
  type Found = { items: { fingerprint: string }[] };
  const foundBy = async (caller: typeof ADMIN, q: string) => {
    const query = `?${new URLSearchParams({ q })}`;
    const { items } = (await ask<Found>(caller, "GET /api/v1/events", { query })).body;
    const groups = (await ask<Found>(caller, "GET /api/v1/groups", { query })).body.items;
    const { total } = (await ask<{ total: { value: number } }>(caller, "GET /api/v1/events/count", { query })).body;
    expect([groups.length > 0, total.value]).toEqual([items.length > 0, items.length]);
    return items.length;
  };
  const message = "login failed, password=wombatzylophon was wrong";
  const letter = deadLetter({ eventId: "spelt", errorCode: "SPELT", error: { type: null, message, stack: null } });
  await parkEvents(web.deps, [{ source: "orders", letter }], ADMIN);
  for (const secret of ["4111", CANARIES.email, "wombat", "password=w", "zylophon was"]) {
    expect(await foundBy(NO_REVEAL, secret), secret).toBe(0);
    expect(await foundBy(ADMIN, secret), secret).toBeGreaterThan(0);
  }
  for (const shown of ["SPELT", "login failed, password=•••••• was wrong"]) {
    expect(await foundBy(NO_REVEAL, shown), shown).toBe(1);
    expect(await foundBy(ADMIN, shown), shown).toBe(1);
  }
});

describe("a trial is no way around", () => {
  const tries = (viewer: Viewer) => ({
    body: (prefix: string) => admission(viewer, { field: "body", pointer: "/list/0/password", startsWith: prefix }),
    header: (prefix: string) => admission(viewer, { field: "header", name: "authorization", startsWith: prefix }),
    "error message": (part: string) => admission(viewer, { field: "errorMessage", contains: `password=${part}` }),
    schema: async (prefix: string) => {
      const schema = { properties: { card: { pattern: `^${prefix === "hunt" ? "4111" : "5"}` } } };
      const options = { params: { name: "orders" }, body: { schema } };
      const route = "POST /api/v1/sources/{name}/schemas/try";
      const { status, body } = await ask<{ parked: Record<string, number> }>(viewer, route, options);
      const { failed, passed, undecided } = body.parked;
      return { status, failed, passed, undecided };
    },
  });
  async function admission(viewer: Viewer, condition: Record<string, string>) {
    const { field, name, pointer, ...test } = condition;
    const [is, value] = Object.entries(test)[0]!;
    const when = [{ field, ...(name && { name }), ...(pointer && { pointer }), is, value }];
    const body = { rule: { source: "orders", when, do: { park: "early" } } };
    const tried = await ask<{ matched: number }>(viewer, "POST /api/v1/admission-rules/try", { body });
    return { status: tried.status, matched: tried.body.matched };
  }
  const onRecord = async () =>
    (await web.deps.db.query("select 1 from audit_entries where action = 'source.tried-masked'")).length;

  test.each(["body", "header", "error message", "schema"] as const)(
    "of a %s: who may not reveal learns nothing, and of others the audit has each text once an hour",
    async (what) => {
      const blind = tries({ ...ADMIN, actions: ["view", "change-source", "change-admission"] })[what];
      const right = await blind("hunt");
      expect(right.status).toBe(200);
      expect(await blind("x")).toEqual(right);
      const before = await onRecord();
      const sighted = tries(ADMIN)[what];
      expect(await sighted("hunt")).not.toEqual(await sighted("x"));
      await sighted("hunt");
      expect(await onRecord()).toBe(before + 2);
    },
  );

  test("of a mend that matches a part of a value is on record, and of one that matches none is not", async () => {
    const preview = (when: object) =>
      ask<{ items: { outcome: string }[] }>(ADMIN, "POST /api/v1/events/mend/preview", {
        body: { select: { ids: [id] }, recipe: { kind: "form", steps: [{ op: "set", at: "/x", value: 1, when }] } },
      });
    const before = await onRecord();
    expect((await preview({ at: "/card", exists: true })).body.items).toMatchObject([{ outcome: "changed" }]);
    expect(await onRecord()).toBe(before);
    expect((await preview({ at: "/card", matches: "4*" })).body.items).toMatchObject([{ outcome: "changed" }]);
    expect((await preview({ at: "/card", matches: "5*" })).body.items).toMatchObject([{ outcome: "unchanged" }]);
    expect(await onRecord()).toBe(before + 2);
  });

  test("nor is the preview of a forget", async () => {
    const clerk: Viewer = { ...ADMIN, actions: ["view", "forget"] };
    const preview = (viewer: Viewer, key: object) =>
      ask(viewer, "POST /api/v1/forget/preview", { body: { key, source: "orders" } });
    const masked = [
      { tag: { name: "to", value: CANARIES.email } },
      { tag: { name: "nickname", value: "guess" } },
      { payload: { pointer: "/list/0/password", value: "guess" } },
      { payload: { pointer: "/customer/name", value: "guess" } },
      { payload: { pointer: "/card", value: CANARIES.card } },
    ];
    for (const key of masked) {
      expect([key, (await preview(clerk, key)).status]).toEqual([key, 403]);
      expect([key, (await preview(ADMIN, key)).status]).toEqual([key, 200]);
    }
    expect((await preview(clerk, { tag: { name: "orderId", value: "77" } })).status).toBe(200);
  });

  test("nor is a redrive rule: who may not reveal stores none whose tags are masked", async () => {
    const author: Viewer = { ...ADMIN, actions: ["view", "change-redrive-rule", "redrive"] };
    const store = (viewer: Viewer, tags: Record<string, string[]>) =>
      ask(viewer, "POST /api/v1/redrive-rules", {
        body: { name: "guess", filter: { source: ["orders"], tags }, delayMs: 1_800_000, reason: "tested" },
      });
    const masked = { to: [CANARIES.email] };
    expect(await store(author, masked)).toMatchObject({ status: 403, body: { code: "forbidden" } });
    expect((await store(author, { orderId: ["77"] })).status).toBe(201);
    expect((await ask(ADMIN, "GET /api/v1/redrive-rules")).text).not.toContain(CANARIES.email);
  });
});

// Last: it keeps the event in redrives.
test("what somebody typed who may reveal is masked for others, wherever it is answered", async () => {
  const filter = {
    source: ["orders"],
    q: `no ${CANARIES.card}`,
    tags: { to: [CANARIES.email], nickname: [CANARIES.nickname] },
    "not.tags": { nickname: [`${CANARIES.nickname}-2`] },
  };
  const reason = `asked by ${CANARIES.email}, nickname=${CANARIES.nickname}`;
  const { fingerprint } = await detail();
  const until = new Date(Date.now() + 3_600_000).toISOString();
  const recipe = { kind: "form", steps: [{ op: "set", at: "/amount", value: 13 }] };
  const made = async (route: string, body: object, params: Record<string, string> = {}) => {
    const answer = await ask<{ id: string }>(ADMIN, route, { body, params });
    expect(answer.status, `${route} ${answer.text}`).toBeLessThan(300);
    return answer.body.id;
  };
  const select = { filter };
  await made("POST /api/v1/saved-views", { name: "hers", filter });
  const operation = await made("POST /api/v1/events/mend", { select, recipe, reason });
  await made("PATCH /api/v1/operations/{id}", { action: "cancel" }, { id: operation });
  await made("POST /api/v1/redrives", { select, mode: "verify" });
  const ids: Record<string, string> = {
    "/api/v1/operations/{id}": operation,
    "/api/v1/redrives/{id}": await made("POST /api/v1/redrives", { select, mode: "verify", reason }),
    "/api/v1/redrive-rules/{id}": await made("POST /api/v1/redrive-rules", {
      name: "hers",
      filter,
      delayMs: 60_000,
      reason,
    }),
    "/api/v1/maintenances/{id}": await made("POST /api/v1/maintenances", { until, reason }),
  };
  await made("POST /api/v1/controls", { kind: "cooldown", scope: { errorCode: "E" }, reason, expiresAt: until });
  await made("POST /api/v1/group-mutes", { fingerprints: [fingerprint], until, reason });
  await made("PUT /api/v1/stops/everything", { reason });
  try {
    let held = 0;
    for (const path of await everyGet()) {
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
      const values: Record<string, string> = { id: ids[path] ?? id, fingerprint, name: "orders", revision: "2" };
      const options = {
        params: Object.fromEntries(names.map((name) => [name, values[name]!])),
        query: path.startsWith("/api/v1/stats") ? "?from=-1h" : "",
      };
      const shown = await ask(NO_REVEAL, `GET ${path}`, options);
      expect(leaks(shown.text), path).toEqual([]);
      if (leaks((await ask(ADMIN, `GET ${path}`, options)).text).length > 0) held++;
    }
    // Views, redrives, operations, rules, mutes, stops, controls, maintenance windows, the audit and its export, markers, ...
    expect(held).toBeGreaterThan(12);
    const { items } = (await ask<{ items: unknown[] }>(NO_REVEAL, "GET /api/v1/saved-views")).body;
    const masked = { to: [REDACTED], nickname: [REDACTED] };
    expect(items).toMatchObject([{ name: "hers", filter: { source: ["orders"], q: `no ${REDACTED}`, tags: masked } }]);
    // What they see must not be stored as a value.
    for (const typed of [{ tags: masked }, { errorCode: ["E"], q: `no ${REDACTED}` }]) {
      const rule = { name: "masked", filter: typed, delayMs: 60_000, reason: "copied" };
      const refused = await ask(ADMIN, "POST /api/v1/redrive-rules", { body: rule });
      expect(refused.body, refused.text).toMatchObject({ code: "masked-value" });
    }
  } finally {
    await ask(ADMIN, "DELETE /api/v1/stops/everything", { body: { reason: "over" } });
  }
});
