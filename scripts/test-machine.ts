import { join } from "node:path";
import { chromiumPath } from "./chromium.ts";
import { runTool } from "./run-tool.ts";
import { type Outcome, playwrightStage, ROOT, type Stage } from "./stages.ts";
import { NONE } from "./test-reports.ts";
import type { Fetched } from "./test-servers/fetch.ts";

/** Nothing may be silently left out where this is set. */
export const REQUIRE_ALL = process.env.PARKADE_TEST_REQUIRE_ALL === "1";

/** Installs the system's packages where that is allowed. Resolves with what is missing all the same. */
export async function bringPackages(): Promise<string[]> {
  const packages = await runTool("/bin/bash", [join(ROOT, "scripts/system-packages.sh")], { cwd: ROOT, show: true });
  if (packages.code !== 0) console.error("Going on without the packages that could not be installed");
  const notes: string[] = [];
  if (!(await has("redis-server"))) notes.push("redis-server is missing: the tests of the Redis lane are skipped");
  if (!(await has("rabbitmq-server")))
    notes.push("rabbitmq-server is missing: the tests on a real RabbitMQ are skipped");
  for (const note of notes) console.log(note);
  return notes;
}

async function has(command: string): Promise<boolean> {
  return (
    (await runTool("/bin/sh", ["-c", `command -v ${command} || test -x /usr/sbin/${command}`], { cwd: ROOT })).code ===
    0
  );
}

/** Runs beside the checks: tests that need a server wait for it. Resolves with what could not be fetched. */
export async function fetchTestServers(names: Fetched[]): Promise<string[]> {
  const { code, output } = await runTool(process.execPath, ["scripts/test-servers/fetch.ts", ...new Set(names)], {
    cwd: ROOT,
  });
  return code === 0 ? [] : [`tests are skipped because a server is missing: ${output.trim()}`];
}

/** What is missing, as a failure where everything must be there. */
export function requireAll(notes: string[]): Outcome[] {
  if (!REQUIRE_ALL || notes.length === 0) return [];
  return [{ ...NONE, name: "servers", failed: notes.length, seconds: 0, note: notes.join("; ") }];
}

/** Journeys without a browser are journeys that nobody made: that is a failure, and the fix is named. */
export function journeys(options: Parameters<typeof playwrightStage>[0] = {}): Stage {
  if (chromiumPath() !== null) return playwrightStage(options);
  const note =
    "NOT RUN: no Chromium; install the package `chromium-headless-shell`, or name one in PLAYWRIGHT_CHROMIUM";
  return { name: "journeys", run: async () => ({ ...NONE, failed: 1, note }) };
}
