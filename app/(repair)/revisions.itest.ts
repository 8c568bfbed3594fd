import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { GET as getPayload } from "@/app/(events)/api/v1/events/[id]/payload/route";
import { GET as getEvent } from "@/app/(events)/api/v1/events/[id]/route";
import { GET as getRevision } from "@/app/(repair)/api/v1/events/[id]/revisions/[revision]/route";
import { GET as compare } from "@/app/(repair)/api/v1/events/[id]/revisions/compare/route";
import { POST as restore } from "@/app/(repair)/api/v1/events/[id]/revisions/restore/route";
import { POST as edit, GET as list } from "@/app/(repair)/api/v1/events/[id]/revisions/route";
import { REDACTED } from "@/lib/guard/redaction/redact.pure";
import { type Action, localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { editEvent } from "@/lib/repair/revisions/revise-event";
import type { Comparison, RevisionDetail, RevisionList } from "@/lib/repair/revisions/revisions.shapes";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource, deadLetter } from "@/lib/testing/letters";

let parkade: TestConsole;
let id: string;
const FIRST = '{ "order_no":12345678901234567890, "a":1, "a":2, "price":1.10 }';

beforeAll(async () => {
  parkade = await testConsole();
  await addSource(parkade.deps.db, "orders");
});
afterAll(() => parkade.close());

let serial = 0;
beforeEach(async () => {
  const letter = deadLetter({
    eventId: `edited-${++serial}`,
    aggregateId: null,
    payload: Buffer.from(FIRST),
    contentType: "application/json",
    headers: [
      ["x-tenant", "north"],
      ["authorization", "Bearer abc"],
    ],
  });
  await parkEvents(parkade.deps, [{ source: "orders", letter }], localViewer("tester"));
  const [row] = await parkade.deps.db.query<{ id: string }>("select id from event_keys where event_id = $1", [
    letter.eventId,
  ]);
  id = row!.id;
});

const call = <T = Record<string, unknown>>(
  handler: Parameters<TestConsole["call"]>[0],
  options: Parameters<TestConsole["call"]>[1] = {},
) =>
  parkade.call<T>(handler, {
    ...options,
    params: { id, ...options.params },
    headers: { "x-actor": "maria", ...options.headers },
  });
const MENDED = FIRST.replace("order_no", "orderNo");
const mend = (change: object = {}) =>
  call(edit, { body: { base: 1, text: MENDED, reason: "the field was renamed", ...change } });
const status = (word: string) => parkade.deps.db.run("update dlq_events set status = $2 where id = $1", [id, word]);

test("an edit is a revision that holds the very bytes that were sent, and what arrived stays", async () => {
  expect(await mend()).toMatchObject({ status: 201, body: { id, revision: 2 } });
  expect((await call(getPayload, { query: "?reason=test" })).text).toBe(MENDED);
  expect((await call(getPayload, { query: "?revision=1&reason=test" })).text).toBe(FIRST);
  expect(await call(getPayload, { query: "?revision=3&reason=test" })).toMatchObject({
    status: 404,
    body: { code: "unknown-revision" },
  });
  const { body: event } = await call(getEvent);
  expect(event).toMatchObject({
    revision: 2,
    payloadBytes: MENDED.length,
    lastOperator: "maria",
    body: { text: MENDED },
  });
  const entries = event.history as { text: string; actor: string; reason: string }[];
  const texts = entries.findLast(({ text }) => !text.startsWith("Masked values"));
  expect(texts).toMatchObject({
    text: "Edited: revision 2, made from 1",
    actor: "maria",
    reason: "the field was renamed",
  });

  const { body: revisions } = await call<RevisionList>(list);
  expect(revisions.total).toBe(2);
  expect(revisions.items).toMatchObject([
    { revision: 2, current: true, cause: "edit", base: 1, actor: "maria", bytes: MENDED.length, sends: 0, sentBy: [] },
    { revision: 1, current: false, cause: "arrived", base: null, actor: null, bytes: FIRST.length },
  ]);
  expect(revisions.items[0]!.patch).toEqual({ changed: ["payload"] });
});

test("headers and content type are edited alone, and are masked as those that arrived", async () => {
  const headers = [
    ["x-tenant", "south"],
    ["authorization", "Bearer def"],
    ["x-bytes", "AQI=", "bytes"],
  ];
  expect(await mend({ text: undefined, contentType: "application/vnd.order+json", headers })).toMatchObject({
    status: 201,
  });
  const { body } = await call<RevisionDetail>(getRevision, { params: { revision: "2" } });
  const shown = headers.with(1, ["authorization", REDACTED]);
  expect(body).toMatchObject({ contentType: "application/vnd.order+json", headers: shown, body: { text: FIRST } });
  const [row] = await parkade.deps.db.query<{ headers: unknown }>("select headers from event_revisions where id = $1", [
    id,
  ]);
  expect(row!.headers).toEqual(headers);
});

