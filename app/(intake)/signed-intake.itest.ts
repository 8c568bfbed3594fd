import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import * as events from "@/app/(events)/api/v1/events/route";
import * as metrics from "@/app/(observe)/metrics/route";
import type { HttpConfig } from "@/lib/brokers/http/kind.shapes";
import { signatureHeaders } from "@/lib/brokers/http/request-signature";
import { parseSourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import type { ParkAnswer } from "@/lib/events/events.shapes";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource } from "@/lib/testing/letters";

const OLD = "whsec_b2xkLW9sZC1vbGQtb2xkLW9sZC1vbGQ=";
const NEW = "whsec_bmV3LW5ldy1uZXctbmV3LW5ldy1uZXc=";
const VARIABLE = "PARKADE_SECRET_SIGNED_INTAKE_TEST";

let console: TestConsole;
beforeAll(async () => {
  process.env[VARIABLE] = NEW;
  console = await testConsole({});
  const { db } = console.deps;
  for (const name of ["open", "signed", "hmac", "broken"]) await addSource(db, name);
  const configure = async (name: string, signedIntake: object) => {
    // With its defaults, as the API stores it.
    const { config } = parseSourceConfig("http", { signedIntake });
    await db.run("update sources set kind = 'http', config = $2 where name = $1", [name, config]);
  };
  await configure("signed", { scheme: "standard-webhooks", secrets: [OLD, `env:${VARIABLE}`] });
  await configure("hmac", {
    scheme: "hmac",
    header: "x-hub-signature-256",
    prefix: "sha256=",
    secrets: ["It's a secret"],
  });
  await configure("broken", { scheme: "standard-webhooks", secrets: ["env:PARKADE_SECRET_NOT_SET"] });
});
afterAll(async () => {
  Reflect.deleteProperty(process.env, VARIABLE);
  await console.close();
});
beforeEach(() =>
  console.deps.db.run(
    "truncate dlq_events, dlq_event_bodies, event_keys, dlq_groups, dlq_levels, dlq_group_levels, dlq_flow, audit_entries, audit_subjects",
  ),
);

type Problem = { code: string; detail: string; status: number; errors?: unknown };
type Options = { headers?: Record<string, string>; query?: string };
const post = (body: string, { headers = {}, query = "" }: Options = {}) =>
  console.call<ParkAnswer & Problem>(events.POST, { body, headers, query });

async function stored(): Promise<number> {
  return (await console.deps.db.query<{ n: number }>("select count(*)::int as n from dlq_events"))[0]!.n;
}

let serial = 0;
const event = (source: string | null, id?: string) => ({
  ...(source === null ? {} : { source }),
  ...{ eventId: id ?? `e-${++serial}`, errorCode: "TIMEOUT", payload: {} },
});
const json = (value: unknown) => JSON.stringify(value);

function sign(body: string, secret = NEW, atMs = Date.now()): Record<string, string> {
  const { signing } = parseSourceConfig("http", { signing: { scheme: "standard-webhooks", secret } })
    .config as HttpConfig;
  return signatureHeaders(signing!, { id: "msg_1", atMs, body });
}

const NDJSON = { "content-type": "application/x-ndjson" };
const CE = { "content-type": "application/cloudevents+json" };
const CE_BATCH = { "content-type": "application/cloudevents-batch+json" };
const cloudEvent = (source: string) => ({
  ...{ specversion: "1.0", id: `ce-${++serial}`, type: "t", errorcode: "X", source, data: { n: 1 } },
});
const BINARY = { "ce-specversion": "1.0", "ce-id": "b-1", "ce-type": "t", "ce-errorcode": "X" };

