import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { type BuildOptions, build as bundle, type Plugin } from "esbuild";
import { generate } from "./generate.ts";
import { readRouteMethods } from "./route-methods.ts";
import { runTool } from "./run-tool.ts";
import { runCommand, StartError } from "./start-error.ts";
import { timed } from "./steps.ts";

const ROOT = join(import.meta.dirname, "..");

/** Programs beside Next, each bundled with everything it imports: the image needs no node_modules for them. */
export const BUNDLES: Record<string, string> = {
  web: "scripts/web-server.ts",
  worker: "workers/main.ts",
  "schema-thread": "lib/sources/schemas/schema-thread.ts",
  migrate: "scripts/migrate-database.ts",
  serve: "scripts/serve.ts",
  backup: "scripts/backup-program.ts",
  replay: "scripts/replay-program.ts",
  tied: "scripts/tied.mjs",
  "demo-seed": "prisma/seed.ts",
  "demo-downstream": "workers/demo-downstream.ts",
};

/** `parkade:api-routes`: the route files of `app` as a table for the web server. */
const apiRoutes: Plugin = {
  name: "api-routes",
  setup(build) {
    build.onResolve({ filter: /^parkade:api-routes$/ }, ({ path }) => ({ path, namespace: "api-routes" }));
    build.onLoad({ filter: /.*/, namespace: "api-routes" }, () => {
      const routes = readRouteMethods(ROOT);
      const imports = routes.map(({ file }, n) => `import * as route${n} from ${JSON.stringify(`./${file}`)};`);
      imports.push('import * as nowhere from "./app/api/[...path]/route.ts";');
      const rows = routes.map(({ path }, n) => `{ path: ${JSON.stringify(path)}, handlers: route${n} }`);
      rows.push('{ path: "/api/[...path]", handlers: nowhere }');
      const atStart = 'export { makeSetupLinkAtStart } from "./app/_server/sign-in/set-up.ts";';
      const contents = `${imports.join("\n")}\n${atStart}\nexport const API_ROUTES = [${rows.join(", ")}];`;
      return { contents, resolveDir: ROOT, loader: "js" };
    });
  },
};

/**
 * gaxios, which asks Google for tokens, imports the agent for HTTPS_PROXY at run time. The agent is CommonJS, and a bundle gives
 * such an import `default` and no names.
 */
const proxyAgent: Plugin = {
  name: "proxy-agent",
  setup(build) {
    build.onResolve({ filter: /^https-proxy-agent$/ }, ({ kind, path, resolveDir }) =>
      kind === "dynamic-import" ? { path, namespace: "proxy-agent", pluginData: resolveDir } : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: "proxy-agent" }, ({ path, pluginData }) => {
      const contents = `export { HttpsProxyAgent } from ${JSON.stringify(path)};`;
      return { contents, resolveDir: pluginData, loader: "js" };
    });
  },
};

/** Next and the Kafka client find their own files beside themselves. The other modules are optional accelerators. */
const EXTERNAL = ["next", "@platformatic/kafka", "pg-native", "msgpackr-extract"];

/**
 * CommonJS packages inside an ES module bundle still call require() for Node's own modules. Node 22 has no
 * `import.meta.main`.
 */
const BANNER = `import { createRequire as __createRequire } from "node:module";
const require = __createRequire(import.meta.url);
const __main = process.argv[1] === import.meta.filename;`;

/** How the programs are bundled, without the files. */
export const BUNDLING = {
  absWorkingDir: ROOT,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  platform: "node",
  target: "node22",
  format: "esm",
  // A module that is imported at its first use is read then: a web process that only serves pages loads no broker's client.
  splitting: true,
  chunkNames: "chunk-[hash]",
  // Neither minified nor mapped: a trace names the functions as written, and reading the maps costs each process
  // a hundred megabytes.
  logLevel: "silent",
  external: EXTERNAL,
  plugins: [apiRoutes, proxyAgent],
  banner: { js: BANNER },
} satisfies BuildOptions;

