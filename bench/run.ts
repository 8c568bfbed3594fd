import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { buildBundles } from "../scripts/build.ts";

/**
 * `npm run bench -- <name> [<name> ...]`: imports bench/<name>.ts and awaits its `run()`, which measures its own baseline
 * in the same run and prints ratios. Without a name it lists them; `all` runs each in turn.
 */

/** The export of each bench; files beside it without this export are its helpers and processes. */
const RUN = /^export (async )?(function|const) run\b/m;

type Bench = { run: () => Promise<unknown> };

function names(): string[] {
  return readdirSync(import.meta.dirname)
    .filter((file) => file.endsWith(".ts") && RUN.test(readFileSync(join(import.meta.dirname, file), "utf8")))
    .map((file) => basename(file, ".ts"));
}

async function main(asked: string[]): Promise<void> {
  const known = names();
  const wanted = asked.includes("all") ? known : asked;
  const unknown = wanted.filter((name) => !known.includes(name));
  if (wanted.length === 0 || unknown.length > 0) {
    const what = unknown.length > 0 ? `There is no bench ${unknown.join(", ")}. ` : "";
    console.error(`${what}Usage: npm run bench -- <name>, one of: ${known.join(", ")}, all`);
    process.exitCode = 1;
    return;
  }
  // As an installation runs: elsewhere each answer is checked against its schema, which costs more than the answer. Handlers
  // read it when they are loaded, and then take the processes that were built.
  Object.assign(process.env, { NODE_ENV: "production" });
  await buildBundles((line) => console.log(line));
  for (const name of wanted) {
    const bench: Bench = await import(pathToFileURL(join(import.meta.dirname, `${name}.ts`)).href);
    console.log(`# ${name}`);
    const result = await bench.run();
    if (result !== undefined) console.log(JSON.stringify(result, null, 2));
  }
}

await main(process.argv.slice(2));
