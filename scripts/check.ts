import { join } from "node:path";
import { generate } from "./generate.ts";
import { runTool } from "./run-tool.ts";
import { bin, ROOT, runStages, type Stage, summaryOf, toolStage, vitestStage } from "./stages.ts";
import { runCommand, StartError } from "./start-error.ts";

/** The OpenAPI document, made anew from the handlers. */
const apiLintStage: Stage = {
  name: "API description",
  run: async () => {
    const document = join("reports", "openapi.json");
    const made = await runTool(process.execPath, ["--import", "tsx", "scripts/write-api-document.ts", document], {
      cwd: ROOT,
    });
    if (made.code !== 0) throw new StartError(`The API's document could not be made:\n${made.output}`);
    return toolStage("", [bin("@redocly/cli/bin/cli.js"), "lint", document]).run();
  },
};

/** Checks that need no server and must pass before every commit. */
export const CHECKS: (Stage | Stage[])[] = [
  [
    toolStage("format and lint", [bin("@biomejs/biome/bin/biome"), "check", "--error-on-warnings", "."]),
    toolStage("types", [bin("typescript/bin/tsc"), "--noEmit"]),
    toolStage("files, exports and packages in use", [bin("knip/bin/knip.js"), "--no-progress"]),
    toolStage("origin and licences of packages", ["scripts/supply/check-packages.ts"]),
    apiLintStage,
  ],
  vitestStage(["unit", "limits"]),
];

/** The compiler reads these; a fresh clone has neither. */
export async function makeGeneratedSources(): Promise<void> {
  generate();
  const typegen = await runTool(process.execPath, [bin("next/dist/bin/next"), "typegen"], {
    cwd: ROOT,
    env: { NEXT_TELEMETRY_DISABLED: "1" },
  });
  if (typegen.code !== 0) throw new StartError(`The route types could not be made:\n${typegen.output}`);
}

if (import.meta.main) {
  await runCommand(async () => {
    await makeGeneratedSources();
    const outcomes = await runStages(CHECKS);
    console.log(`\n${summaryOf(outcomes)}`);
    if (outcomes.some((outcome) => outcome.failed > 0)) process.exitCode = 1;
  });
}
