import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { embeddedOfEachTest, queryAt as query } from "../lib/testing/postgres-launcher.ts";
import { rememberedUrl } from "./embedded-postgres.ts";

const { folder, start, launcher } = embeddedOfEachTest();

describe("the embedded PostgreSQL", () => {
  test("keeps data, port and password over a stop and a start", async () => {
    const dataDir = folder();
    expect(rememberedUrl(dataDir)).toBeNull();
    const first = await start(dataDir);
    expect(rememberedUrl(dataDir)).toBe(first.url);
    await query(first.url, "create table kept as select 41 as n");
    await first.stop();
    const second = await start(dataDir);
    expect(second.url).toBe(first.url);
    expect(await query(second.url, "select n from kept")).toEqual([{ n: 41 }]);
  });

  test("answers on 127.0.0.1 alone and to its password alone", async () => {
    const dataDir = folder();
    const server = await start(dataDir);
    const [settings] = await query(
      server.url,
      "select current_setting('listen_addresses') as listen, current_setting('unix_socket_directories') as sockets",
    );
    expect(settings).toEqual({ listen: "127.0.0.1", sockets: "" });
    const wrong = new URL(server.url);
    wrong.password = "guessed";
    await expect(query(wrong.href, "select 1")).rejects.toMatchObject({ code: "28P01" });
    expect(statSync(join(dataDir, "postgres.json")).mode & 0o777).toBe(0o600);
    expect(statSync(join(dataDir, "logs")).mode & 0o777).toBe(0o700);
  });

  test("recovers when launcher and server were killed together", async () => {
    const dataDir = folder();
    const left = await launcher(dataDir);
    await query(left.url, "create table kept as select 47 as n");
    process.kill(left.pid, "SIGKILL");
    await left.kill();
    expect(await query((await start(dataDir)).url, "select n from kept")).toEqual([{ n: 47 }]);
  });
});
