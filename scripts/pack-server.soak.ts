import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  existsSync,
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
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { eventCountsSchema } from "@/lib/events/events.shapes";
import { previewSchema } from "@/lib/redrive/preview/redrive-preview.shapes";
import { redriveSchema } from "@/lib/redrive/redrives.shapes";
import {
  probeSchema,
  sourceListSchema,
  sourceSchema,
  targetListSchema,
  targetSchema,
} from "@/lib/sources/sources.shapes";
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

const BODY = '{"orderId":7,"total":12345678901234567890}';

/** Parks `count` events of the error code `errorCode`, each of an aggregate of its own. */
async function park(prefix: string, count: number, errorCode: string): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, n) => `${prefix}-${n}`);
  const lines = ids.map((eventId) => {
    const fields = { source: "shop", eventId, aggregateId: eventId, version: 1, errorCode, tags: { batch: prefix } };
    return `${JSON.stringify(fields).slice(0, -1)},"error":{"message":"no stock"},"payload":${BODY}}`;
  });
  const headers = { "content-type": "application/x-ndjson" };
  const parked = await fetch(`${url}/api/v1/events`, { method: "POST", headers, body: lines.join("\n") });
  expect(await parked.json()).toMatchObject({ accepted: count, rejectedTotal: 0 });
  return ids;
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

  test("needs parkade-server, and says so", async () => {
    const alone = mkdtempSync(join(tmpdir(), "parkade-kit-alone-"));
    const { folder } = await packKit(alone);
    const run = await runTool(process.execPath, [join(folder, "bin/parkade.mjs"), "serve"], { cwd: alone });
    rmSync(alone, { recursive: true });
    expect(run.output).toMatch(
      /^parkade: the package parkade-server is not installed .*No registry has it: .*pack:server.*parkade-server-VERSION\.tgz/,
    );
    expect(run.code).toBe(1);
  });

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

describe("source", () => {
  test("add, list, probe", async () => {
    const added = await answer(0, "source", "add", "shop", "--kind", "http", "--set", `redriveUrl=${sink.url}`);
    expect(sourceSchema.parse(added)).toMatchObject({
      name: "shop",
      mode: "running",
      config: { redriveUrl: sink.url },
    });
    const list = sourceListSchema.parse(await answer(0, "source", "list"));
    expect(list.items.map(({ name }) => name)).toEqual(["shop"]);
    expect(probeSchema.parse(await answer(0, "source", "probe", "shop")).reachable).toBe(true);
  });

  test("target add, list and remove", async () => {
    const given = ["--set", `redriveUrl=${sink.url}/audit`, "--reason", "the audit missed a day"];
    const added = await answer(0, "target", "add", "shop.audit", "--source", "shop", ...given);
    expect(targetSchema.parse(added)).toMatchObject({ name: "shop.audit", lane: null, ratePerSecond: 5 });
    const { items } = targetListSchema.parse(await answer(0, "target", "list"));
    expect(items.map(({ name, lane }) => [name, lane])).toEqual([
      ["shop", "main"],
      ["shop.audit", null],
      ["shop.slow", "slow"],
    ]);
    expect((await parkade("__complete", "zsh", "redrive", "--target", "")).out).toBe("shop\nshop.audit\nshop.slow\n");
    const lane = await parkade("target", "remove", "shop.slow", "--reason", "a test");
    expect([lane.code, lane.err]).toEqual([1, expect.stringContaining("(target-in-use)")]);
    expect(await parkade("target", "remove", "shop.audit", "--reason", "a test")).toMatchObject({
      code: 0,
      out: "removed  shop.audit\n",
    });
    expect((await answer(0, "target", "list")).items).toHaveLength(2);
  });

  test("pause, drain, resume and stop", async () => {
    const config = ["--config", '{"url":"amqp://127.0.0.1:1","queue":"dead"}', "--set", "prefetch:=7"];
    const added = await answer(0, "source", "add", "queue", "--kind", "rabbitmq", ...config, "--mode", "stopped");
    expect(added).toMatchObject({ mode: "stopped", config: { queue: "dead", prefetch: 7 } });
    const modes = { pause: "paused", drain: "draining", resume: "running", stop: "stopped" };
    for (const [verb, mode] of Object.entries(modes)) {
      expect(await answer(0, "source", verb, "queue", "--reason", "a test")).toMatchObject({ name: "queue", mode });
    }
    const unknown = await parkade("source", "pause", "nowhere");
    expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining("(unknown-source)")]);
  });
});

