import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { setDeps } from "@/app/_server/deps";
import * as storedProbe from "@/app/(sources)/api/v1/sources/[name]/probe/route";
import * as source from "@/app/(sources)/api/v1/sources/[name]/route";
import * as sourceTargets from "@/app/(sources)/api/v1/sources/[name]/targets/route";
import * as probe from "@/app/(sources)/api/v1/sources/probe/route";
import * as sources from "@/app/(sources)/api/v1/sources/route";
import { localViewer, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { ResponseCache } from "@/lib/retry/cache/response-cache";
import { type ManualClock, manualClock } from "@/lib/retry/testing/manual-clock";
import { PROBES_KEPT } from "@/lib/sources/probe-source";
import type { ProbeOut } from "@/lib/sources/sources.shapes";
import { type TestConsole, testConsole } from "@/lib/testing/console";

const NAME = { name: "shop" };
let console: TestConsole;
let clock: ManualClock;
let config: { redriveUrl: string; headers?: Record<string, string> };
/** Requests that reached the target. */
let reached: number;
let stopTarget: () => Promise<unknown>;

beforeEach(async () => {
  reached = 0;
  const server = createServer((_, response) => {
    reached++;
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  stopTarget = () => new Promise((resolve) => server.close(resolve).closeAllConnections());
  config = { redriveUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events` };
  console = await testConsole();
  clock = manualClock();
  setDeps({ ...console.deps, probes: new ResponseCache(PROBES_KEPT, clock) });
  await console.call(sources.POST, { body: { ...NAME, kind: "http", config } });
});
afterEach(async () => {
  await console.close();
  await stopTarget();
});

async function probeAs(actor: string) {
  const { status, body } = await console.call(storedProbe.POST, {
    method: "POST",
    params: NAME,
    headers: { "x-actor": actor },
  });
  return { status, reachable: body.reachable };
}
/** Requests of one probe: for the source, and for its target, which is one for both lanes. */
const EACH = 2;
const FINE = { status: 200, reachable: true };

test("a stored source is probed once for a viewer who asks again within two seconds", async () => {
  expect(await Promise.all([probeAs("ada"), probeAs("ada")])).toEqual([FINE, FINE]);
  await clock.advance(1_999);
  expect(await probeAs("ada")).toEqual(FINE);
  expect(reached).toBe(EACH);
  await clock.advance(1);
  expect(await probeAs("ada")).toEqual(FINE);
  expect(reached).toBe(2 * EACH);
});

test("a change of the source is probed at once", async () => {
  await probeAs("ada");
  const change = { config: { ...config, headers: { "x-tenant": "b" } }, reason: "another tenant" };
  expect((await console.call(source.PATCH, { method: "PATCH", params: NAME, body: change })).status).toBe(200);
  expect(await probeAs("ada")).toEqual(FINE);
  expect(reached).toBe(2 * EACH);
});

test("another viewer probes anew and is on record, and one who may not gets no answer", async () => {
  await probeAs("ada");
  expect(await probeAs("bob")).toEqual(FINE);
  expect(reached).toBe(2 * EACH);
  const entries = await console.deps.db.query(
    "select actor from audit_entries where action = 'source.probed' order by id",
  );
  expect(entries).toEqual([{ actor: "ada" }, { actor: "bob" }]);
  const probes = new ResponseCache<ProbeOut>(PROBES_KEPT, clock);
  const denied: Viewer = { ...localViewer("ada"), actions: ["view"] };
  setDeps({ ...console.deps, probes });
  await probeAs("ada");
  setDeps({ ...console.deps, probes, identify: () => denied });
  expect(await probeAs("ada")).toMatchObject({ status: 403 });
});

test("a configuration that is not stored is probed each time", async () => {
  for (const _ of [1, 2]) await console.call(probe.POST, { body: { kind: "http", config } });
  expect(reached).toBe(2);
});

test("each target is probed, and says by itself why it is not reached", async () => {
  const add = (name: string, destination: object) =>
    console.call(sourceTargets.POST, { params: NAME, body: { name, destination, reason: "they missed some" } });
  expect((await add("shop.audit", { redriveUrl: config.redriveUrl })).status).toBe(201);
  expect((await add("shop.gone", { redriveUrl: "http://127.0.0.1:1/" })).status).toBe(201);
  const secret = { authorization: "env:PARKADE_SECRET_NOT_SET" };
  expect((await add("shop.unset", { redriveUrl: config.redriveUrl, headers: secret })).status).toBe(201);
  const { body } = await console.call(storedProbe.POST, { method: "POST", params: NAME });
  expect(body.targets).toEqual([
    { name: "shop", reachable: true, detail: expect.stringContaining("127.0.0.1") },
    { name: "shop.audit", reachable: true, detail: expect.stringContaining("127.0.0.1") },
    { name: "shop.gone", reachable: false, detail: expect.stringMatching(/refused|127\.0\.0\.1:1/) },
    { name: "shop.slow", reachable: true, detail: expect.stringContaining("127.0.0.1") },
    {
      name: "shop.unset",
      reachable: false,
      detail: expect.stringContaining("PARKADE_SECRET_NOT_SET, which is not set"),
    },
  ]);
});
