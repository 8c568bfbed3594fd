import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StatusOut } from "../lib/observe/stats/stats.shapes.ts";
import { freePort } from "../lib/testing/free-port.ts";
import { guardAgainstOrphan } from "../scripts/orphan-guard.ts";
import { type ProcessMark, stillRuns } from "../scripts/process-identity.ts";
import { expect, test } from "./fixtures.ts";

const ROOT = join(import.meta.dirname, "..");

test("a start right after a kill -9 of the launcher ends what is left of it, and goes on with its store", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "parkade-launcher-"));
  const port = await freePort();
  const start = async (): Promise<ChildProcess> => {
    const launcher = spawn(process.execPath, [join(ROOT, "scripts/start.ts")], {
      cwd: ROOT,
      env: { ...process.env, PORT: String(port), PARKADE_DATA_DIR: dataDir, DATABASE_URL: "", REDIS_URL: "" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    launcher.once("exit", guardAgainstOrphan(launcher.pid!, { signal: "INT" }));
    let said = "";
    launcher.stdout!.on("data", (chunk: Buffer) => {
      said += chunk;
    });
    await expect
      .poll(() => (launcher.exitCode === null ? said : `ended: ${said}`), { timeout: 240_000 })
      .toContain("Parkade is ready");
    return launcher;
  };
  const call = async (path: string, init?: RequestInit) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, init);
    expect(answer.ok, await answer.clone().text()).toBe(true);
    return answer.json();
  };
  const post = (path: string, body: object) =>
    call(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  const children = (): ProcessMark[] => JSON.parse(readFileSync(join(dataDir, "run.json"), "utf8")).children;
  const running = (of: ProcessMark[]) => of.filter(stillRuns).length;

  let launcher = await start();
  try {
    await post("/api/v1/sources", {
      name: "kept",
      kind: "http",

      config: { redriveUrl: "http://127.0.0.1:9/" },
    });
    await post("/api/v1/events", { source: "kept", eventId: "k-1", errorCode: "TIMEOUT", payload: {} });
    const first = children();
    expect(running(first)).toBe(2);
    launcher.kill("SIGKILL");
    launcher = await start();
    expect(running(first)).toBe(0);
    expect(running(children())).toBe(2);
    const page: { items: { eventId: string }[] } = await call("/api/v1/events");
    expect(page.items.map(({ eventId }) => eventId)).toEqual(["k-1"]);
    await expect
      .poll(async () => ((await call("/api/v1/status")) as StatusOut).worker, { timeout: 120_000 })
      .toMatchObject({ alive: 1 });
  } finally {
    launcher.kill("SIGINT");
    if (launcher.exitCode === null && launcher.signalCode === null) await once(launcher, "exit");
    rmSync(dataDir, { recursive: true, force: true });
  }
});
