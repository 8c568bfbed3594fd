import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * `npm run bench -- <name> [<name> ...]`: imports bench/<name>.ts and awaits its `run()`, which measures its own baseline
 * in the same run and prints ratios. Without a name it lists them; `all` runs each in turn.
 */
const SUPPORT = new Set(["run", "stack", "report"]);

type Bench = { run: () => Promise<unknown> };

async function load(name: string): Promise<Bench | null> {
  const module: Partial<Bench> = await import(pathToFileURL(join(import.meta.dirname, `${name}.ts`)).href);
  return typeof module.run === "function" ? { run: module.run } : null;
}

async function main(names: string[]): Promise<void> {
  const known = readdirSync(import.meta.dirname)
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .map((file) => basename(file, ".ts"))
    .filter((name) => !SUPPORT.has(name));
  const wanted = names.includes("all") ? known : names;
  const unknown = wanted.filter((name) => !known.includes(name));
  if (wanted.length === 0 || unknown.length > 0) {
    const what = unknown.length > 0 ? `There is no bench ${unknown.join(", ")}. ` : "";
    console.error(`${what}Usage: npm run bench -- <name>, one of: ${known.join(", ")}, all`);
    process.exitCode = 1;
    return;
  }
  for (const name of wanted) {
    const bench = await load(name);
    if (!bench) {
      // A part of another bench (the process it starts) lies beside it and has no run of its own.
      if (!names.includes("all")) throw new Error(`bench/${name}.ts exports no run()`);
      continue;
    }
    console.log(`# ${name}`);
    const result = await bench.run();
    if (result !== undefined) console.log(JSON.stringify(result, null, 2));
  }
}

await main(process.argv.slice(2));
