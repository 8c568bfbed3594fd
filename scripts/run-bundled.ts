import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { buildBundles } from "./build.ts";
import { ROOT } from "./stages.ts";
import { runCommand } from "./start-error.ts";

/** `npm run backup` and `npm run replay` in a clone: the commands of `parkade` that read the store, without its package. */
await runCommand(async () => {
  const [name] = process.argv.splice(2, 1);
  await buildBundles((line) => void process.stderr.write(`${line}\n`));
  await import(pathToFileURL(join(ROOT, "dist", `${name}.mjs`)).href);
});
