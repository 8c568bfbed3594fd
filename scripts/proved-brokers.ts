import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { generate } from "./generate.ts";
import { ROOT, runStages, summaryOf, vitestStage } from "./stages.ts";
import { runCommand } from "./start-error.ts";
import { FETCHED, type Fetched } from "./test-servers/fetch.ts";

/** The suites that passed, by folder, each with the fingerprint of all that it depends on. */
const RECORD = join(ROOT, ".ci", "proved-brokers.json");

/** The variable by which vitest.config.ts leaves suites out: their folders, separated by commas. */
export const PROVED = "PARKADE_PROVED";

type BrokerSuite = { folder: string; fingerprint: string; proved: boolean; servers: Fetched[] };

/** The tests of a kind of broker, or of the kit; each runs when something that it depends on has changed since it passed. */
export async function readBrokerSuites(): Promise<BrokerSuite[]> {
  generate();
  const files = globSync("lib/{brokers/*,kit}/**/*.itest.ts", { cwd: ROOT }).toSorted();
  // Programs that tests start are no imports of theirs.
  const programs = globSync("lib/{brokers,kit}/testing/*.ts", { cwd: ROOT });
  const imports = await importsOf([...files, ...programs]);
  const record = readRecord();
  return [...new Set(files.map(suiteFolder))].map((folder) => {
    const area = folder.split("/").slice(0, 2).join("/");
    const own = [
      ...files.filter((file) => suiteFolder(file) === folder),
      ...programs.filter((file) => file.startsWith(area)),
    ];
    const inputs = withWhatTheyNeed(reachedFrom(own, imports));
    const fingerprint = fingerprintOf(inputs);
    return { folder, fingerprint, proved: record[folder] === fingerprint, servers: serversAmong(inputs) };
  });
}

/** `lib/kit/park/park.itest.ts` belongs to `lib/kit`, `lib/brokers/kafka/kafka.itest.ts` to `lib/brokers/kafka`. */
function suiteFolder(file: string): string {
  return file.startsWith("lib/kit/") ? "lib/kit" : file.split("/").slice(0, 3).join("/");
}

/** By file of the project: the files that it imports, and the packages as `name@version`. */
async function importsOf(files: string[]): Promise<Map<string, string[]>> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: files,
    bundle: true,
    write: false,
    outdir: "none",
    metafile: true,
    packages: "external",
    platform: "node",
    format: "esm",
    logLevel: "silent",
  });
  return new Map(
    Object.entries(metafile.inputs).map(([file, { imports }]) => [
      file,
      imports.map(({ path, external }) => (external ? packageVersion(path) : path)),
    ]),
  );
}

function reachedFrom(files: string[], imports: Map<string, string[]>): string[] {
  const reached = new Set(files);
  for (const file of reached) for (const next of imports.get(file) ?? []) reached.add(next);
  return [...reached];
}

function withWhatTheyNeed(inputs: string[]): string[] {
  const recipes = globSync("scripts/test-servers/*.{xml,sh,txt}", { cwd: ROOT });
  const onStore = inputs.includes("lib/testing/postgres.ts");
  const migrations = onStore ? globSync("prisma/migrations/*/migration.sql", { cwd: ROOT }) : [];
  return [...inputs, ...recipes, ...migrations].toSorted();
}

/** `undici@8.12.4`; a module of Node is its own name. */
function packageVersion(path: string): string {
  const name = path
    .split("/")
    .slice(0, path.startsWith("@") ? 2 : 1)
    .join("/");
  const manifest = join(ROOT, "node_modules", name, "package.json");
  return existsSync(manifest) ? `${name}@${JSON.parse(readFileSync(manifest, "utf8")).version}` : name;
}

function fingerprintOf(inputs: string[]): string {
  const hash = createHash("sha256");
  for (const input of inputs) {
    hash.update(input).update("\0");
    if (existsSync(join(ROOT, input))) hash.update(readFileSync(join(ROOT, input))).update("\0");
  }
  return hash.digest("hex").slice(0, 16);
}

const MODULE_OF: Partial<Record<string, Fetched>> = { nats: "debian-13" };

function serversAmong(inputs: string[]): Fetched[] {
  const modules = inputs.map((input) => /^lib\/testing\/(\w+)\.ts$/.exec(input)?.[1] ?? "");
  return FETCHED.filter((name) => modules.some((module) => (MODULE_OF[module] ?? module) === name));
}

function readRecord(): Record<string, string> {
  return existsSync(RECORD) ? JSON.parse(readFileSync(RECORD, "utf8")) : {};
}

/** Writes down that the suites passed, with every server that they need. */
export function recordProved(suites: BrokerSuite[]): void {
  const record = Object.fromEntries(suites.map(({ folder, fingerprint }) => [folder, fingerprint]));
  writeFileSync(RECORD, `${JSON.stringify(record, null, 2)}\n`);
}

/** Runs the suites that have changed and records those that pass. */
if (import.meta.main) {
  await runCommand(async () => {
    const suites = await readBrokerSuites();
    const failed: string[] = [];
    for (const { folder } of suites.filter(({ proved }) => !proved)) {
      const others = suites.filter((suite) => suite.folder !== folder).map((suite) => suite.folder);
      const env = { [PROVED]: others.join(","), PARKADE_TEST_REQUIRE_ALL: "1" };
      const outcomes = await runStages([vitestStage(["brokers"], { env })]);
      console.log(summaryOf(outcomes));
      if (outcomes.some((outcome) => outcome.failed > 0)) failed.push(folder);
    }
    recordProved(suites.filter(({ folder }) => !failed.includes(folder)));
    if (failed.length > 0) process.exitCode = 1;
  });
}