describe("redrive and verify", () => {
  beforeAll(() => park("seek", 12, "TIMEOUT"));

  test("verify follows to the end and sends nothing", async () => {
    await park("look", 3, "TIMEOUT");
    const before = sink.arrived.length;
    const verified = redriveSchema.parse(
      await answer(0, "verify", "--tag.batch", "look", "--reason", "would they go?"),
    );
    expect(verified).toMatchObject({ state: "DONE", mode: "verify", total: 3, passed: 3, createdBy: "maria" });
    expect(sink.arrived.length).toBe(before);
  });

  test("more than ten events need --yes where nobody can be asked, and are then followed to the end", async () => {
    const ids = await park("many", 14, "UPSTREAM_5XX");
    const words = ["redrive", "--tag.batch", "many", "--reason", "stock is back", "--lane", "main"];
    expect(previewSchema.parse(await answer(0, ...words, "--preview"))).toMatchObject({ total: 14, eligible: 14 });
    const refused = await parkade(...words);
    expect([refused.code, refused.out]).toEqual([2, ""]);
    expect(refused.err).toContain("this would redrive 14 events: say --yes");
    expect(ids.flatMap((id) => sink.of(id))).toEqual([]);

    const { code, out, err } = await parkade(...words, "--yes");
    expect([code, err]).toEqual([0, expect.stringMatching(/^Redrive [0-9a-f-]{36}: 14 events\n/)]);
    expect(out).toMatch(/^state +DONE\ntotal +14\nsent +14\nfailed +0\nrefused +0\nnot known yet +14 until .+\n$/m);
    expect(ids.map((id) => sink.of(id).map(({ body }) => body))).toEqual(ids.map(() => [BODY]));
  });

  test.skipIf(!existsSync("/usr/bin/script"))(
    "a person types the number of the events, and anything else changes nothing",
    async () => {
      await park("asked", 11, "TIMEOUT");
      const asked = async (typed: string) => {
        const command = "parkade redrive --tag.batch asked --reason 'stock is back' --lane main";
        const child = spawn("/usr/bin/script", ["-qec", command, "/dev/null"], { cwd: dir, env: environment() });
        let shown = "";
        child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
          if (!shown.includes("Type 11") && (shown + chunk).includes("Type 11")) child.stdin.write(typed);
          shown += chunk;
        });
        return { code: (await once(child, "close"))[0], shown };
      };
      const refused = await asked("y\n");
      expect([refused.code, refused.shown]).toEqual([1, expect.stringContaining("Nothing was changed.")]);
      expect(refused.shown).toMatch(/would be taken +11/);
      expect(sink.of("asked-0")).toEqual([]);
      expect((await asked("11\n")).code).toBe(0);
      expect(sink.of("asked-0")).toHaveLength(1);
    },
  );

  test("what fails is counted by its reason, and the exit code is 4", async () => {
    await park("mixed", 4, "UPSTREAM_5XX");
    sink.answer = ({ eventId }) => (eventId === "mixed-2" ? 422 : 200);
    const { code, out } = await parkade("redrive", "--tag.batch", "mixed", "--reason", "try", "--lane", "main");
    sink.answer = () => 200;
    expect(code).toBe(4);
    expect(out).toMatch(/^sent +3\nfailed +1 \(HTTP_422 1\)$/m);
  });

  test("Ctrl-C stops following, and the redrive goes on until it is cancelled", async () => {
    await park("slow", 9, "TIMEOUT");
    const child = spawnParkade(["redrive", "--tag.batch", "slow", "--reason", "slowly", "--rate", "1"]);
    const [err, closed] = [text(child.stderr), once(child, "close")];
    await expect
      .poll(() => sink.of("slow-0").length + sink.of("slow-1").length, { timeout: TEST_MS })
      .toBeGreaterThan(0);
    child.kill("SIGINT");
    expect((await closed)[0]).toBe(130);
    const [, id] = /The redrive (\S+) goes on: `parkade follow \1` shows it, `parkade cancel \1` stops it/.exec(
      await err,
    )!;

    expect(await answer(0, "pause", id!, "--reason", "wait")).toMatchObject({ id, state: "PAUSED" });
    expect(await parkade("follow", id!)).toMatchObject({
      code: 4,
      err: expect.stringContaining(`parkade resume ${id}`),
    });
    expect(await answer(0, "resume", id!)).toMatchObject({ state: "RUNNING" });
    expect(await answer(0, "cancel", id!)).toMatchObject({ state: "CANCELLED" });
    const followed = redriveSchema.parse(await answer(4, "follow", id!));
    expect(followed.state).toBe("CANCELLED");
    expect(followed.cancelled).toBeGreaterThan(0);
  });
});

