import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { freePort } from "../lib/testing/free-port.ts";
import { runTool } from "./run-tool.ts";

const SCRIPT = join(import.meta.dirname, "start.ts");

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "parkade-start-"));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

async function start(env: Record<string, string>, args: string[] = []) {
  const unset = { DATABASE_URL: "", REDIS_URL: "", npm_lifecycle_event: "" };
  const { code, output } = await runTool(process.execPath, [SCRIPT, ...args], {
    cwd: tmpdir(),
    env: { ...unset, PORT: String(await freePort()), PARKADE_DATA_DIR: dataDir, ...env },
  });
  return { code, lines: output.trim().split("\n") };
}

/** One sentence, code 1, and nothing begun that would have to be undone. */
function expectRefusal(outcome: { code: number; lines: string[] }, sentence: RegExp): void {
  expect(outcome.lines).toEqual([expect.stringMatching(sentence)]);
  expect(outcome.lines[0]).toMatch(/^parkade: .*\.$/);
  expect(outcome.code).toBe(1);
  expect(existsSync(join(dataDir, "postgres"))).toBe(false);
  expect(existsSync(join(dataDir, "run.json"))).toBe(false);
}

describe("npm start refuses before any work", () => {
  test("a port that is taken", async () => {
    const squatter = createServer().listen(0, "127.0.0.1");
    await once(squatter, "listening");
    const address = squatter.address();
    const port = typeof address === "object" && address ? address.port : 0;
    expectRefusal(await start({ PORT: String(port) }), new RegExp(`Port ${port} is taken .* set PORT`));
    squatter.close();
  });

  test("a PostgreSQL that does not answer", async () => {
    const url = `postgresql://user:s3cret@127.0.0.1:${await freePort()}/db`;
    const outcome = await start({ DATABASE_URL: url });
    expectRefusal(outcome, /DATABASE_URL .*ECONNREFUSED.*unset it to use the embedded PostgreSQL/);
    expect(outcome.lines[0]).not.toContain("s3cret");
  });

  test("an option that it does not know", async () => {
    expectRefusal(await start({}, ["--dmeo"]), /Unknown option --dmeo/);
  });
});
