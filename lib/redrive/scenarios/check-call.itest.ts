import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { beforeEach, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

type Call = { events: { id: string; revision: number; key: string; payload: { amount?: number } }[] };
let calls: Call[] = [];
let respond: (response: ServerResponse, call: Call) => void;
let url: string;
const server = createServer(async (request, response) => {
  let raw = "";
  for await (const chunk of request.setEncoding("utf8")) raw += chunk;
  const call = JSON.parse(raw) as Call;
  calls.push(call);
  respond(response, call);
});

const judge = (response: ServerResponse, { events }: Call) =>
  response.end(
    JSON.stringify({
      answers: events.map(({ id, payload }) =>
        payload.amount === 0
          ? { id, take: false, reason: "amount must be above 0", pointer: "/amount" }
          : { id, take: true },
      ),
    }),
  );

const world = worldOfEachTest({
  afterwards: () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  },
});
beforeEach(async () => {
  calls = [];
  respond = judge;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/check`;
});

const findings = (redriveId: string) =>
  world.db.query<{
    event_id: string;
    state: string;
    finding: { ok: boolean | null; detail: string; pointer?: string; fix?: string };
  }>(
    `select i.state, e.event_id, f as finding
       from redrive_items i join dlq_events e on e.id = i.id, jsonb_array_elements(i.verdict) f
      where i.redrive_id = $1 and f->>'check' = 'check-call'`,
    [redriveId],
  );

test("an owner whose reason holds what no store holds, or a credential, refuses the event all the same", async () => {
  respond = (response, { events }) => {
    const answers = events.map(({ id }) => {
      return { id, take: false, reason: "no\u0000 \ud800 password=hunter", pointer: "/a\u0000" };
    });
    response.end(JSON.stringify({ answers }));
  };
  const schema = { type: "object", additionalProperties: false, properties: { amount: {} } };
  await world.source("billing", { schema, checkCall: { url, timeoutMs: 10_000, whenUnanswered: "pass" } });
  await world.park(
    2,
    (index) => ({ payload: Buffer.from(index === 0 ? '{"amount":1}' : '{"a\\u0000":1}') }),
    "billing",
  );
  await world.worker();
  const { id } = await world.request({ select: { filter: { source: ["billing"] } } });
  expect(await world.ended(id)).toMatchObject({
    refusedByReason: { "check-refused": 1, "schema-mismatch": 1 },
    failed: 0,
  });
  for (const { finding } of await findings(id)) {
    expect(finding.detail).toMatch(/rejects it: no.* password=••••••$/);
  }
});

test("an endpoint that dies in mid-redrive is not called passed", async () => {
  await world.source("billing", { checkCall: { url, timeoutMs: 10_000, whenUnanswered: "pass" } });
  await world.park(300, () => ({ payload: Buffer.from('{"amount": 1}') }), "billing");
  respond = (response, call) => (calls.length === 1 ? judge(response, call) : response.destroy());
  await world.worker();
  const { id } = await world.request({ select: { filter: { source: ["billing"] } } });
  expect(await world.ended(id)).toMatchObject({ delivered: 300, refusedByReason: {} });
  const rows = await findings(id);
  expect(rows.filter(({ finding }) => finding.ok === true)).toHaveLength(calls[0]!.events.length);
  for (const { finding } of rows.filter((row) => row.finding.ok !== true)) {
    expect(finding).toMatchObject({ ok: null, detail: expect.stringMatching(/^not answered: /) });
  }
});

test("a pause does not wait for an endpoint that is silent, and nothing is refused by it", async () => {
  await world.source("billing", { checkCall: { url, timeoutMs: 10_000, whenUnanswered: "refuse" } });
  await world.park(5, () => ({ payload: Buffer.from('{"amount": 1}') }), "billing");
  respond = () => undefined;
  await world.worker();
  const { id } = await world.request({ select: { filter: { source: ["billing"] } } });
  await expect.poll(() => calls.length).toBe(1);
  await changeRedrive(world.deps, { id, change: { action: "pause" } }, localViewer("ada"));
  await expect
    .poll(async () => (await world.db.query("select slice from slice_owners where owner is not null")).length)
    .toBe(0);
  expect(await world.redrive(id)).toMatchObject({ state: "PAUSED", refused: 0, open: 5 });
  respond = judge;
  await changeRedrive(world.deps, { id, change: { action: "resume" } }, localViewer("ada"));
  expect(await world.ended(id)).toMatchObject({ delivered: 5 });
});