describe("ignore and release", () => {
  test("change events, and count what was refused", async () => {
    await park("drop", 3, "VALIDATION_ERROR");
    const words = ["--tag.batch", "drop", "--reason", "a test"];
    expect(await answer(0, "ignore", ...words)).toMatchObject({ state: "DONE", changed: 3, refused: {} });
    expect(await answer(4, "ignore", ...words)).toMatchObject({ changed: 0, refused: { "already-ignored": 3 } });
    expect(await answer(0, "release", ...words, "--keep-limits")).toMatchObject({ changed: 3 });
  });

  test("a large change is an operation of a worker, followed to its end and taken back by its id", async () => {
    await park("bulk", 2_100, "VALIDATION_ERROR");
    const ignored = await answer(0, "ignore", "--tag.batch", "bulk", "--reason", "a test", "--yes");
    expect(ignored).toMatchObject({ kind: "ignore", state: "DONE", changed: 2_100, refused: 0 });
    const released = await answer(0, "release", "--operation", ignored.id, "--reason", "it was one", "--yes");
    expect(released).toMatchObject({ kind: "release", state: "DONE", changed: 2_100 });
  });
});

test("tail prints each new event once, in the order of their arrival, until Ctrl-C", async () => {
  const child = spawnParkade(["tail", "--tag.batch", "live", "--json"]);
  const printed: string[] = [];
  const closed = once(child, "close");
  createInterface({ input: child.stdout }).on("line", (line) => printed.push(JSON.parse(line).eventId));
  await park("live", 1, "TIMEOUT").then(() => expect.poll(() => printed, { timeout: TEST_MS }).toEqual(["live-0"]));
  const parked = ["live-0"];
  for (let batch = 0; batch < 5; batch++) {
    const lines = Array.from({ length: 150 }, (_, n) => {
      const eventId = `live-${batch}-${n}`;
      parked.push(eventId);
      return JSON.stringify({ source: "shop", eventId, errorCode: "TIMEOUT", tags: { batch: "live" }, payload: n });
    });
    const headers = { "content-type": "application/x-ndjson" };
    expect((await fetch(`${url}/api/v1/events`, { method: "POST", headers, body: lines.join("\n") })).status).toBe(202);
  }
  await expect.poll(() => printed.length, { timeout: TEST_MS }).toBeGreaterThanOrEqual(parked.length);
  child.kill("SIGINT");
  expect((await closed)[0]).toBe(130);
  expect(printed).toEqual(parked);
});