test("any two are compared, whichever is current, and one of them is restored without a copy", async () => {
  await mend();
  const headers = [["x-tenant", "south"]];
  expect(await mend({ base: 2, text: undefined, headers })).toMatchObject({ body: { revision: 3 } });
  const { body } = await call<Comparison>(compare, { query: "?from=1&to=3" });
  expect(body).toMatchObject({
    from: { revision: 1, body: { text: FIRST } },
    to: { revision: 3, body: { text: MENDED }, headers },
    equal: { payload: false, contentType: true, headers: false },
  });
  const back = await call(restore, { body: { base: 3, revision: 1, reason: "it was not the field" } });
  expect(back).toMatchObject({ status: 200, body: { revision: 1 } });
  expect((await call(getEvent)).body).toMatchObject({ revision: 1, payloadBytes: FIRST.length, body: { text: FIRST } });
  expect((await call<RevisionList>(list)).body.items.map(({ revision }) => revision)).toEqual([3, 2, 1]);
  const nowhere = await call(restore, { body: { base: 1, revision: 9, reason: "no" } });
  expect(nowhere).toMatchObject({ status: 404, body: { code: "unknown-revision" } });
  expect(String(nowhere.body.detail)).toContain("no revision 9");
  const last = 2_147_483_647;
  await parkade.deps.db.run("update event_revisions set revision = $1 where revision = 3", [last]);
  const ofNumber = (revision: number) => call<RevisionDetail>(getRevision, { params: { revision: String(revision) } });
  expect(await ofNumber(last)).toMatchObject({ status: 200, body: { revision: last } });
  expect(await ofNumber(last + 1)).toMatchObject({ status: 404, body: { code: "unknown-revision" } });
});

test("bytes that are no text are edited as base64", async () => {
  const bytes = Buffer.from([0, 255, 1, 254]);
  expect(await mend({ text: undefined, base64: bytes.toString("base64"), contentType: "image/x" })).toMatchObject({
    status: 201,
  });
  const [row] = await parkade.deps.db.query<{ payload: Buffer }>("select payload from event_revisions where id = $1", [
    id,
  ]);
  expect(row!.payload.equals(bytes)).toBe(true);
});

test.each([
  ["without a reason", { reason: undefined }, 400, "invalid-request", "reason"],
  ["with an empty reason", { reason: " " }, 400, "invalid-request", "reason"],
  ["with two payloads", { base64: "AQ==" }, 400, "invalid-request", "base64"],
  ["with what is no base64", { text: undefined, base64: "A?" }, 400, "invalid-request", "base64"],
  ["that changes nothing", { text: FIRST }, 422, "same-bytes", "base"],
  ["of a revision that is not there", { base: 7 }, 404, "unknown-revision", "revision"],
  ["with a header without a name", { headers: [["", "x"]] }, 400, "invalid-request", "headers[0]"],
  ["with bytes in a header that are none", { headers: [["x", "?", "bytes"]] }, 400, "invalid-request", "headers[0]"],
  ["with a NUL in a header", { headers: [["x", "a\0b"]] }, 400, "invalid-request", "headers[0][1]"],
  ["with a mask as a header", { headers: [["cookie", REDACTED]] }, 422, "masked-value", "headers"],
  ["with a mask in the payload", { text: `{"a":"${REDACTED}"}` }, 422, "masked-value", "text"],
  ["with an escaped mask", { text: `{"a":"${"\\u2022".repeat(6)}"}` }, 422, "masked-value", "text"],
])("an edit %s is refused, and names the field", async (_, change, httpStatus, code, field) => {
  const answer = await mend(change);
  expect(answer).toMatchObject({ status: httpStatus, body: { code } });
  expect((answer.body.errors as { field: string }[])[0]!.field).toBe(field);
  expect((await call(getEvent)).body.revision).toBe(1);
});

