import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROUTES } from "@/app/routes";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource } from "@/lib/testing/letters";
import { type ApiRoute, dispatchRoutes } from "@/scripts/api-dispatch";
import { runTool } from "@/scripts/run-tool";
import { bin, ROOT } from "@/scripts/stages";
import { guarded } from "@/scripts/web-server";

/** TypeScript 7 has no interface for programs: the generator, which writes with it, gets version 6. */
const GIVE_TYPESCRIPT_6 = `data:text/javascript,import { registerHooks } from "node:module";
registerHooks({ resolve: (name, context, next) => next(name === "typescript" ? "typescript-6" : name, context) });`;

/** A program that uses the generated client. Its expected type errors prove that the types restrict it. */
const PROGRAM = `
import * as api from "./client";
import { createClient } from "./client/client";

export async function story(baseUrl: string) {
  const client = createClient({ baseUrl, headers: { "x-actor": "ada" } });
  const letter = { source: "orders", errorCode: "TIMEOUT", payload: { orderId: 7 }, tags: { orderId: "7" } };
  const parked = await api.parkEvents({
    client,
    body: [1, 2].map((version) => ({ ...letter, eventId: \`e-\${version}\`, aggregateId: "order-7", version })),
  });
  const page = await api.listEvents({ client, query: { source: ["orders"], tags: { "tag.orderId": "7" }, limit: 1 } });
  const next = await api.listEvents({
    client,
    query: { source: ["orders"], tags: { "tag.orderId": "7" }, limit: 1, cursor: page.data?.nextCursor ?? "" },
  });
  const ids = [...(page.data?.items ?? []), ...(next.data?.items ?? [])].map((event) => event.id);
  const preview = await api.previewRedrive({ client, body: { select: { ids }, sample: false } });
  const redrive = await api.requestRedrive({
    client,
    headers: { "Idempotency-Key": "one" },
    body: { select: { ids }, lane: "slow", holdMs: 60_000, reason: "stock is back" },
  });
  const id = redrive.data?.id ?? "";
  const paused = await api.changeRedrive({ client, path: { id }, body: { action: "pause" } });
  const items = await api.listRedriveItems({ client, path: { id }, query: { state: "open" } });
  const control = await api.imposeControl({
    client,
    body: { kind: "blacklist", scope: { errorCode: "VALIDATION_ERROR" }, reason: "until the producer is fixed" },
  });
  const lifted = await api.liftControl({ client, path: { id: control.data?.id ?? "" } });
  const missing = await api.getRedrive({ client, path: { id: "019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b10" } });
  // @ts-expect-error there is no such lane
  const refused = await api.previewRedrive({ client, body: { select: { ids }, lane: "fast" } });
  // @ts-expect-error no operation answers this code
  const never = missing.error?.code === "no-such-code";
  return {
    accepted: parked.data?.accepted,
    versions: [page, next].map(({ data }) => data?.items[0]?.version),
    eligible: preview.data?.eligible,
    total: redrive.data?.total,
    state: paused.data?.state,
    items: items.data?.items.map((item) => item.eventId),
    lifted: lifted.data?.liftedBy,
    missing: [missing.response?.status, missing.error?.code],
    refused: [refused.response?.status, refused.error?.code, never],
  };
}
`;

let web: TestConsole;
let server: Server;
let folder: string;
let baseUrl: string;

beforeAll(async () => {
  web = await testConsole();
  await addSource(web.deps.db, "orders");
  const routes: ApiRoute[] = await Promise.all(
    Object.entries(ROUTES).map(async ([path, load]) => ({
      path: path.replace(/\{(\w+)\}/g, "[$1]"),
      handlers: (await load()) as ApiRoute["handlers"],
    })),
  );
  server = createServer(
    guarded(
      dispatchRoutes(routes, (_, response) => response.writeHead(404).end()),
      web.deps.env.allowedHosts,
    ),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  mkdirSync(join(ROOT, "reports"), { recursive: true });
  folder = mkdtempSync(join(ROOT, "reports", "api-client-"));
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await web.close();
  rmSync(folder, { recursive: true, force: true });
});

async function succeed(args: string[]): Promise<void> {
  const { code, output } = await runTool(process.execPath, args, { cwd: folder });
  expect([code, code === 0 ? "" : output]).toEqual([0, ""]);
}

test("a client generated from the served document compiles, and works the API", async () => {
  const document = await fetch(`${baseUrl}/api/v1/openapi.json`);
  writeFileSync(join(folder, "openapi.json"), await document.text());
  const generator = bin("@hey-api/openapi-ts/dist/run.mjs");
  await succeed(["--import", GIVE_TYPESCRIPT_6, generator, "-i", "./openapi.json", "-o", "./client", "--no-log-file"]);
  writeFileSync(join(folder, "program.ts"), PROGRAM);
  const compiler = "--noEmit --strict --skipLibCheck --target es2023 --module esnext --moduleResolution bundler";
  const types = ["--types", "", "--ignoreConfig", "--lib", "es2023,dom,dom.iterable,dom.asynciterable"];
  await succeed([bin("typescript/bin/tsc"), ...compiler.split(" "), ...types, "program.ts"]);
  const outfile = join(folder, "program.mjs");
  await build({ entryPoints: [join(folder, "program.ts")], bundle: true, format: "esm", platform: "node", outfile });
  const { story } = (await import(/* @vite-ignore */ pathToFileURL(outfile).href)) as {
    story(url: string): Promise<unknown>;
  };
  expect(await story(baseUrl)).toEqual({
    accepted: 2,
    versions: [2, 1],
    eligible: 2,
    total: 2,
    state: "PAUSED",
    items: ["e-2", "e-1"],
    lifted: "ada",
    missing: [404, "unknown-redrive"],
    refused: [400, "invalid-request", false],
  });
});