/** Every way to name the source of an event. */
const WAYS: [string, () => string, Options][] = [
  ["one event", () => json(event("signed")), {}],
  ["a parameter", () => json(event(null)), { query: "?source=signed" }],
  ["one event of an array", () => json([event("open"), event("signed")]), {}],
  ["one event of { events }", () => json({ events: [event("open"), event("signed")] }), {}],
  ["one line", () => `${json(event("open"))}\n${json(event("signed"))}\n`, { headers: NDJSON }],
  ["lines without a source of their own", () => json(event(null)), { headers: NDJSON, query: "?source=signed" }],
  ["a CloudEvent", () => json(cloudEvent("signed")), { headers: CE }],
  ["a CloudEvent with parkadesource", () => json({ ...cloudEvent("/x"), parkadesource: "signed" }), { headers: CE }],
  ["a header", () => json(cloudEvent("/x")), { headers: { ...CE, "x-parkade-source": "signed" } }],
  ["one CloudEvent of a batch", () => json([cloudEvent("open"), cloudEvent("signed")]), { headers: CE_BATCH }],
];

describe("a source that takes signed requests only", () => {
  test.each(WAYS)("refuses an unsigned request by %s, and takes a signed one", async (_, make, options) => {
    const body = make();
    const refused = await post(body, options);
    expect(refused).toMatchObject({ status: 401, body: { code: "not-signed" } });
    expect(refused.body).not.toHaveProperty("errors");
    expect(await stored()).toBe(0);
    for (const secret of [OLD, NEW]) {
      const again = make();
      const taken = await post(again, { ...options, headers: { ...options.headers, ...sign(again, secret) } });
      expect(taken).toMatchObject({ status: 202, body: { rejected: [] } });
    }
    expect(await stored()).toBeGreaterThan(0);
  });

  test("refuses a binary CloudEvent, signed or not: its attributes are headers, which a signature does not cover", async () => {
    for (const headers of [{}, sign("{}")])
      expect(
        await post("{}", {
          headers: { ...BINARY, "ce-source": "signed", "content-type": "application/json", ...headers },
        }),
      ).toMatchObject({ status: 401, body: { code: "not-signed" } });
    const open = { ...BINARY, "ce-source": "open", "content-type": "application/json" };
    expect(await post("{}", { headers: open })).toMatchObject({ status: 202 });
  });

  test("answers each fault of a signature in the same words", async () => {
    const body = json(event("signed"));
    const good = sign(body);
    const answers = await Promise.all(
      [
        {},
        { ...good, "webhook-signature": "v1,AAAA" },
        { ...good, "webhook-id": "msg_2" },
        sign(body, NEW, Date.now() - 301_000),
        sign(body, NEW, Date.now() + 302_000),
        sign(body, "whsec_YW5vdGhlci1hbm90aGVyLWFub3RoZXI="),
        sign(`${body} `),
      ].map((headers) => post(body, { headers })),
    );
    answers.push(await post(json(event("broken")), { headers: sign(json(event("broken"))) }));
    for (const { status, body: problem } of answers) {
      expect(status).toBe(401);
      expect({ ...problem, instance: "" }).toEqual({ ...answers[0]!.body, instance: "" });
    }
    expect(await stored()).toBe(0);
  });

  test("takes no signature of another source", async () => {
    const body = json(event("hmac"));
    expect(await post(body, { headers: sign(body) })).toMatchObject({ status: 401 });
    const both = json([event("hmac"), event("signed")]);
    expect(await post(both, { headers: sign(both) })).toMatchObject({ status: 401 });
    expect(await stored()).toBe(0);
  });

  test("knows a replay within the five minutes by its event id", async () => {
    const body = json(event("signed", "replayed"));
    const headers = sign(body);
    expect((await post(body, { headers })).body).toMatchObject({ accepted: 1 });
    expect((await post(body, { headers })).body).toMatchObject({ accepted: 0, duplicates: 1 });
  });

  test("counts what it refused", async () => {
    await post(json(event("signed")));
    const { text } = await console.call(metrics.GET, {});
    expect(text).toMatch(/^parkade_unsigned_requests_total\{source="signed"\} [1-9]/m);
  });
});
