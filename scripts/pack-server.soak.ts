import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { freePort } from "@/lib/testing/free-port";
import { type Sink, startSink } from "@/lib/testing/sink";
import { packKit } from "./pack-kit.ts";
import { packServer } from "./pack-server.ts";
import { runTool } from "./run-tool.ts";

/** Packing compiles the console where nobody has; npm fetches the embedded PostgreSQL unless its cache has it. */
const SETUP_MS = 600_000;
const TEST_MS = 120_000;
vi.setConfig({ testTimeout: TEST_MS, hookTimeout: TEST_MS });

let dir: string;
let url: string;
let server: Serving;
let sink: Sink;

type Child = ChildProcessByStdio<null, Readable, Readable>;
type Serving = { child: Child; ended: Promise<number>; output(): string };

const bin = () => join(dir, "node_modules/.bin/parkade");
/** Nothing of the repository: neither its Node on the PATH nor a variable of npm. */
const environment = (): NodeJS.ProcessEnv => ({
  NODE_ENV: "production",
  PATH: [join(dir, "node_modules/.bin"), join(process.execPath, ".."), "/usr/bin", "/bin"].join(delimiter),
  HOME: dir,
  PARKADE_URL: url,
  PARKADE_ACTOR: "maria",
});

function spawnParkade(words: string[], as: { uid?: number; gid?: number; cwd?: string } = {}): Child {
  return spawn(bin(), words, { cwd: dir, env: environment(), stdio: ["ignore", "pipe", "pipe"], ...as });
}

/** Runs a command to its end. */
async function parkade(...words: string[]) {
  const child = spawnParkade(words);
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { code: code as number, out, err };
}

/** Runs it with --json, and expects an exit code. */
async function answer(expected: number, ...words: string[]) {
  const { code, out, err } = await parkade(...words, "--json");
  expect([code, err]).toEqual([expected, expected === 0 ? expect.anything() : err]);
  return JSON.parse(out);
}

async function serve(at = url, as: Parameters<typeof spawnParkade>[1] = {}): Promise<Serving> {
  const child = spawnParkade(["serve", "--port", new URL(at).port, "--data-dir", "data"], as);
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (chunk) => (output += chunk));
  const ended = once(child, "close").then(([code]) => code as number);
  await Promise.race([
    ended,
    new Promise<void>((ready) => child.stdout.on("data", () => output.includes("ready") && ready())),
  ]);
  expect(output).toContain(`Parkade is ready: ${at}`);
  return { child, ended, output: () => output };
}

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "parkade-cli-"));
  // Another user starts Parkade in it, too.
  chmodSync(dir, 0o755);
  const packed = join(dir, "packed");
  const tarballs = [(await packKit(packed)).tarball, await packServer(packed, () => undefined)];
  writeFileSync(join(dir, "package.json"), JSON.stringify({ name: "console", private: true }));
  const flags = ["--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"];
  const installed = await runTool("npm", ["install", ...flags, ...tarballs], { cwd: dir });
  expect(installed.code, installed.output).toBe(0);
  rmSync(packed, { recursive: true });
  url = `http://127.0.0.1:${await freePort()}`;
  sink = await startSink();
  server = await serve();
}, SETUP_MS);

afterAll(async () => {
  server?.child.kill("SIGTERM");
  await server?.ended;
  await sink?.stop();
  rmSync(dir, { recursive: true, force: true });
});

