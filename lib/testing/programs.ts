import { mkdirSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { inject } from "vitest";

/** The programs that tests start as processes, by name. */
const PROGRAMS = {
  worker: "workers/main.ts",
  "paced-worker": "lib/testing/paced-worker.ts",
  "command-line": "lib/cli/main.ts",
  "reading-child": "lib/brokers/testing/reading-child.ts",
  "doomed-worker": "lib/lane/testing/doomed-worker.ts",
  "doomed-sealer": "lib/guard/audit-chain/testing/doomed-sealer.ts",
  "doomed-archiver": "lib/platform/archive/testing/doomed-archiver.ts",
  "doomed-backup": "lib/keep/backup/testing/doomed-backup.ts",
  "doomed-keeper": "lib/keep/scenarios/testing/doomed-keeper.ts",
};

/**
 * Bundles them once for a run, without the packages that they use: a process that compiles hundreds of modules takes two seconds to
 * start, and tests start hundreds of processes. Resolves with their folder, inside the project, where its packages are found.
 */
export async function bundlePrograms(): Promise<string> {
  const root = join(import.meta.dirname, "../..");
  const parent = join(root, "reports");
  mkdirSync(parent, { recursive: true });
  const outdir = mkdtempSync(join(parent, "test-programs-"));
  await build({
    absWorkingDir: root,
    entryPoints: PROGRAMS,
    outdir,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    target: "node22",
    format: "esm",
    packages: "external",
    splitting: true,
    sourcemap: "inline",
    logLevel: "error",
  });
  return outdir;
}

/** The file to start with `node`; its working directory is the project. */
export function program(name: keyof typeof PROGRAMS): string {
  return join(inject("programsFolder"), `${name}.mjs`);
}
