import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { runTool } from "../run-tool.ts";
import { ROOT } from "../stages.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "parkade-fetch-"));
  mkdirSync(join(folder, "bin"));
  mkdirSync(join(folder, "cache"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const cached = () => readdirSync(join(folder, "cache")).filter((name) => name.startsWith("kafka-"));
const runs = () => readFileSync(join(folder, "runs"), "utf8").trim().split("\n");

/** Puts a Maven on the path that writes down each run of it and then does what `script` says. */
function makeMaven(script: string): void {
  writeFileSync(join(folder, "bin/mvn"), `#!/bin/sh\necho run >>"${folder}/runs"\n${script}\n`);
  chmodSync(join(folder, "bin/mvn"), 0o755);
}

function fetchKafka() {
  const env = { PATH: `${folder}/bin:/usr/bin:/bin`, PARKADE_TEST_CACHE: join(folder, "cache") };
  return runTool(process.execPath, ["scripts/test-servers/fetch.ts", "kafka"], { cwd: ROOT, env });
}

/** Copies nothing but a jar into the folder of the last argument, `-DoutputDirectory=<folder>`. */
const COPY = 'for last; do :; done\ntouch "$' + '{last#*=}/kafka.jar"';

describe("fetching a test server", () => {
  test.skipIf(process.platform !== "linux")("fetches once when several ask at once, and not again", async () => {
    makeMaven(COPY);
    const both = await Promise.all([fetchKafka(), fetchKafka()]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    expect(await fetchKafka()).toMatchObject({ code: 0 });
    expect(runs()).toHaveLength(1);
    expect(existsSync(join(folder, "cache", cached()[0]!, "kafka.jar"))).toBe(true);
  });

  test("says why a fetch failed, and fetches again the next time", async () => {
    makeMaven("echo no route to Maven Central\nexit 1");
    const failed = await fetchKafka();
    expect(failed.code).toBe(1);
    expect(failed.output).toContain("no route to Maven Central");
    makeMaven(COPY);
    expect(await fetchKafka()).toMatchObject({ code: 0 });
    expect(cached()).toHaveLength(1);
  });
});

describe("a missing test server", () => {
  async function missing(name: "kafka" | "celery" = "kafka") {
    vi.stubEnv("PATH", join(folder, "bin"));
    vi.stubEnv("PARKADE_TEST_CACHE", join(folder, "cache"));
    vi.resetModules();
    const { serverMissing } = await import("./fetch.ts");
    return serverMissing(name);
  }

  test("is a reason that names the package", async () => {
    vi.stubEnv("PARKADE_TEST_REQUIRE_ALL", "");
    expect(await missing()).toBe("mvn is not installed (Debian: apt-get install maven)");
    expect(await missing("celery")).toBe("pip for python3 is not installed (Debian: apt-get install python3-pip)");
  });

  test("is an error where nothing may be skipped", async () => {
    vi.stubEnv("PARKADE_TEST_REQUIRE_ALL", "1");
    await expect(missing()).rejects.toThrow("mvn is not installed");
  });
});
