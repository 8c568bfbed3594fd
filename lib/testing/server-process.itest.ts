import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { processesOf, testServer } from "./server-process.ts";

/** A server that starts a child of its own, as RabbitMQ does. */
const PROGRAM =
  'async () => ({ command: "/bin/sh", args: ["-c", "sleep 1000 & echo up; wait"], ready: (log) => log === "up\\n" })';

test("a server and its children end when the process that started them is killed", async () => {
  const module = JSON.stringify(join(import.meta.dirname, "server-process.ts"));
  const code = `import { testServer } from ${module}; console.log((await testServer("orphan", ${PROGRAM})).folder);`;
  const starter = spawn(process.execPath, ["--input-type=module-typescript", "-e", code], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(starter.stdout, "data");
  const folder = String(line).trim();
  expect(processesOf(folder)).toHaveLength(2);
  starter.kill("SIGKILL");
  await expect.poll(() => processesOf(folder)).toEqual([]);
  rmSync(folder, { recursive: true });
});

test("a server and its children end when it is stopped", async () => {
  const prepare = async () => {
    const args = ["-c", "sleep 1000 & echo up; wait"];
    return { command: "/bin/sh", args, ready: (log: string) => log === "up\n" };
  };
  const server = await testServer("stopped", prepare);
  expect(processesOf(server.folder)).toHaveLength(2);
  await server.stop();
  expect(processesOf(server.folder)).toEqual([]);
});

test("a server that ends instead of starting says what it wrote", async () => {
  const args = ["-c", "echo no such option; exit 3"];
  const start = testServer("broken", async () => ({ command: "/bin/sh", args, ready: () => false }));
  await expect(start).rejects.toThrow("broken did not start: no such option");
});

test("a server whose program is missing says so", async () => {
  const start = testServer("missing", async () => ({ command: "/no/such/program", args: [], ready: () => false }));
  await expect(start).rejects.toThrow("ENOENT");
});
