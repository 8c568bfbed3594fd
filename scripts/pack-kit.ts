import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { runTool } from "./run-tool.ts";
import { bin, ROOT } from "./stages.ts";
import { runCommand, StartError } from "./start-error.ts";

/** What users import: `parkade/<name>`, and the module that holds its exports. */
const ENTRIES: Record<string, string> = {
  retry: "lib/kit/retry/retry.ts",
  outbox: "lib/kit/outbox/outbox.ts",
  inbox: "lib/kit/inbox/inbox.ts",
  park: "lib/kit/park/park.ts",
};

/** Programs of the package, each bundled into one file with everything that it imports. */
const BINS: Record<string, string> = { parkade: "lib/cli/main.ts" };

/** Packages that an entry may import. The user installs them, and only for the entries that need them. */
const OPTIONAL_PEERS: Record<string, string> = {
  ioredis: ">=5",
  pg: ">=8",
};

/** What `parkade serve` runs, of the same version. Those who run Parkade install it; services do without. */
const SERVER = "parkade-server";

export type Kit = {
  /** The package as a folder. */
  folder: string;
  tarball: string;
};

/**
 * Makes the npm package `parkade` out of `lib`, as `package/` and `parkade-<version>.tgz` below `out`. Each
 * module stays a file of its own, so that a bundler drops the modules that nobody imports. Throws StartError when a
 * module does not compile, or imports a package that is not among the peers.
 */
export async function packKit(out: string): Promise<Kit> {
  const folder = join(out, "package");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await compile(folder);
  const imported = new Set(modulesIn(folder).flatMap((file) => withRelativeImports(file, folder)));
  await bundleBins(folder);
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest(imported), null, 2)}\n`);
  cpSync(join(ROOT, "LICENSE"), join(folder, "LICENSE"));
  // The README lies one folder above the pages that it links.
  cpSync(join(ROOT, "docs/kit"), join(folder, "docs"), { recursive: true });
  const readme = readFileSync(join(ROOT, "docs/kit/README.md"), "utf8");
  writeFileSync(join(folder, "README.md"), readme.replaceAll(/\]\((?=[\w-]+\/)/g, "](docs/"));
  const { name, version } = manifest(imported);
  const packed = await runTool("npm", ["pack", folder, "--pack-destination", out, "--ignore-scripts"], { cwd: out });
  if (packed.code !== 0) throw new StartError(`npm pack failed:\n${packed.output}`);
  return { folder, tarball: join(out, `${name}-${version}.tgz`) };
}

/** JavaScript and declarations of all that the entries import, in the tree of the sources. */
async function compile(folder: string): Promise<void> {
  const config = join(mkdtempSync(join(tmpdir(), "parkade-kit-")), "tsconfig.json");
  const compilerOptions = {
    target: "ES2022",
    noEmit: false,
    allowImportingTsExtensions: false,
    allowJs: false,
    incremental: false,
    declaration: true,
    rootDir: ROOT,
    outDir: folder,
    plugins: [],
    paths: { "@/*": [`${ROOT}/*`] },
    typeRoots: [join(ROOT, "node_modules/@types")],
  };
  const files = Object.values(ENTRIES).map((source) => join(ROOT, source));
  writeFileSync(config, JSON.stringify({ extends: join(ROOT, "tsconfig.json"), compilerOptions, files, include: [] }));
  const compiled = await runTool(process.execPath, [bin("typescript/bin/tsc"), "-p", config], { cwd: ROOT });
  rmSync(dirname(config), { recursive: true, force: true });
  if (compiled.code !== 0) throw new StartError(`The kit does not compile:\n${compiled.output}`);
}

const SPECIFIER = /(\bfrom\s*|\bimport\s*\(\s*|^import\s+)(["'])([^"'\n]+)\2/gm;

/** Writes imports of our own modules as relative paths with an extension. @returns the packages that the module imports */
function withRelativeImports(file: string, folder: string): string[] {
  const packages: string[] = [];
  const written = (specifier: string): string => {
    // The compiler makes such imports for types that it inferred.
    if (specifier.startsWith(".")) return /\.js(on)?$/.test(specifier) ? specifier : `${specifier}.js`;
    if (specifier.startsWith("@/")) {
      const path = relative(dirname(file), join(folder, specifier.slice(2)));
      return written(path.startsWith(".") ? path : `./${path}`);
    }
    packages.push(packageOf(specifier));
    return specifier;
  };
  const text = readFileSync(file, "utf8").replace(
    SPECIFIER,
    (_, before: string, quote: string, specifier: string) => `${before}${quote}${written(specifier)}${quote}`,
  );
  writeFileSync(file, text);
  return packages.filter((name) => !name.startsWith("node:") && !builtinModules.includes(name));
}