test("a payload that no redrive would send is stored only when the request says so, and the answer names the problem", async () => {
  const broken = FIRST.replace("}", "");
  const refused = await mend({ text: broken });
  expect(refused).toMatchObject({ status: 422, body: { code: "payload-broken", errors: [{ field: "text" }] } });
  expect(String(refused.body.detail)).toContain("the payload is not valid JSON in UTF-8");
  expect((await call(getEvent)).body.revision).toBe(1);
  const problems = [{ reason: "payload-unparsable", detail: "the payload is not valid JSON in UTF-8" }];
  expect(await mend({ text: broken, breaking: true })).toMatchObject({ status: 201, body: { revision: 2, problems } });
  // A header does not break the payload further, and the answer still says that it is broken.
  const headers = [["x-tenant", "south"]];
  expect(await mend({ base: 2, text: undefined, headers })).toMatchObject({ status: 201, body: { problems } });
  expect(await mend({ base: 3 })).toMatchObject({ status: 201, body: { revision: 4, problems: [] } });

  const [source] = await parkade.deps.db.query<{ id: string }>("select id from sources where name = 'orders'");
  await parkade.deps.db.run(
    "insert into payload_schemas (id, source_id, version, body, current, origin, created_by, created_at) values (gen_random_uuid(), $1, 1, $2, true, 'uploaded', 'ada', now())",
    [source!.id, JSON.stringify({ required: ["customerId"] })],
  );
  const mismatch = await mend({ base: 4, text: '{"a":1}' });
  expect(mismatch).toMatchObject({ status: 422, body: { code: "payload-broken" } });
  expect(String(mismatch.body.detail)).toContain("customerId");
  await parkade.deps.db.run("delete from payload_schemas");
});

test("text is refused where it would be sent as an encoding that nobody applied, and bytes are taken", async () => {
  const headers = [["content-encoding", "gzip"]];
  const base64 = gzipSync('{"a":2}').toString("base64");
  const packed = await mend({ text: undefined, base64, headers, contentType: "application/json" });
  expect(packed).toMatchObject({ status: 201, body: { revision: 2, problems: [] } });
  expect((await call(getEvent)).body).toMatchObject({ body: { decoded: { from: "gzip", text: '{"a":2}' } } });
  const refused = await mend({ base: 2, text: '{"a":3}' });
  expect(refused).toMatchObject({ status: 400, body: { code: "invalid-request", errors: [{ field: "text" }] } });
  expect(String(refused.body.detail)).toContain("would be sent as gzip");
  expect(await mend({ base: 2, text: '{"a":3}', headers: [] })).toMatchObject({ status: 201, body: { revision: 3 } });
  // The name of an encoding that something has undone on the way keeps nobody from an edit.
  expect(await mend({ base: 3, text: undefined, headers })).toMatchObject({ status: 201, body: { revision: 4 } });
  expect(await mend({ base: 4, text: '{"a":4}' })).toMatchObject({ status: 201, body: { revision: 5 } });
});

test("the limits of a payload and of headers hold at their edge, and a refusal beyond them stores nothing", async () => {
  await parkade.deps.db.run("insert into settings (key, value, updated_by) values ('payloadBytesMax', '80', 'ada')");
  const headers = (count: number) => Array.from({ length: count }, (_, index) => [`x-${index}`, "v"]);
  const { headersMax } = parkade.deps.env;
  expect(await mend({ text: "", contentType: "text/plain" })).toMatchObject({ status: 201, body: { revision: 2 } });
  expect((await call(getPayload, { query: "?reason=test" })).text).toBe("");
  expect((await call(getEvent)).body).toMatchObject({ payloadBytes: 0 });
  // Eighty bytes, not characters.
  expect(await mend({ base: 2, text: "é".repeat(40) })).toMatchObject({ status: 201, body: { revision: 3 } });
  expect(await mend({ base: 3, text: `${"é".repeat(40)}x` })).toMatchObject({
    status: 413,
    body: {
      code: "payload-too-large",
      detail: expect.stringContaining("payloadBytesMax"),
      errors: [{ field: "text" }],
    },
  });
  expect(await mend({ base: 3, text: undefined, headers: headers(headersMax) })).toMatchObject({ status: 201 });
  expect(await mend({ base: 4, text: undefined, headers: headers(headersMax + 1) })).toMatchObject({
    body: { code: "too-many-headers", errors: [{ field: "headers" }] },
  });
  expect((await call<RevisionList>(list)).body.total).toBe(4);
  await parkade.deps.db.run("delete from settings");
});

test("an event in a redrive is not revised, and the refusal names the redrive", async () => {
  const redriveId = "019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a50";
  await parkade.deps.db.run(
    "insert into open_items (id, redrive_id, slice, place, source_id, revision) select id, $2, 0, 0, source_id, 1 from dlq_events where id = $1",
    [id, redriveId],
  );
  await status("QUEUED");
  for (const answer of [await mend(), await call(restore, { body: { base: 1, revision: 2, reason: "back" } })]) {
    expect(answer).toMatchObject({ status: 409, body: { code: "event-queued" } });
    expect(String(answer.body.detail)).toContain(redriveId);
  }
  await status("REDRIVEN");
  expect(await mend()).toMatchObject({ status: 409, body: { code: "illegal-transition" } });
  await parkade.deps.db.run("delete from open_items where id = $1", [id]);
  await status("PENDING");
});

