import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ParkadeServer, parkadeServer } from "@/lib/kit/testing/parkade-server";
import { describeWith } from "@/lib/testing/describe-with";
import { redisInstalled, type TestRedis, testRedis } from "@/lib/testing/redis";

/** The TypeScript blocks of the pages, each a program of its own. `console.log(x); // 3` prints 3. */
const EXAMPLES = ["outbox", "inbox", "park", "cdc"].flatMap((page) =>
  [...readFileSync(`docs/kit/${page}.md`, "utf8").matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code], index) => ({
    name: `${page}-${index + 1}.ts`,
    // Installed, the package has these names; `scripts/pack-kit.itest.ts` imports them from its tarball.
    code: code!.replace(/"parkade\/(\w+)"/g, '"@/lib/kit/$1/$1"'),
  })),
);

function node(folder: string, args: string[], env: Record<string, string> = {}) {
  return new Promise<{ code: unknown; output: string }>((resolve) => {
    execFile(
      process.execPath,
      args,
      { env: { ...process.env, SPOOL_DIR: join(folder, "spool"), ...env } },
      (error, out, err) => resolve({ code: error?.code ?? 0, output: out + err }),
    );
  });
}

describeWith(redisInstalled ? null : "redis-server is not installed", "the examples of docs/kit", () => {
  let parkade: ParkadeServer;
  let redis: TestRedis;
  let folder: string;
  beforeAll(async () => {
    parkade = await parkadeServer();
    redis = await testRedis();
    // Beside node_modules, where the examples find pg and ioredis.
    mkdirSync("reports", { recursive: true });
    folder = mkdtempSync(join("reports", "kit-examples-"));
    for (const { code, name } of EXAMPLES) writeFileSync(join(folder, name), code);
    // The examples of a service have a database of their own: here they share Parkade's, without its tables.
    await parkade.console.deps.db.run("create schema service");
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await redis.stop();
    await parkade.stop();
  });

  test("type-check", async () => {
    expect(EXAMPLES).toHaveLength(11);
    const files = EXAMPLES.map(({ name }) => name);
    const compilerOptions = { incremental: false, paths: { "@/*": ["../../*"] } };
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({ extends: "../../tsconfig.json", compilerOptions, files, include: [] }),
    );
    expect(await node(folder, ["node_modules/typescript/bin/tsc", "-p", folder])).toEqual({ code: 0, output: "" });
  });

  test.each(EXAMPLES)("$name prints what it says", async ({ code, name }) => {
    const stated = [...code.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, text]) => text);
    expect(stated.length).toBeGreaterThan(0);
    const url = new URL(parkade.console.database.url);
    url.searchParams.set("options", "-c search_path=service");
    const env = { DATABASE_URL: url.href, REDIS_URL: redis.url, PARKADE_URL: parkade.url };
    const run = await node(folder, ["--import", "tsx", join(folder, name)], env);
    expect(run.output.trimEnd().split("\n")).toEqual(stated);
    expect(run.code).toBe(0);
  });
});
