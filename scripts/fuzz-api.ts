import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { temporaryDataFolder } from "./data-folder.ts";
import { startPostgres } from "./embedded-postgres.ts";
import { freePort } from "./free-port.ts";
import { migrate } from "./migrate.ts";
import { runTool } from "./run-tool.ts";
import type { Stage } from "./stages.ts";
import { errorText, runCommand, StartError } from "./start-error.ts";
import { superviseProcess } from "./supervised-process.ts";
import { endOf } from "./test-reports.ts";

const ROOT = join(import.meta.dirname, "..");
const REPORTS = join(ROOT, "reports", "fuzz-api");
const VERSION = "4.32.5";
const READY_MS = 180_000;

/** `coverage` sends each boundary of each field: thousands of requests for the operations with the largest forms. */
export const EVERY_PHASE = ["examples", "coverage", "fuzzing"] as const;

type FuzzOptions = {
  /** Drawn requests per operation, at most. */
  examples: number;
  phases: readonly (typeof EVERY_PHASE)[number][];
  /** Also that each request that the document allows is accepted, and each that it forbids refused: every new seed finds a border case. */
  borders: boolean;
  seed?: number;
};

/**
 * Schemathesis reads the served OpenAPI document and sends requests that it allows and requests that it forbids: no
 * answer may be a 500 or differ from the document; with `borders`, a request that the document allows may not be refused as
 * malformed, and one that it forbids may not be accepted. The web process runs alone: without a worker nothing connects to an
 * address that was made up.
 */
export function fuzzStage({ examples, phases, borders, seed = seedOfToday() }: FuzzOptions): Stage {
  const run = async () => {
    const program = await installed();
    if (program === null) return { passed: 0, failed: 0, skipped: 1, note: `NOT RUN: ${MISSING}` };
    const options = ["--phases", phases.join(","), "--max-examples", `${examples}`, "--seed", `${seed}`];
    if (!borders) options.push("--exclude-checks", "positive_data_acceptance,negative_data_rejection");
    const outcome = await withWeb((url) => fuzz(program, url, options));
    const note = `seed ${seed}, up to ${examples} examples`;
    if (outcome.code === 0) return { passed: outcome.operations, failed: 0, skipped: 0, note };
    return {
      passed: 0,
      failed: 1,
      skipped: 0,
      note: `${note}; schemathesis ended with code ${outcome.code}`,
      failures: [`API fuzz\n${endOf(outcome.output)}`],
    };
  };
  return { name: "API fuzz", run, again: run };
}

/** The same requests for a day, others the next day; PARKADE_FUZZ_SEED repeats those of another day. */
function seedOfToday(): number {
  return Number(process.env.PARKADE_FUZZ_SEED ?? new Date().toISOString().slice(0, 10).replaceAll("-", ""));
}

type Program = { command: string; env: Record<string, string> };

const MISSING = `Schemathesis ${VERSION} could not be installed with python3 and pip`;

/** Schemathesis in a folder of its own, fetched once. Null where it cannot be had; throws where nothing may be skipped. */
async function installed(): Promise<Program | null> {
  const folder = join(ROOT, "node_modules", ".cache", `schemathesis-${VERSION}`);
  const program = { command: "python3", env: { PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: "1" } };
  const known = await runTool(program.command, ["-m", "schemathesis.cli", "--version"], {
    cwd: ROOT,
    env: program.env,
  });
  if (known.code === 0) return program;
  const pip = ["-m", "pip", "install", "--quiet", "--target", folder, "--upgrade", `schemathesis==${VERSION}`];
  const { code, output } = await runTool("python3", pip, { cwd: ROOT });
  if (code !== 0)
    throw new StartError(`Schemathesis ${VERSION} could not be installed with python3 and pip:\n${output}`);
  return program;
}

async function withWeb<Result>(work: (url: string) => Promise<Result>): Promise<Result> {
  const dataDir = temporaryDataFolder("fuzz");
  const postgres = await startPostgres({ dataDir, settings: { fsync: "off" }, ephemeral: true });
  try {
    await migrate(postgres.url);
    const archive = join(dataDir, "archive");
    mkdirSync(archive);
    const port = await freePort();
    const web = await superviseProcess({
      name: "web",
      args: [join(ROOT, "dist", "web.mjs")],
      env: {
        ...process.env,
        NODE_ENV: "production",
        PORT: String(port),
        PARKADE_HOST: "127.0.0.1",
        PARKADE_DATA_DIR: dataDir,
        PARKADE_ARCHIVE: pathToFileURL(archive).href,
        DATABASE_URL: postgres.url,
      },
      cwd: ROOT,
      logFile: join(REPORTS, "web.log"),
      readyMs: READY_MS,
      stopMs: 10_000,
      say: (line) => console.log(line),
    });
    try {
      const url = `http://127.0.0.1:${port}`;
      await seed(url);
      return await work(url);
    } finally {
      await web.stop();
    }
  } finally {
    await postgres.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** One object of each kind, so that no list, page or statistic is empty. */
async function seed(url: string): Promise<void> {
  const send = async (path: string, body: unknown) => {
    for (let tries = 0; ; tries++) {
      const response = await fetch(url + path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(60_000),
      });
      if (response.ok) return;
      if (response.status !== 503 || tries > 20)
        throw new StartError(`${path}: ${response.status} ${await response.text()}`);
      await sleep(250);
    }
  };
  await send("/api/v1/sources", { name: "orders", kind: "http", config: { redriveUrl: "http://127.0.0.1:9/orders" } });
  const events = Array.from({ length: 40 }, (_, index) => ({
    source: "orders",
    eventId: `event-${index}`,
    aggregateId: `order-${index % 7}`,
    version: index,
    errorCode: index % 3 === 0 ? "TIMEOUT" : "UPSTREAM_5XX",
    payload: { orderId: index },
  }));
  await send("/api/v1/events", events);
}

async function fuzz(program: Program, url: string, options: string[]) {
  mkdirSync(REPORTS, { recursive: true });
  const report = join(REPORTS, "report.json");
  rmSync(report, { force: true });
  const { code, output } = await runTool(
    program.command,
    [
      "-m",
      "schemathesis.cli",
      "--config-file",
      join(ROOT, "scripts", "schemathesis.toml"),
      "run",
      `${url}/api/v1/openapi.json`,
      "--no-color",
      "--report",
      "json",
      "--report-json-path",
      report,
      ...options,
      ...process.argv.slice(2).filter((argument) => argument.startsWith("--")),
    ],
    { cwd: REPORTS, env: program.env },
  );
  // At once, because the journeys run beside it.
  console.log(output);
  return { code, output, operations: operationsOf(output) };
}

/** From the summary line `Selected: 53/55`. */
function operationsOf(output: string): number {
  return Number(/Selected: (\d+)\//.exec(output)?.[1] ?? 0);
}

if (import.meta.main) {
  await runCommand(async () => {
    const outcome = await fuzzStage({ examples: 20, phases: EVERY_PHASE, borders: true })
      .run()
      .catch((error: unknown) => {
        console.error(errorText(error));
        return { passed: 0, failed: 1, skipped: 0 };
      });
    if (outcome.failed > 0) process.exitCode = 1;
  });
}
