import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { disksMountable, mountDisk } from "../lib/testing/small-disk.ts";
import { isAlive } from "./process-identity.ts";
import { type ProcessOptions, type SupervisedProcess, superviseProcess } from "./supervised-process.ts";

let folder: string;
let said: string[];
const running: SupervisedProcess[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "parkade-supervised-"));
  said = [];
});
afterEach(async () => {
  for (const process of running.splice(0)) {
    process.force();
    await process.stop();
  }
  rmSync(folder, { recursive: true, force: true });
});

const READY = `process.send({ kind: "ready" }); setInterval(() => {}, 1000);`;

async function start(code: string, options: Partial<ProcessOptions> = {}): Promise<SupervisedProcess> {
  const script = join(folder, "child.mjs");
  writeFileSync(script, code);
  const process = await superviseProcess({
    name: "worker",
    args: [script],
    env: globalThis.process.env,
    cwd: folder,
    logFile: join(folder, "logs", "worker.log"),
    readyMs: 10_000,
    stopMs: 10_000,
    say: (line) => said.push(line),
    ...options,
  });
  running.push(process);
  return process;
}

describe("a supervised process", () => {
  test("is ready by its message or by its log line", async () => {
    expect((await start(READY)).pid()).not.toBeNull();
    const line = `console.log(JSON.stringify({ level: "info", msg: "worker ready" })); setInterval(() => {}, 1000);`;
    expect((await start(line)).pid()).not.toBeNull();
  });

  test("that ends before it is ready is an error with its last words, and is not started again", async () => {
    const attempt = start(`console.error("REDIS_URL is wrong"); process.exit(3);`);
    await expect(attempt).rejects.toThrow(/worker ended before it was ready \(code 3: REDIS_URL is wrong\)/);
    expect(said).toEqual([]);
  });

  test("that never becomes ready is given up and ended", async () => {
    const pidFile = join(folder, "pid");
    const code = `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(pidFile)}, String(process.pid)); setInterval(() => {}, 1000);`;
    await expect(start(code, { readyMs: 1_000 })).rejects.toThrow(/worker is not ready after 1 s/);
    expect(isAlive(Number(readFileSync(pidFile, "utf8")))).toBe(false);
  });

  test("that is killed comes back, and says so once", async () => {
    const process = await start(READY);
    const before = process.pid()!;
    globalThis.process.kill(before, "SIGKILL");
    await expect
      .poll(() => said)
      .toEqual(["worker: ended (SIGKILL), starting again in 0.5 s", "worker: running again"]);
    expect(process.pid()).not.toBe(before);
  });

  test("that does not hear SIGTERM is killed when its time is over", async () => {
    const process = await start(`process.on("SIGTERM", () => {}); ${READY}`, { stopMs: 300 });
    const pid = process.pid()!;
    await process.stop();
    expect(isAlive(pid)).toBe(false);
  });

  test("keeps all it wrote in the log file and shows the warnings", async () => {
    const lines = ['{"level":"info","msg":"quiet"}', '{"level":"warn","msg":"loud"}', '{"level":"warn","msg":"loud"}'];
    const process = await start(`for (const line of ${JSON.stringify(lines)}) console.log(line); ${READY}`);
    await expect.poll(() => said).toEqual(["worker: loud"]);
    await process.stop();
    expect(
      readFileSync(join(folder, "logs", "worker.log"), "utf8")
        .trim()
        .split("\n"),
    ).toEqual(lines);
  });

  test("keeps its log to its owner", async () => {
    await start(READY);
    expect(statSync(join(folder, "logs")).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, "logs", "worker.log")).mode & 0o777).toBe(0o600);
  });

  test.skipIf(!disksMountable)(
    "outlives a full disk with its launcher, and logs again when there is room",
    async () => {
      const disk = mountDisk(2);
      try {
        const logFile = join(disk.path, "worker.log");
        const code = `let n = 0; setInterval(() => console.log(JSON.stringify({ level: "warn", msg: "line " + n++ })), 5); ${READY}`;
        const process = await start(code, { logFile });
        const pid = process.pid();
        disk.fill();
        const saidWhenFull = said.length;
        await expect.poll(() => said.length).toBeGreaterThan(saidWhenFull + 50);
        expect(readFileSync(logFile, "utf8")).not.toContain(said.at(-1)!.slice("worker: ".length));
        disk.makeRoom();
        const saidWithRoom = said.length;
        await expect.poll(() => said.length).toBeGreaterThan(saidWithRoom + 20);
        const log = readFileSync(logFile, "utf8");
        expect(log).toContain(`"${said[saidWithRoom + 15]!.slice("worker: ".length)}"`);
        expect(log).toMatch(/"lines dropped, the disk was full","lines":\d+/);
        expect(process.pid()).toBe(pid);
        await process.stop();
      } finally {
        disk.unmount();
      }
    },
  );

  test("ends in good order when its launcher is killed with -9", async () => {
    const trace = join(folder, "trace");
    const child = join(folder, "child.mjs");
    writeFileSync(
      child,
      `import { writeFileSync } from "node:fs";
       process.on("SIGTERM", () => { console.log("stopping"); writeFileSync(${JSON.stringify(trace)}, "in order"); process.exit(0); });
       ${READY}`,
    );
    const launcherCode = `
      const { superviseProcess } = await import(${JSON.stringify(join(import.meta.dirname, "supervised-process.ts"))});
      const child = await superviseProcess({ name: "worker", args: [${JSON.stringify(child)}], env: process.env, cwd: ${JSON.stringify(folder)},
        logFile: ${JSON.stringify(join(folder, "launcher.log"))}, readyMs: 10000, stopMs: 10000, say: () => {} });
      process.send(child.pid()); setInterval(() => {}, 1000);`;
    const launcher = spawn(globalThis.process.execPath, ["--input-type=module", "-e", launcherCode], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    const [pid] = await once(launcher, "message");
    launcher.kill("SIGKILL");
    await expect.poll(() => isAlive(pid)).toBe(false);
    expect(readFileSync(trace, "utf8")).toBe("in order");
  });
});
