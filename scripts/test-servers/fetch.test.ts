import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

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