describe("an edit of what is masked", () => {
  const secret = '{"password":"s3cret","field":1}';
  const as = (actions: readonly Action[], change: object, sources: "all" | string[] = "all") =>
    editEvent(
      parkade.deps,
      { id, base: 2, reason: "mend", headersMax: 10, ...change },
      { name: "bob", means: "token", sources, actions },
    );
  const EDITOR: readonly Action[] = ["view", "edit"];

  test("is refused without the right to reveal, in every part, and names the right and who gives it", async () => {
    await mend({ text: secret, headers: [] });
    const shown = `{"password":"${REDACTED}","field":2}`;
    for (const change of [
      { text: shown },
      { text: "{}" },
      { base64: "AQ==" },
      { headers: [] },
      { contentType: "a/b" },
    ]) {
      const refused = as(EDITOR, change);
      await expect(refused).rejects.toMatchObject({
        code: "forbidden",
        message: expect.stringMatching(/bob may not reveal them: ask an administrator for the right "reveal"/),
        fields: [{ field: "action", detail: "reveal" }],
      });
      await expect(refused).rejects.not.toThrow(/s3cret/);
    }
    await expect(as(["view"], { text: shown })).rejects.toMatchObject({ code: "forbidden" });
    await expect(as(EDITOR, { text: shown }, ["billing"])).rejects.toMatchObject({ code: "unknown-event" });
    expect((await call<RevisionList>(list)).body.total).toBe(2);
  });

  test.each([
    ["a header", { text: "{}" }],
    ["what is no JSON", { text: "a s3cret", contentType: "text/plain", headers: [], breaking: true }],
    ["bytes that are no text", { text: undefined, base64: "/wA=", headers: [], breaking: true }],
  ])("is refused for %s as well", async (_, change) => {
    expect((await mend(change)).status).toBe(201);
    await expect(as(EDITOR, { contentType: "a/b" })).rejects.toMatchObject({ code: "forbidden" });
  });

  test("takes the values themselves of who may reveal, and no mask; an event that is shown whole needs no such right", async () => {
    await mend({ text: secret, headers: [] });
    const changed = secret.replace("1", "2");
    expect(await mend({ base: 2, text: changed.replace("s3cret", REDACTED) })).toMatchObject({
      status: 422,
      body: { code: "masked-value" },
    });
    expect((await mend({ base: 2, text: changed })).status).toBe(201);
    expect((await call(getPayload, { query: "?reason=test" })).text).toBe(changed);
    // A mask that a producer has sent is its own value.
    expect((await mend({ base: 3, text: "{}" })).status).toBe(201);
    await parkade.deps.db.run("update event_revisions set payload = $2 where id = $1 and revision = 4", [
      id,
      Buffer.from(`{"a":"${REDACTED}"}`),
    ]);
    expect(await as(EDITOR, { base: 4, text: `{"b":"${REDACTED}"}` })).toMatchObject({ revision: 5 });
  });
});

test("an edit or a restore whose answer was lost is answered again, and done once", async () => {
  const repeated = async (handler: typeof edit, key: string, body: object) => {
    const send = () => call(handler, { body, headers: { "idempotency-key": `${id}-${key}` } });
    const [first, second] = [await send(), await send()];
    expect([second.status, second.text]).toEqual([first.status, first.text]);
    return first.status;
  };
  expect(await repeated(edit, "edit", { base: 1, text: MENDED, reason: "the field was renamed" })).toBe(201);
  expect(await repeated(restore, "restore", { base: 2, revision: 1, reason: "back" })).toBe(200);
  expect((await call<RevisionList>(list)).body.total).toBe(2);
});

test("nothing of all this moves a counter, and each change has its audit entry", async () => {
  await mend();
  await call(restore, { body: { base: 2, revision: 1, reason: "back" } });
  const entries = await parkade.deps.db.query(
    "select action, actor, reason, before, after from audit_entries where subject_id = $1 and action like 'event.%ed' order by id",
    [id],
  );
  expect(entries.slice(1)).toEqual([
    {
      ...{ action: "event.edited", actor: "maria", reason: "the field was renamed" },
      ...{ before: { revision: 1 }, after: { revision: 2 } },
    },
    { action: "event.restored", actor: "maria", reason: "back", before: { revision: 2 }, after: { revision: 1 } },
  ]);
});
