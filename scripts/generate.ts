import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { readRouteMethods } from "./route-methods.ts";
import { runCommand, StartError } from "./start-error.ts";

const ROOT = join(import.meta.dirname, "..");
const SCHEMA = join(ROOT, "prisma", "schema.prisma");
const OUTPUT = join(ROOT, "lib", "platform", "database", "generated");
const MARK = join(OUTPUT, ".made-from");

/** Makes the list of the API's routes, and the Prisma client unless it was made from this schema by this version. */
export function generate(): "made" | "up to date" | "no schema" {
  writeRoutes();
  if (!existsSync(SCHEMA)) return "no schema";
  const mark = fingerprint();
  if (existsSync(MARK) && readFileSync(MARK, "utf8") === mark) return "up to date";
  const prisma = join(ROOT, "node_modules", "prisma", "build", "index.js");
  const hooks = pathToFileURL(join(import.meta.dirname, "without-studio.mjs")).href;
  const run = spawnSync(process.execPath, ["--import", hooks, prisma, "generate", "--schema", SCHEMA], {
    cwd: ROOT,
    encoding: "utf8",
    env: {
      ...process.env,
      // `generate` never runs the schema engine, yet the CLI would fetch it from the network. Any executable will do.
      PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
      PRISMA_HIDE_UPDATE_MESSAGE: "1",
      CHECKPOINT_DISABLE: "1",
    },
  });
  if (run.status !== 0) {
    throw new StartError(`The Prisma client could not be made:\n${run.stdout ?? ""}${run.stderr ?? ""}`);
  }
  mkdirSync(OUTPUT, { recursive: true });
  writeFileSync(MARK, mark);
  return "made";
}

/** `app/routes.ts`: every route of the API by its path. No program calls those that lead a browser to a provider and back. */
function writeRoutes(): void {
  const file = join(ROOT, "app", "routes.ts");
  const called = readRouteMethods(ROOT).filter(({ path }) => !path.startsWith("/sign-in/oidc/"));
  const routes = called.map(({ path, file }) => {
    const from = JSON.stringify(`@/${file.replace(/\.ts$/, "")}`);
    return `  "${path.replaceAll("[", "{").replaceAll("]", "}")}": () => import(${from}),\n`;
  });
  const text = `import type { Routes } from "@/app/_server/openapi/openapi";\n\nexport const ROUTES: Routes = {\n${routes.sort().join("")}};\n`;
  // A file that did not change keeps its time: the server of development would load it again.
  if (!existsSync(file) || readFileSync(file, "utf8") !== text) writeFileSync(file, text);
}

function fingerprint(): string {
  const hash = createHash("sha256");
  for (const path of [
    import.meta.filename,
    SCHEMA,
    join(ROOT, "prisma.config.ts"),
    join(ROOT, "node_modules", "prisma", "package.json"),
  ]) {
    hash.update(readFileSync(path)).update("\0");
  }
  return hash.digest("hex");
}

if (import.meta.main) {
  await runCommand(async () => {
    console.log(`Prisma client: ${generate()}`);
  });
}