function packageOf(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

async function bundleBins(folder: string): Promise<void> {
  await build({
    absWorkingDir: ROOT,
    entryPoints: Object.entries(BINS).map(([name, source]) => ({ in: source, out: name })),
    outdir: join(folder, "bin"),
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    target: "node22",
    format: "esm",
    splitting: true,
    logLevel: "silent",
    banner: { js: "#!/usr/bin/env node" },
  });
}

function manifest(imported: ReadonlySet<string>): { name: string; version: string; [field: string]: unknown } {
  const root: { version: string; license: string; engines: object } = JSON.parse(
    readFileSync(join(ROOT, "package.json"), "utf8"),
  );
  const strays = [...imported].filter((name) => !(name in OPTIONAL_PEERS));
  if (strays.length > 0) throw new StartError(`The kit imports ${strays.join(", ")}: make it a peer, or do without.`);
  const used = Object.entries(OPTIONAL_PEERS).filter(([name]) => imported.has(name));
  const peers = [...used, [SERVER, root.version] as const];
  const compiled = (source: string, ext: string) => `./${source.replace(/\.ts$/, ext)}`;
  return {
    name: "parkade",
    version: root.version,
    description:
      "Retry, outbox, inbox and parking for services that send their dead letters to Parkade, and its command line.",
    license: root.license,
    type: "module",
    sideEffects: false,
    engines: root.engines,
    exports: {
      ...Object.fromEntries(
        Object.entries(ENTRIES).map(([name, source]) => [
          `./${name}`,
          { types: compiled(source, ".d.ts"), default: compiled(source, ".js") },
        ]),
      ),
      "./package.json": "./package.json",
    },
    bin: Object.fromEntries(Object.keys(BINS).map((name) => [name, `bin/${name}.mjs`])),
    peerDependencies: Object.fromEntries(peers),
    peerDependenciesMeta: Object.fromEntries(peers.map(([name]) => [name, { optional: true }])),
  };
}

function modulesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => /\.(js|d\.ts)$/.test(file))
    .map((file) => join(folder, file));
}

/** What a bundle of these exports of `parkade/retry`, and of nothing else, may weigh; docs/kit/retry/README.md repeats it. */
export const RETRY_SIZES: readonly { names: string[]; minifiedBytesMax: number; whole?: true }[] = [
  { names: ["retry"], minifiedBytesMax: 7_500 },
  { names: ["retry", "PRESETS"], minifiedBytesMax: 8_000 },
  { names: ["execute", "PRESETS"], minifiedBytesMax: 17_000 },
  // Every guard and every table of errors.
  { names: ["createTarget"], minifiedBytesMax: 60_000, whole: true },
];

export type BundleSize = {
  minifiedBytes: number;
  /** At zlib's default level. */
  gzippedBytes: number;
  /** The bundled files, as paths below the package. */
  files: string[];
};

/** The size of a bundle of exports of `parkade/retry`. @param folder the package */
export async function retrySize(folder: string, names: readonly string[]): Promise<BundleSize> {
  const list = names.join(", ");
  const bundled = await build({
    stdin: {
      contents: `import { ${list} } from "./${ENTRIES.retry!.replace(/ts$/, "js")}"; globalThis.kept = [${list}];`,
      resolveDir: folder,
    },
    absWorkingDir: folder,
    bundle: true,
    minify: true,
    format: "esm",
    metafile: true,
    write: false,
    logLevel: "silent",
  });
  const [output] = Object.values(bundled.metafile.outputs);
  const files = Object.entries(output!.inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  const { contents } = bundled.outputFiles[0]!;
  return {
    minifiedBytes: contents.length,
    gzippedBytes: gzipSync(contents).length,
    files: files.map(([file]) => file).filter((file) => file !== "<stdin>"),
  };
}

if (import.meta.main) {
  await runCommand(async () => {
    const { values } = parseArgs({ options: { out: { type: "string", default: join(ROOT, "dist-kit") } } });
    const { folder, tarball } = await packKit(values.out);
    console.log(tarball);
    for (const { names } of RETRY_SIZES) {
      const { minifiedBytes, gzippedBytes } = await retrySize(folder, names);
      const [minified, gzipped] = [minifiedBytes, gzippedBytes].map((bytes) => bytes.toLocaleString("en"));
      console.log(`${names.join(" and ")}: ${minified} bytes minified, ${gzipped} gzipped`);
    }
  });
}
