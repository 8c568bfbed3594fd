import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { buildAll } from "../scripts/build.ts";
import { freePort } from "../scripts/free-port.ts";
import { runTool } from "../scripts/run-tool.ts";

const ROOT = join(import.meta.dirname, "..");
const NEXT = join(ROOT, "node_modules/next/dist/bin/next");
const PAGE = "/events";
/** Bound of the list page's JavaScript over that of a page that does nothing. */
const BOUND = 1.35;
const READY_MS = 30_000;

export type FirstLoadResult = {
  /** Gzipped JavaScript that the page's HTML asks for, bytes. */
  bytes: number;
  emptyBytes: number;
  ratio: number;
  withinBound: boolean;
  scripts: { path: string; bytes: number }[];
};

/**
 * First-load JavaScript of the list page over that of an empty Next page, built in the same run with the same Next. It
 * counts what a browser fetches before anything happens: every script of the served HTML, gzipped, but not `noModule`
 * ones, which no current browser loads. Scripts that are loaded later (panel, dialogs, palette) are not counted.
 */
export async function run(): Promise<FirstLoadResult> {
  const empty = await buildEmpty();
  try {
    await buildAll((line) => console.log(line));
    const base = await firstLoad(empty, "/");
    const page = await firstLoad(ROOT, PAGE);
    const bytes = total(page);
    const emptyBytes = total(base);
    const ratio = Math.round((bytes / emptyBytes) * 1_000) / 1_000;
    console.log(`first-load  ${PAGE} ${kb(bytes)}, empty page ${kb(emptyBytes)}: ${ratio}x (bound ${BOUND}x)`);
    return { bytes, emptyBytes, ratio, withinBound: ratio <= BOUND, scripts: page };
  } finally {
    rmSync(empty, { recursive: true, force: true });
  }
}

const kb = (bytes: number) => `${(bytes / 1024).toFixed(1)} KB`;
const total = (scripts: FirstLoadResult["scripts"]) => scripts.reduce((sum, { bytes }) => sum + bytes, 0);

/** A Next app of one static page, with our node_modules. */
async function buildEmpty(): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), "parkade-empty-"));
  mkdirSync(join(dir, "app"));
  symlinkSync(join(ROOT, "node_modules"), join(dir, "node_modules"));
  writeFileSync(join(dir, "package.json"), JSON.stringify({ private: true, type: "module" }));
  // The root must hold the target of the link, or Turbopack does not follow it.
  writeFileSync(join(dir, "next.config.mjs"), 'export default { turbopack: { root: "/" } };\n');
  writeFileSync(
    join(dir, "app/layout.jsx"),
    "export default function Layout({ children }) { return <html lang='en'><body>{children}</body></html>; }\n",
  );
  writeFileSync(join(dir, "app/page.jsx"), "export default function Page() { return <main>empty</main>; }\n");
  const build = await runTool(process.execPath, [NEXT, "build"], { cwd: dir, env: ENV });
  if (build.code !== 0) throw new Error(`the empty page could not be built:\n${build.output}`);
  return dir;
}

const ENV = { NODE_ENV: "production" as const, NEXT_TELEMETRY_DISABLED: "1" };

/** Serves a build and adds up the scripts of one page. No database is needed: the page then asks for its rows later. */
async function firstLoad(dir: string, path: string): Promise<FirstLoadResult["scripts"]> {
  const port = await freePort();
  const server = spawn(process.execPath, [NEXT, "start", "-H", "127.0.0.1", "-p", String(port)], {
    cwd: dir,
    env: { ...process.env, ...ENV, DATABASE_URL: "postgres://nobody@127.0.0.1:1/none", PARKADE_LOG_LEVEL: "silent" },
    stdio: "ignore",
  });
  try {
    const origin = `http://127.0.0.1:${port}`;
    const html = await (await answering(`${origin}${path}`, server)).text();
    const sources = [...html.matchAll(/<script\b([^>]*)>/g)]
      .map(([, attributes]) => attributes ?? "")
      .filter((attributes) => !/\bnoModule\b/i.test(attributes))
      .flatMap((attributes) => /\bsrc="([^"]+)"/.exec(attributes)?.[1] ?? []);
    if (sources.length === 0) throw new Error(`${path} asks for no script: that is not our page`);
    return await Promise.all(
      [...new Set(sources)].map(async (source) => {
        const script = await fetch(new URL(source, origin), { headers: { "accept-encoding": "identity" } });
        if (!script.ok) throw new Error(`${source} answered ${script.status}`);
        return { path: source, bytes: gzipSync(await script.bytes(), { level: 9 }).byteLength };
      }),
    );
  } finally {
    server.kill("SIGTERM");
  }
}

async function answering(url: string, server: ChildProcess): Promise<Response> {
  const deadline = performance.now() + READY_MS;
  while (performance.now() < deadline) {
    if (server.exitCode !== null) throw new Error(`next start ended with code ${server.exitCode}`);
    try {
      const response = await fetch(url);
      if (response.ok) return response;
      throw new Error(`${url} answered ${response.status}`);
    } catch (error) {
      // Refused: it does not listen yet.
      if (!(error instanceof TypeError)) throw error;
      await sleep(100);
    }
  }
  throw new Error(`${url} did not answer within ${READY_MS} ms`);
}
