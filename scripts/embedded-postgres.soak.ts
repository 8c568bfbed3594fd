import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { embeddedOfEachTest, queryAt as query } from "../lib/testing/postgres-launcher.ts";
import { rememberedUrl, startPostgres } from "./embedded-postgres.ts";
import { isAlive } from "./process-identity.ts";
import { StartError } from "./start-error.ts";

const { cleanups, folder, start, launcher } = embeddedOfEachTest();

function edit(change: Record<string, unknown>): (path: string) => void {
  return (path) => writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), ...change }));
}

describe("the embedded PostgreSQL", () => {
  test("makes its folder so that nobody else can look into it", async () => {
    const dataDir = join(folder(), "new", "data");
    const { clusterDir } = await start(dataDir);
    expect(clusterDir).toBe(join(dataDir, "postgres"));
    expect(statSync(dataDir).mode & 0o066).toBe(0);
    expect(statSync(join(dataDir, "..")).mode & 0o777).toBe(0o755);
  });

  test("moves to another port when its own is taken, and stays there", async () => {
    const dataDir = folder();
    const first = await start(dataDir);
    await first.stop();
    const squatter = createServer().listen(first.port, "127.0.0.1");
    await once(squatter, "listening");
    cleanups.push(() => squatter.close());
    const second = await start(dataDir);
    expect(second.port).not.toBe(first.port);
    await second.stop();
    expect((await start(dataDir)).port).toBe(second.port);
  });

  test("that must keep its port waits for it, and remembers no other", async () => {
    const dataDir = folder();
    const first = await start(dataDir);
    await first.stop();
    const squatter = createServer().listen(first.port, "127.0.0.1");
    await once(squatter, "listening");
    cleanups.push(() => squatter.close());
    await expect(startPostgres({ dataDir, samePort: true })).rejects.toThrow(/port \d+ is taken by another program/);
    expect(rememberedUrl(dataDir)).toBe(first.url);
    squatter.close();
    await once(squatter, "close");
    expect((await start(dataDir)).url).toBe(first.url);
  });

  test.each([
    ["the file is missing", (path: string) => rmSync(path), /postgres\.json is missing beside the cluster/],
    ["the file has no port", edit({ port: undefined }), /lacks clusterDir, port or password/],
    ["the file is not JSON", (path: string) => writeFileSync(path, "{"), /cannot be read/],
    ["the password is another", edit({ password: "an0ther" }), /does not hold the password of the cluster/],
  ])("refuses in one sentence, and changes nothing, when %s", async (_, damage, sentence) => {
    const dataDir = folder();
    const path = join(dataDir, "postgres.json");
    await (await start(dataDir)).stop();
    damage(path);
    const before = existsSync(path) ? readFileSync(path, "utf8") : null;
    const refusal = await startPostgres({ dataDir }).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(StartError);
    expect((refusal as StartError).message).toMatch(sentence);
    expect((refusal as StartError).message).toContain("PARKADE_DATA_DIR");
    expect(existsSync(path) ? readFileSync(path, "utf8") : null).toBe(before);
  });

  test("finds the server that a killed launcher left, and goes on with its data", async () => {
    const dataDir = folder();
    const left = await launcher(dataDir);
    await query(left.url, "create table kept as select 43 as n");
    await left.kill();
    expect(isAlive(left.pid)).toBe(true);
    const next = await start(dataDir);
    expect(isAlive(left.pid)).toBe(false);
    expect(next.url).toBe(left.url);
    expect(await query(next.url, "select n from kept")).toEqual([{ n: 43 }]);
  });

  test("ends by itself some seconds after its launcher was killed", async () => {
    const left = await launcher(folder());
    await left.kill();
    await expect.poll(() => isAlive(left.pid), { interval: 200 }).toBe(false);
  });

  test("leaves alone a stranger who has the id that a stale postmaster.pid names", async () => {
    const dataDir = folder();
    const { clusterDir, stop } = await start(dataDir);
    await stop();
    const stranger = spawn("/bin/sleep", ["600"], { stdio: "ignore" });
    cleanups.push(() => stranger.kill("SIGKILL"));
    writeFileSync(join(clusterDir, "postmaster.pid"), `${stranger.pid}\n${clusterDir}\n0\n5432\n\n127.0.0.1\n`);
    expect(await query((await start(dataDir)).url, "select 1 as n")).toEqual([{ n: 1 }]);
    expect(isAlive(stranger.pid!)).toBe(true);
  });

  test("starts over after an initdb that was killed halfway", async () => {
    const dataDir = folder();
    mkdirSync(join(dataDir, "postgres.part-1", "base"), { recursive: true });
    writeFileSync(join(dataDir, "postgres.part-1", "PG_VERSION"), "18\n");
    const server = await start(dataDir);
    expect(await query(server.url, "select 1 as n")).toEqual([{ n: 1 }]);
    expect(existsSync(join(dataDir, "postgres.part-1"))).toBe(false);
  });

  test("refuses a cluster of another major version in one sentence", async () => {
    const dataDir = folder();
    const { clusterDir, stop } = await start(dataDir);
    await stop();
    writeFileSync(join(clusterDir, "PG_VERSION"), "16\n");
    await expect(startPostgres({ dataDir })).rejects.toThrow(/made by PostgreSQL 16.*PARKADE_DATA_DIR/);
  });

  test("names PARKADE_DATA_DIR when the folder is a file", async () => {
    const path = join(folder(), "file");
    writeFileSync(path, "");
    await expect(startPostgres({ dataDir: path })).rejects.toThrow(/cannot be written .*PARKADE_DATA_DIR/);
  });

  test.skipIf(process.getuid?.() !== 0)(
    "as root, puts the cluster where its user can go when the folder is closed",
    async () => {
      const dataDir = join(folder(0o700), "data");
      const server = await start(dataDir);
      cleanups.push(async () => {
        await server.stop();
        rmSync(join(server.clusterDir, ".."), { recursive: true, force: true });
      });
      expect(server.clusterDir).toMatch(/^\/var\/lib\/parkade\/data-/);
      await query(server.url, "create table kept as select 53 as n");
      await server.stop();
      expect(await query((await start(dataDir)).url, "select n from kept")).toEqual([{ n: 53 }]);
      expect(readFileSync(join(dataDir, "postgres.json"), "utf8")).toContain(server.clusterDir);
    },
  );
});