const WEB_INPUTS = ["app", "components", "lib", "public", "next.config.ts", "postcss.config.mjs", "tsconfig.json"];
/** `app` for the methods of its routes, which the web server knows. */
const BUNDLE_INPUTS = ["app", "lib", "workers", "scripts", "prisma"];
const ALWAYS = ["package-lock.json", "prisma/schema.prisma"];

/**
 * Brings .next and dist up to date with the sources; what has not changed since the last build is left alone.
 * Throws StartError with the compiler's words.
 */
export async function buildAll(say: (line: string) => void, signal?: AbortSignal): Promise<void> {
  // First, because Turbopack looks up the threads and processes in dist.
  await buildBundles(say);
  signal?.throwIfAborted();
  await step(".next/.built-from", fingerprint([...WEB_INPUTS, ...ALWAYS]), () =>
    timed(say, "Building the console (half a minute, only after a change)", "Console built", () => buildNext(signal)),
  );
}

/** The same without the console: worker and migrations. */
export async function buildBundles(say: (line: string) => void): Promise<void> {
  generate();
  await step("dist/.built-from", fingerprint([...BUNDLE_INPUTS, ...ALWAYS]), () =>
    timed(say, "Bundling the worker", "Worker bundled", bundleAll),
  );
}

/** The mark is removed first and written last: a build that was killed counts as none. */
async function step(markFile: string, mark: string, work: () => Promise<void>): Promise<void> {
  const path = join(ROOT, markFile);
  if (existsSync(path) && readFileSync(path, "utf8") === mark) return;
  rmSync(path, { force: true });
  await work();
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, mark);
}

async function bundleAll(): Promise<void> {
  rmSync(join(ROOT, "dist"), { recursive: true, force: true });
  const entries = Object.entries(BUNDLES).filter(([, source]) => existsSync(join(ROOT, source)));
  try {
    await bundle({
      ...BUNDLING,
      entryPoints: entries.map(([out, source]) => ({ in: source, out })),
      outdir: "dist",
      define: { BUILT_ROUTES: JSON.stringify(readRouteMethods(ROOT)), "import.meta.main": "__main" },
    });
    // The client of Kafka reads its checksum and decompression code from beside itself.
    cpSync(join(ROOT, "node_modules/@platformatic/wasm-utils/dist/native.wasm"), join(ROOT, "dist/native.wasm"));
  } catch (error) {
    throw new StartError(`The worker could not be bundled: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function buildNext(signal: AbortSignal | undefined): Promise<void> {
  const next = join(ROOT, "node_modules/next/dist/bin/next");
  const run = await runTool(process.execPath, [next, "build"], {
    cwd: ROOT,
    env: { NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1" },
    signal,
  });
  signal?.throwIfAborted();
  if (run.code !== 0) throw new StartError(`The console could not be built:\n${run.output}`);
}

/** One hash over the content of all source files below `inputs`; tests and generated code do not count. */
function fingerprint(inputs: string[]): string {
  const hash = createHash("sha256").update(process.versions.node);
  for (const path of inputs.flatMap((input) => filesOf(join(ROOT, input)))) {
    hash.update(relative(ROOT, path)).update("\0").update(readFileSync(path)).update("\0");
  }
  return hash.digest("hex");
}

const NOT_BUILT =
  /\.(test|itest|soak|e2e)\.tsx?$|\/lib\/testing\/|\/lib\/platform\/database\/generated\/|\/lib\/retry\/vectors\.json$/;

function filesOf(path: string): string[] {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) {
    return readdirSync(path)
      .sort()
      .flatMap((name) => filesOf(join(path, name)));
  }
  return found === undefined || NOT_BUILT.test(path) ? [] : [path];
}

if (import.meta.main) await runCommand(() => buildAll((line) => console.log(line)));
