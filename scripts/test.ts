import { buildAll } from "./build.ts";
import { CHECKS, makeGeneratedSources } from "./check.ts";
import { fuzzStage } from "./fuzz-api.ts";
import { PROVED, readBrokerSuites, recordProved } from "./proved-brokers.ts";
import { runStages, type Stage, summaryOf, vitestStage } from "./stages.ts";
import { errorText, runCommand } from "./start-error.ts";
import { bringPackages, fetchTestServers, journeys, REQUIRE_ALL, requireAll } from "./test-machine.ts";
import { endOf, NONE } from "./test-reports.ts";

/** Without the boundaries of each field and the border cases of the document, which the soak has. */
const FUZZ = { examples: 5, phases: ["examples", "fuzzing"], borders: false } as const;

const buildStage: Stage = {
  name: "production build",
  run: async () => {
    try {
      await buildAll((line) => console.log(line));
      return NONE;
    } catch (error) {
      return { ...NONE, failed: 1, note: "the build failed", failures: [endOf(errorText(error))] };
    }
  },
};

await runCommand(async () => {
  const notes = await bringPackages();
  await makeGeneratedSources();
  const suites = await readBrokerSuites();
  const [proved, changed] = [suites.filter((suite) => suite.proved), suites.filter((suite) => !suite.proved)];
  // The archive's tests need an S3 server, whichever broker has changed.
  const fetching = fetchTestServers(["versitygw", ...changed.flatMap(({ servers }) => servers)]);
  const folders = proved.map(({ folder }) => folder);
  const outcomes = await runStages([
    ...CHECKS,
    // Integration tests wait half of their time, and so does the fuzzer for the server.
    [
      vitestStage(["integration", "brokers"], {
        env: { [PROVED]: folders.join(",") },
        fileSecondsMax: 20,
        note: folders.length > 0 ? `not run, unchanged since they passed: ${folders.join(", ")}` : undefined,
      }),
      buildStage,
    ],
    [journeys(), fuzzStage(FUZZ)],
  ]);
  const onServers = outcomes.find(({ name }) => name.startsWith("integration"));
  if (REQUIRE_ALL && onServers?.failed === 0) recordProved(suites);
  outcomes.push(...requireAll([...notes, ...(await fetching)]));
  console.log(`\n${summaryOf(outcomes)}`);
  if (outcomes.some(({ failed }) => failed > 0)) process.exitCode = 1;
});
