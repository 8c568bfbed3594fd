import { join } from "node:path";
import { buildAll } from "./build.ts";
import { CHECKS, makeGeneratedSources } from "./check.ts";
import { chromiumPath } from "./chromium.ts";
import { fuzzStage } from "./fuzz-api.ts";
import { runTool } from "./run-tool.ts";
import { endOf, playwrightStage, ROOT, runStages, type Stage, summaryOf, vitestStage } from "./stages.ts";
import { errorText, runCommand } from "./start-error.ts";

/** Nothing may be silently left out where this is set. */
const REQUIRE_ALL = process.env.PARKADE_TEST_REQUIRE_ALL === "1";

const buildStage: Stage = {
  name: "production build",
  run: async () => {
    try {
      await buildAll((line) => console.log(line));
      return { passed: 0, failed: 0, skipped: 0 };
    } catch (error) {
      console.error(errorText(error));
      return { passed: 0, failed: 1, skipped: 0, note: "the build failed", failures: [endOf(errorText(error))] };
    }
  },
};

/** Journeys without a browser are journeys that nobody made: that is a failure, and the fix is named. */
function journeys(): Stage {
  if (chromiumPath() !== null) return playwrightStage();
  const note = "NOT RUN: no Chromium; install the package `chromium`, or name one in PLAYWRIGHT_CHROMIUM";
  return { name: "journeys", run: async () => ({ passed: 0, failed: 1, skipped: 0, note }) };
}

async function has(command: string): Promise<boolean> {
  return (
    (await runTool("/bin/sh", ["-c", `command -v ${command} || test -x /usr/sbin/${command}`], { cwd: ROOT })).code ===
    0
  );
}

/** What the machine lacks is installed where that is allowed, and named where it is not. */
async function bringServers(): Promise<string[]> {
  const packages = await runTool("/bin/bash", [join(ROOT, "scripts/system-packages.sh")], { cwd: ROOT, show: true });
  if (packages.code !== 0) console.error("Going on without the packages that could not be installed");
  const notes: string[] = [];
  if (!(await has("redis-server"))) notes.push("redis-server is missing: the tests of the Redis lane are skipped");
  if (!(await has("rabbitmq-server")))
    notes.push("rabbitmq-server is missing: the tests on a real RabbitMQ are skipped");
  return notes;
}

/** Runs beside the checks: the integration tests wait for what is still on its way. Resolves with what could not be fetched. */
async function fetchTestServers(): Promise<string[]> {
  const { code, output } = await runTool(process.execPath, ["scripts/test-servers/fetch.ts"], { cwd: ROOT });
  return code === 0 ? [] : [`tests are skipped because a server is missing: ${output.trim()}`];
}

await runCommand(async () => {
  const notes = await bringServers();
  const fetching = fetchTestServers();
  for (const note of notes) console.log(note);
  await makeGeneratedSources();
  const outcomes = await runStages([
    ...CHECKS,
    vitestStage(["integration", "brokers"]),
    buildStage,
    fuzzStage,
    journeys(),
  ]);
  notes.push(...(await fetching));
  if (REQUIRE_ALL && notes.length > 0) {
    outcomes.push({ name: "servers", passed: 0, failed: notes.length, skipped: 0, seconds: 0, note: notes.join("; ") });
  }
  console.log(`\n${[...notes, summaryOf(outcomes)].join("\n")}`);
  if (outcomes.some((outcome) => outcome.failed > 0)) process.exitCode = 1;
});