describe("export", () => {
  test("writes every event that matches", async () => {
    const { code, out } = await parkade("export", "--tag.batch", "bulk", "--reason", "a test");
    const lines = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).eventId);
    expect([code, new Set(lines).size]).toEqual([0, 2_100]);
    const csv = await parkade("export", "--tag.batch", "seek", "--format", "csv");
    expect(csv.out.trimEnd().split("\r\n")).toHaveLength(13);
  });

  test("asks for no more than its reader takes, and says when it broke off", async () => {
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
    await expect.poll(isFull, { interval: 500, timeout: TEST_MS }).toBe(true);
    expect(sentBytes).toBeLessThan(32 * 2 ** 20);
    cut();
    child.stdout.resume();
    expect((await closed)[0]).toBe(3);
    expect(await err).toContain("The export broke off: what was written is not complete");
    endless.close();
  });

  test("ends quietly when its reader has enough", async () => {
    const child = spawn("/bin/bash", ["-c", "set -o pipefail; parkade export --reason test | head -n 1; echo $?"], {
      cwd: dir,
      env: environment(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
    expect([out.trimEnd().split("\n").at(-1), err]).toEqual(["0", ""]);
  });
});

describe("backup", () => {
  const data = ["--data-dir", "data"];

  test("of a Parkade that runs goes into a new folder, which starts with the same events and all sends stopped", async () => {
    await park("kept", 3, "BACKED_UP");
    const count = async (at: string) =>
      eventCountsSchema.parse(await (await fetch(`${at}/api/v1/events/count`)).json()).total.value;
    const known = await count(url);
    const folder = join(dir, "backups");
    const missing = await parkade("backup", join(folder, "x.tar"), ...data);
    expect([missing.code, missing.err]).toEqual([1, expect.stringMatching(/backups does not exist: make it/)]);
    mkdirSync(folder);
    const taken = await answer(0, "backup", folder, ...data);
    expect(taken).toMatchObject({ path: expect.stringMatching(/\/backups\/parkade-.*Z\.tar$/) });
    const checked = await parkade("backup", "check", taken.path);
    expect(checked).toMatchObject({
      code: 0,
      out: expect.stringContaining(`${taken.path} is whole. It holds the store`),
    });

    const refused = await parkade("backup", "restore", taken.path, ...data);
    expect([refused.code, refused.err]).toEqual([1, expect.stringMatching(/is not empty .*never overwrites/)]);
    const cwd = join(dir, "restored");
    mkdirSync(cwd);
    const restored = await parkade("backup", "restore", taken.path, "--data-dir", join(cwd, "data"));
    expect(restored).toMatchObject({ code: 0, out: expect.stringMatching(/^Restored .*\n.*All sends are stopped/s) });
    const at = `http://127.0.0.1:${await freePort()}`;
    const second = await serve(at, { cwd });
    expect(await count(at)).toBe(known);
    const { items } = await (await fetch(`${at}/api/v1/stops`)).json();
    expect(items).toEqual([expect.objectContaining({ target: null, createdBy: "maria" })]);
    second.child.kill("SIGTERM");
    expect(await second.ended).toBe(0);
    // Of a Parkade that does not run, too.
    expect(await answer(0, "backup", folder, "--data-dir", join(cwd, "data"))).toMatchObject({
      path: expect.any(String),
    });
    expect(readdirSync(folder)).toHaveLength(2);
  });

  test("names what is wrong with a file, and the store that is not there", async () => {
    writeFileSync(join(dir, "other.tar"), "pg_dump");
    expect(await parkade("backup", "check", "other.tar")).toMatchObject({
      code: 1,
      err: "parkade: other.tar is no backup of Parkade.\n",
    });
    const none = await parkade("backup", "x.tar", "--data-dir", "nothing");
    expect([none.code, none.err]).toEqual([1, expect.stringMatching(/no store in .*nothing: set PARKADE_DATA_DIR/)]);
    expect(existsSync(join(dir, "nothing"))).toBe(false);
  });
});

describe("a shell", () => {
  /** What bash offers for a command line whose last word the cursor is in. */
  async function offered(...words: string[]): Promise<string[]> {
    const script = `source <(parkade completion bash)
COMP_WORDS=(parkade ${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length}; _parkade
printf '%s\\n' "\${COMPREPLY[@]}"`;
    const child = spawn("/bin/bash", ["-c", script], {
      cwd: dir,
      env: environment(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
    expect(err).toBe("");
    return out.trim().split("\n");
  }

  test("completes commands, options, values and names of sources", async () => {
    expect(await offered("re")).toEqual([
      "revisions",
      "restore",
      "recipe",
      "redrive",
      "release",
      "remove",
      "retention",
      "resume",
      "reject",
      "redrives",
      "redrive-rule",
    ]);
    expect(await offered("source", "pa")).toEqual(["pause"]);
    expect(await offered("search", "--stat")).toEqual(["--status"]);
    expect(await offered("search", "--status", "=", "BO")).toEqual(["BOUNCED"]);
    expect(await offered("source", "probe", "")).toEqual(["queue", "shop"]);
  });

  test.skipIf(!existsSync("/usr/bin/zsh"))(
    "completes in zsh, and offers files where nothing else is known",
    async () => {
      const script = `autoload -Uz compinit; compinit -u -D
source <(parkade completion zsh)
compadd() { shift; print -l -- "$@" }
_files() { print files }
words=(parkade search --status=BO); CURRENT=3; $_comps[parkade]
words=(parkade source pa); CURRENT=3; _parkade
words=(parkade source probe ''); CURRENT=4; _parkade
words=(parkade search --limit ''); CURRENT=4; _parkade`;
      const child = spawn("/usr/bin/zsh", ["-f", "-c", script], { cwd: dir, env: environment() });
      const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
      expect([out.trim().split("\n"), err]).toEqual([["--status=BOUNCED", "pause", "queue", "shop", "files"], ""]);
    },
  );
});

test("says when Parkade does not answer, with 3", async () => {
  const away = `http://127.0.0.1:${await freePort()}`;
  const { code, err } = await parkade("search", "--url", away);
  expect([code, err]).toEqual([3, expect.stringContaining(`does not answer at ${away}`)]);
});

test("SIGTERM stops Parkade in order, and the next start has all events", async () => {
  server.child.kill("SIGTERM");
  expect(await server.ended).toBe(0);
  expect(server.output()).not.toMatch(/Error|Stopping at once/);
  server = await serve();
  expect((await answer(0, "search", "--count", "--tag.batch", "seek")).total.value).toBe(12);
});
