import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { ROOT } from "./stages.ts";
import { runCommand } from "./start-error.ts";

/** `npm run parkade --` in a clone: the command line of the sources, for those who have no package. */
await runCommand(async () => {
  // A folder of its own: two runs at once do not read each other's half of a bundle.
  const folder = mkdtempSync(join(tmpdir(), "parkade-cli-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const outfile = join(folder, "parkade.mjs");
  await build({
    absWorkingDir: ROOT,
    entryPoints: ["lib/cli/main.ts"],
    outfile,
    bundle: true,
    platform: "node",
    target: "node22",
    format: "esm",
    logLevel: "error",
  });
  await import(pathToFileURL(outfile).href);
});
