import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { runCommand, StartError } from "./start-error.ts";

const ROOT = join(import.meta.dirname, "..");
const SCHEMA = join(ROOT, "prisma", "schema.prisma");
/** Beside the schema, because the output path in it is relative. */
const CLIENT_SCHEMA = join(ROOT, "prisma", ".client.prisma");
const OUTPUT = join(ROOT, "lib", "platform", "database", "generated");
const MARK = join(OUTPUT, ".made-from");

/** Makes the Prisma client from the schema; does nothing when it was made from this schema by this version. */
export function generate(): "made" | "up to date" | "no schema" {
  if (!existsSync(SCHEMA)) return "no schema";
  const mark = fingerprint();
  if (existsSync(MARK) && readFileSync(MARK, "utf8") === mark) return "up to date";
  const prisma = join(ROOT, "node_modules", "prisma", "build", "index.js");
  writeFileSync(CLIENT_SCHEMA, clientSchema(readFileSync(SCHEMA, "utf8")));
  const hooks = pathToFileURL(join(import.meta.dirname, "without-studio.mjs")).href;
  const run = spawnSync(process.execPath, ["--import", hooks, prisma, "generate", "--schema", CLIENT_SCHEMA], {
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
  rmSync(CLIENT_SCHEMA);
  if (run.status !== 0) {
    throw new StartError(`The Prisma client could not be made:\n${run.stdout ?? ""}${run.stderr ?? ""}`);
  }
  mkdirSync(OUTPUT, { recursive: true });
  writeFileSync(MARK, mark);
  return "made";
}

/**
 * The schema without the models that it leaves out of the client (`@@ignore`: the hot tables). The client keeps the whole
 * schema otherwise, and reading it costs each process 35 MB.
 */
function clientSchema(schema: string): string {
  return schema.replace(/^(?:\/\/\/.*\n)*model \w+ \{\n(?:(?!\}).*\n)*\s*@@ignore\n\}\n/gm, "");
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
