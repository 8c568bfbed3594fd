import { buildAll } from "./build.ts";
import { makeGeneratedSources } from "./check.ts";
import { EVERY_PHASE, fuzzStage } from "./fuzz-api.ts";
import { runStages, summaryOf, toolStage, vitestStage } from "./stages.ts";
import { runCommand } from "./start-error.ts";
import { bringPackages, fetchTestServers, journeys, requireAll } from "./test-machine.ts";
import { FETCHED } from "./test-servers/fetch.ts";

const FUZZ = { examples: 40, phases: EVERY_PHASE, borders: true };

/** What is too long for the gate: kills, every kind and version of broker, many runs of the models, chaos, the whole fuzz. */
await runCommand(async () => {
  const notes = await bringPackages();
  await makeGeneratedSources();
  notes.push(...(await fetchTestServers([...FETCHED])));
  await buildAll((line) => console.log(line));
  const outcomes = await runStages([
    vitestStage(["soak", "brokers"]),
    journeys({ env: { PARKADE_SOAK: "1" }, args: ["--grep", "@soak"] }),
    fuzzStage(FUZZ),
    toolStage("chaos", ["--expose-gc", "--import", "tsx", "bench/run.ts", "chaos"]),
  ]);
  outcomes.push(...requireAll(notes));
  console.log(`\n${summaryOf(outcomes)}`);
  if (outcomes.some(({ failed }) => failed > 0)) process.exitCode = 1;
});