describe("parkade serve", () => {
  test("serves every page of the console from the installed packages alone", async () => {
    for (const page of ["", "events", "groups", "redrives", "operations", "controls", "targets", "sources", "audit"]) {
      const response = await fetch(`${url}/${page}`);
      expect([page, response.status]).toEqual([page, 200]);
      const html = await response.text();
      const [, script] = /<script[^>]* src="([^"]+)"/.exec(html)!;
      expect((await fetch(new URL(script!, url))).status).toBe(200);
    }
    expect(readFileSync(join(dir, "data/logs/web.log"), "utf8")).not.toMatch(
      /Cannot find (module|package)|MODULE_NOT_FOUND/,
    );
  });

  test("brings a bill of materials with the hash and the licence of each package, and the texts of the licences", () => {
    const server = join(dir, "node_modules/parkade-server/server");
    type Component = { name: string; version: string; hashes?: { content: string }[]; licenses?: object[] };
    const bill: { metadata: { component: { name: string } }; components: Component[] } = JSON.parse(
      readFileSync(join(server, "sbom.cdx.json"), "utf8"),
    );
    expect(bill.metadata.component.name).toBe("parkade");
    const { version } = JSON.parse(readFileSync("node_modules/next/package.json", "utf8"));
    expect(bill.components).toContainEqual(expect.objectContaining({ name: "next", version }));
    expect(bill.components.filter(({ hashes }) => !hashes?.[0]?.content)).toEqual([]);
    // npm leaves out a licence that has no SPDX name: that of the fonts.
    expect(bill.components.filter(({ licenses }) => !licenses?.length).map(({ name }) => name)).toEqual(["geist"]);
    const names = bill.components.map(({ name }) => name);
    // Whatever the console loads is in the bill.
    const loaded = readdirSync(join(server, "node_modules")).filter(
      (name) => !name.startsWith(".") && !name.startsWith("@"),
    );
    expect(loaded.filter((name) => !names.includes(name))).toEqual([]);
    const licences = readFileSync(join(server, "THIRD-PARTY-LICENSES.txt"), "utf8");
    expect(licences).toContain(`next ${version} (MIT)`);
    expect(licences).toContain("Permission is hereby granted, free of charge");
  });

  test.skipIf(process.getuid?.() !== 0)(
    "runs as an ordinary user, who may not write where it is installed",
    async () => {
      const nobody = { uid: 65_534, gid: 65_534, cwd: join(dir, "nobody") };
      mkdirSync(nobody.cwd);
      chownSync(nobody.cwd, nobody.uid, nobody.gid);
      const other = await serve(`http://127.0.0.1:${await freePort()}`, nobody);
      other.child.kill("SIGTERM");
      expect(await other.ended).toBe(0);
      expect(statSync(join(nobody.cwd, "data")).uid).toBe(nobody.uid);
    },
  );

  test("holds no code for the machine that packed it, and no path of it", () => {
    const files = readdirSync(join(dir, "node_modules/parkade-server"), { recursive: true, encoding: "utf8" });
    expect(files.length).toBeGreaterThan(1_000);
    expect(files.filter((file) => /\.(node|so|dylib|dll)$/.test(file))).toEqual([]);
    const built = readFileSync(
      join(dir, "node_modules/parkade-server/server/.next/required-server-files.json"),
      "utf8",
    );
    expect(built).not.toContain(process.cwd());
  });
});

test("a command works: what is parked is redriven as it came, and counted", async () => {
  await answer(0, "source", "add", "shop", "--kind", "http", "--set", `redriveUrl=${sink.url}`);
  const body = '{"orderId":7,"total":12345678901234567890}';
  const ids = Array.from({ length: 14 }, (_, n) => `order-${n}`);
  const lines = ids.map(
    (eventId) => `{"source":"shop","eventId":"${eventId}","errorCode":"TIMEOUT","payload":${body}}`,
  );
  const headers = { "content-type": "application/x-ndjson" };
  const parked = await fetch(`${url}/api/v1/events`, { method: "POST", headers, body: lines.join("\n") });
  expect(await parked.json()).toMatchObject({ accepted: ids.length, rejectedTotal: 0 });
  const words = ["redrive", "--source", "shop", "--reason", "stock is back", "--lane", "main"];
  const refused = await parkade(...words);
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining("this would redrive 14 events: say --yes")]);
  expect((await parkade(...words, "--yes")).out).toMatch(/^state +DONE\ntotal +14\nsent +14$/m);
  expect(ids.map((id) => sink.of(id).map((sent) => sent.body))).toEqual(ids.map(() => [body]));
});

test("an export asks for no more than its reader takes, and says when it broke off", async () => {
  const chunk = Buffer.alloc(64 * 1024, "x");
  let sentBytes = 0;
  let cut = () => {};
  const endless = createServer((_, response) => {
    cut = () => response.destroy();
    const send = () => {
      do sentBytes += chunk.length;
      while (response.write(chunk));
    };
    response.on("drain", send);
    send();
  }).listen(0, "127.0.0.1");
  await once(endless, "listening");
  const child = spawnParkade(["export", "--url", `http://127.0.0.1:${(endless.address() as AddressInfo).port}`]);
  const [err, closed] = [text(child.stderr), once(child, "close")];
  const looks: number[] = [];
  // Pipe, sockets and streams are full when nothing is sent between two looks.
  const isFull = () => looks.push(sentBytes) > 1 && looks.at(-2) === sentBytes && sentBytes > 0;
  await expect.poll(isFull, { interval: 500 }).toBe(true);
  expect(sentBytes).toBeLessThan(32 * 2 ** 20);
  cut();
  child.stdout.resume();
  expect([(await closed)[0], await err]).toEqual([3, expect.stringContaining("the output is incomplete")]);
  endless.close();
});

test("SIGTERM stops Parkade in order, and the next start has all events", async () => {
  server.child.kill("SIGTERM");
  expect(await server.ended).toBe(0);
  expect(server.output()).not.toMatch(/Error|Stopping at once/);
  server = await serve();
  expect((await answer(0, "search", "--count", "--source", "shop")).total.value).toBe(14);
});
