import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { buildBundles } from "./build.ts";
import { ROOT } from "./stages.ts";
import { runCommand } from "./start-error.ts";

/** `npm run backup` in a clone: `parkade backup` for those who have no package. */
await runCommand(async () => {
  await buildBundles((line) => void process.stderr.write(`${line}\n`));
  await import(pathToFileURL(join(ROOT, "dist", "backup.mjs")).href);
});
