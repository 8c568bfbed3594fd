import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { markOf } from "./process-identity.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "parkade-install-"));
  mkdirSync(join(folder, "scripts"));
  for (const name of ["ensure-install.mjs", "lock-for-start.mjs"]) {
    cpSync(join(import.meta.dirname, name), join(folder, "scripts", name));
  }
  writeFileSync(join(folder, "package.json"), "{}");
  // A version other than the installed one.
  const lock = { packages: { "": {}, "node_modules/next": { version: "99.0.0" } } };
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify(lock));
  mkdirSync(join(folder, "node_modules", "next"), { recursive: true });
  mkdirSync(join(folder, "data"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function start(run: object) {
  writeFileSync(join(folder, "data", "run.json"), JSON.stringify(run));
  // An npm that installs nothing.
  const env = { ...process.env, PARKADE_DATA_DIR: join(folder, "data"), npm_execpath: join(folder, "npm.cjs") };
  writeFileSync(env.npm_execpath, "process.exit(7)");
  return spawnSync(process.execPath, [join(folder, "scripts", "ensure-install.mjs"), "start"], {
    env,
    encoding: "utf8",
  });
}

test("a start beside a console that runs from the same folder leaves its packages where they are", () => {
  const { pid: launcher, started } = markOf(process.pid);
  const refused = start({ launcher, started });
  expect(refused.stderr).toContain(`Parkade runs from this folder (process ${launcher})`);
  expect(refused.status).toBe(1);
  expect(existsSync(join(folder, "node_modules", "next"))).toBe(true);
});

test("a start installs when the console that was noted has ended, or its process id is another one's by now", () => {
  for (const run of [
    { launcher: 2 ** 22 + 1, started: "1" },
    { launcher: process.pid, started: "1" },
  ]) {
    expect(start(run).stdout).toContain("Installing the packages");
  }
});
