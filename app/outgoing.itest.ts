import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as settings from "@/app/(guard)/api/v1/settings/route";
import * as channels from "@/app/(observe)/api/v1/channels/route";
import * as targets from "@/app/(sources)/api/v1/sources/[name]/targets/route";
import * as probe from "@/app/(sources)/api/v1/sources/probe/route";
import * as sources from "@/app/(sources)/api/v1/sources/route";
import { type TestConsole, testConsole } from "@/lib/testing/console";

/** Addresses and names are judged when they are saved, so that the error stands at the field. */
let web: TestConsole;
beforeAll(async () => {
  web = await testConsole({
    PARKADE_REFUSED_ADDRESSES: "127.0.0.2 10.0.0.0/8 169.254.0.0/16",
    PARKADE_ALLOWED_TARGETS: "*.example.com 127.0.0.1 127.0.0.2 10.0.0.1 169.254.169.254 64:ff9b::a00:1 localhost",
  });
  const body = { name: "orders", kind: "http", config: { redriveUrl: "https://orders.example.com" } };
  expect((await web.call(sources.POST, { body })).status).toBe(201);
});
afterAll(() => web.close());

type Refusal = { code: string; errors: { field: string; detail: string }[] };
type Way = [what: string, field: string, send: (url: string) => Promise<{ status: number; body: Refusal }>];

let made = 0;
const post = (handler: typeof sources.POST, body: unknown, params = {}) => web.call<Refusal>(handler, { body, params });
const WAYS: Way[] = [
  [
    "a source",
    "config.redriveUrl",
    (redriveUrl) => post(sources.POST, { name: `s-${made++}`, kind: "http", config: { redriveUrl } }),
  ],
  [
    "a check call",
    "config.checkCall.url",
    (url) =>
      post(sources.POST, {
        ...{ name: `c-${made++}`, kind: "http" },
        config: { redriveUrl: "https://a.example.com", checkCall: { url } },
      }),
  ],
  [
    "a named target",
    "destination.redriveUrl",
    (redriveUrl) =>
      post(targets.POST, { name: `t-${made++}`, destination: { redriveUrl }, reason: "more" }, { name: "orders" }),
  ],
  ["a channel", "config.url", (url) => post(channels.POST, { name: `h-${made++}`, config: { kind: "webhook", url } })],
  [
    "the address of confirmations",
    "confirmedUrl",
    (confirmedUrl) =>
      web.call<Refusal>(settings.PATCH, { method: "PATCH", body: { settings: {}, confirmedUrl, reason: "who" } }),
  ],
];

/** Spellings that end at an address that is refused, or at a name that nobody listed. */
const REFUSED = [
  "http://127.0.0.2/",
  "http://2130706434/",
  "http://0x7f000002/",
  "http://0177.0.0.2/",
  "http://127.2/",
  "http://127.0.0.2./",
  "http://[::ffff:127.0.0.2]/",
  "http://[::ffff:7f00:2]/",
  "http://[64:ff9b::a00:1]/",
  "http://１２７.０.０.２/",
  "http://169.254.169.254/latest/meta-data/",
  "http://10.0.0.1/",
  "http://other.test/",
  "http://example.com/",
  "http://a.example.com.other.test/",
  "http://127.0.0.3/",
];

describe.each(WAYS)("%s", (_, field, send) => {
  test.each(REFUSED)("is not saved with %s: the answer names the field and the variable", async (url) => {
    const { status, body } = await send(url);
    expect(body).toMatchObject({ code: "invalid-config", errors: [{ field }] });
    expect(status).toBe(422);
    expect(body.errors[0]!.detail).toMatch(/PARKADE_(REFUSED_ADDRESSES|ALLOWED_TARGETS)/);
  });

  test("is saved with an address that is allowed, and with a name below a listed one", async () => {
    for (const url of ["http://127.0.0.1:9/", "https://a.b.example.com/", "https://A.EXAMPLE.com./"])
      expect((await send(url)).status, url).toBeLessThan(300);
  });
});

test("a user in front of the host does not make another host of it", async () => {
  for (const redriveUrl of ["http://a.example.com@127.0.0.2/", "http://a.example.com:x@other.test/"]) {
    const body = { name: `u-${made++}`, kind: "http", config: { redriveUrl } };
    expect((await post(sources.POST, body)).body, redriveUrl).toMatchObject({ code: "invalid-config" });
  }
});

test("a probe of what is not saved is refused likewise, and connects nowhere", async () => {
  for (const redriveUrl of REFUSED.slice(0, 6)) {
    const { status, body } = await post(probe.POST, { kind: "http", config: { redriveUrl } });
    expect(status === 422 || (body as unknown as { reachable: boolean }).reachable === false, redriveUrl).toBe(true);
    expect(JSON.stringify(body)).toMatch(/PARKADE_(REFUSED_ADDRESSES|ALLOWED_TARGETS)/);
  }
});
