import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildAll } from "../scripts/build.ts";
import { freePort } from "../scripts/free-port.ts";
import { packKit } from "../scripts/pack-kit.ts";
import { packServer } from "../scripts/pack-server.ts";
import { runTool } from "../scripts/run-tool.ts";
import { median } from "./figures.ts";

const ROOT = join(import.meta.dirname, "..");
const RUNS = Number(process.env.BENCH_RUNS || 5);
/** From the command to the line that names the URL. */
const READY_MS_MAX = 10_000;

type Command = { file: string; args: string[]; cwd: string };
type Times = { firstMs: number; laterMs: number };

export type ServeResult = {
  /** Medians: on an empty data folder (with initdb and all migrations), and on that folder again. */
  serve: Times;
  npmStart: Times;
  /** Of `parkade serve` over `npm start` in a built tree. */
  ratio: { first: number; later: number };
  tarballBytes: { parkade: number; server: number };
  withinBound: boolean;
};

/**
 * How long `parkade serve` takes from an installed tarball until web and worker are ready, over `npm start` in a built tree,
 * in turns. Packing and installing are not measured.
 */
export async function run(): Promise<ServeResult> {
  const dir = mkdtempSync(join(tmpdir(), "parkade-bench-serve-"));
  try {
    await buildAll((line) => console.log(line));
    const tarballs = [(await packKit(dir)).tarball, await packServer(dir, (line) => console.log(line))];
    const app = join(dir, "app");
    mkdirSync(app);
    writeFileSync(join(app, "package.json"), "{}");
    const flags = ["--prefer-offline", "--no-audit", "--no-fund"];
    const installed = await runTool("npm", ["install", ...flags, ...tarballs], { cwd: app });
    if (installed.code !== 0) throw new Error(installed.output);
    const serve = { file: join(app, "node_modules/.bin/parkade"), args: ["serve"], cwd: app };
    const npmStart = { file: process.execPath, args: [join(ROOT, "scripts/start.ts")], cwd: ROOT };
    const times: { serve: Times[]; npmStart: Times[] } = { serve: [], npmStart: [] };
    for (let run = 0; run < RUNS; run++) {
      times.serve.push(await startTwice(serve, join(dir, `serve-${run}`)));
      times.npmStart.push(await startTwice(npmStart, join(dir, `start-${run}`)));
    }
    return report(times, tarballs.map((path) => statSync(path).size) as [number, number]);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function startTwice(command: Command, dataDir: string): Promise<Times> {
  const firstMs = await readyMs(command, dataDir);
  const laterMs = await readyMs(command, dataDir);
  rmSync(dataDir, { recursive: true, force: true });
  return { firstMs, laterMs };
}

async function readyMs({ file, args, cwd }: Command, dataDir: string): Promise<number> {
  const env = {
    ...process.env,
    PORT: String(await freePort()),
    PARKADE_DATA_DIR: dataDir,
    DATABASE_URL: "",
    REDIS_URL: "",
  };
  const startedMs = performance.now();
  const child = spawn(file, args, { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
  const closed = once(child, "close");
  let output = "";
  const ready = new Promise<number>((resolve) => {
    child.stdout.setEncoding("utf8").on("data", (chunk) => {
      output += chunk;
      if (output.includes("Parkade is ready")) resolve(performance.now() - startedMs);
    });
  });
  const ms = await Promise.race([ready, closed.then(() => null)]);
  if (ms === null) throw new Error(`${file} ended before it was ready:\n${output}`);
  child.kill("SIGTERM");
  await closed;
  return ms;
}

function report({ serve, npmStart }: Record<"serve" | "npmStart", Times[]>, sizes: [number, number]): ServeResult {
  const [served, started] = [serve, npmStart].map((times) => ({
    firstMs: Math.round(median(times.map(({ firstMs }) => firstMs))),
    laterMs: Math.round(median(times.map(({ laterMs }) => laterMs))),
  })) as [Times, Times];
  const over = (a: number, b: number) => Math.round((a / b) * 1_000) / 1_000;
  const ratio = { first: over(served.firstMs, started.firstMs), later: over(served.laterMs, started.laterMs) };
  const worstMs = Math.max(...serve.flatMap(({ firstMs, laterMs }) => [firstMs, laterMs]));
  console.log(
    `serve  first ${served.firstMs} ms (${ratio.first} of npm start), later ${served.laterMs} ms (${ratio.later}), worst ${Math.round(worstMs)} ms (bound ${READY_MS_MAX})`,
  );
  const [parkade, server] = sizes;
  return {
    serve: served,
    npmStart: started,
    ratio,
    tarballBytes: { parkade, server },
    withinBound: worstMs <= READY_MS_MAX,
  };
}
