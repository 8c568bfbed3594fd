import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packKit, RETRY_SIZES, retrySize } from "./pack-kit.ts";
import { runTool } from "./run-tool.ts";
import { bin, ROOT } from "./stages.ts";

const RESOLUTIONS = [
  ["nodenext", "nodenext"],
  ["esnext", "bundler"],
] as const;

let dir: string;

/** A service in an otherwise empty folder, with the package installed from its tarball. */
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "parkade-consumer-"));
  const { tarball } = await packKit(join(dir, "packed"));
  writeFileSync(join(dir, "package.json"), JSON.stringify({ name: "orders", private: true, type: "module" }));
  // Offline: a dependency that is not in the tarball fails the installation.
  const installed = await runTool("npm", ["install", tarball, "--offline", "--no-audit", "--no-fund"], { cwd: dir });
  expect(installed.output).toContain("added 1 package");
  expect(installed.code).toBe(0);
});

afterAll(() => rmSync(dir, { recursive: true, force: true }));

function node(file: string) {
  return runTool(process.execPath, [file], { cwd: dir, env: { NODE_OPTIONS: "" } });
}

/** Type-checks `files` under everything strict, declarations of the package included. */
function check(files: string[], [module, moduleResolution]: readonly [string, string]) {
  const config = join(dir, `tsconfig.${module}.json`);
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    noEmit: true,
    target: "ES2022",
    lib: ["ES2022", "DOM", "DOM.Iterable"],
    module,
    moduleResolution,
    types: ["node"],
    typeRoots: [join(ROOT, "node_modules/@types")],
  };
  writeFileSync(config, JSON.stringify({ compilerOptions, files }));
  return runTool(process.execPath, [bin("typescript/bin/tsc"), "-p", config], { cwd: dir });
}

const CONSUMER = `
import { StaleVersionError } from "parkade/inbox";
import { outboxTableSql } from "parkade/outbox";
import { createParker, type Parked } from "parkade/park";
import { execute, OperationError, tryExecute, type Outcome } from "parkade/retry";

let calls = 0;
const failing = async (): Promise<string> => {
  calls++;
  throw Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
};
const policy = { maxAttempts: 3, backoff: { kind: "fixed", delayMs: 1, jitter: { kind: "none" } } } as const;
const outcome: Outcome<string> = await tryExecute(policy, failing);
if (outcome.kind !== "failed" || outcome.reason !== "exhausted" || calls !== 3) throw new Error(JSON.stringify(outcome));
const text: string = await execute(policy, async ({ attempt }) => \`attempt \${attempt}\`);
const thrown: unknown = await execute(policy, failing).catch((error: unknown) => error);
if (!(thrown instanceof OperationError) || thrown.code !== "ECONNREFUSED") throw thrown;
// @ts-expect-error a breaker needs a target that keeps its state
const refused: unknown = await execute({ breaker: {} }, failing).catch((error: unknown) => String(error));
console.log(text, refused);
const parker = createParker({ url: "http://127.0.0.1:1", source: "orders", spoolDir: "spool" });
const stale = new StaleVersionError({ aggregateId: "77", version: 3 }, "e1");
const parked: Parked = await parker.park(stale, { eventId: "e1", payload: { table: outboxTableSql() } });
await parker.close();
console.log(parked.status);
`;

describe("the package", () => {
  test.each(RESOLUTIONS)("type-checks in a strict consumer: %s, %s", async (...resolution) => {
    writeFileSync(join(dir, "consumer.ts"), CONSUMER);
    expect(await check(["consumer.ts"], resolution)).toEqual({ code: 0, output: "" });
  });

  test("runs under plain Node", async () => {
    writeFileSync(join(dir, "consumer.ts"), CONSUMER);
    const { code, output } = await node("consumer.ts");
    expect(output).toContain("attempt 1 PolicyError: policy refused: breaker = {}, not a field");
    expect(output).toContain("spooled");
    expect(code).toBe(0);
  });

  test("is required from CommonJS, too", async () => {
    writeFileSync(
      join(dir, "old.cjs"),
      'require("parkade/retry").execute({}, async () => "required").then(console.log);',
    );
    expect(await node("old.cjs")).toEqual({ code: 0, output: "required\n" });
  });

  test.each(RETRY_SIZES)(
    "a bundle of $names is small, holds only the package, and weighs what its page says",
    async (size) => {
      const { files, minifiedBytes, gzippedBytes } = await retrySize(join(dir, "node_modules/parkade"), size.names);
      const row = `| ${size.names.map((name) => `\`${name}\``).join(" and ")} `;
      const said = readFileSync("docs/kit/retry/README.md", "utf8")
        .split("\n")
        .find((line) => line.startsWith(row));
      const figures = [...said!.matchAll(/([\d,]+) bytes/g)].map(([, digits]) => Number(digits!.replaceAll(",", "")));
      for (const [at, bytes] of [minifiedBytes, gzippedBytes].entries()) {
        // A change of a few lines need not touch the page.
        expect(Math.abs(figures[at]! / bytes - 1)).toBeLessThan(0.05);
      }
      expect(minifiedBytes).toBeLessThan(size.minifiedBytesMax);
      expect(files.filter((file) => !file.startsWith("lib/"))).toEqual([]);
      if (size.whole) return;
      expect(files.filter((file) => /breaker|budget|healing|hedge|kafka|policy-check/.test(file))).toEqual([]);
    },
  );

  test("holds no test, no dependency of retry, and no alias of our own", () => {
    const folder = join(dir, "node_modules/parkade");
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
    const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    expect(files).toEqual(expect.arrayContaining(["LICENSE", "README.md", "package.json"]));
    expect(files.filter((file) => /test|testing|vectors/.test(file))).toEqual([]);
    const links = readFileSync(join(folder, "README.md"), "utf8").matchAll(/\]\(([^):]+)\)/g);
    expect(files).toEqual(expect.arrayContaining([...links].map(([, path]) => path)));
    expect(manifest.dependencies).toBeUndefined();
    const sources = files.filter((file) => /^lib\/(kit\/)?retry\/.*\.(js|d\.ts)$/.test(file));
    expect(sources.length).toBeGreaterThan(50);
    for (const file of sources) {
      const imports = readFileSync(join(folder, file), "utf8").matchAll(/\b(?:from|import\()\s*["']([^"']+)["']/g);
      expect([file, [...imports].map(([, path]) => path).filter((path) => !path?.startsWith("."))]).toEqual([file, []]);
    }
  });
});

/** The TypeScript blocks of the pages, each a program of its own. */
const PAGES = [
  "docs/kit/README.md",
  ...readdirSync(join(ROOT, "docs/kit/retry")).map((page) => `docs/kit/retry/${page}`),
];
const EXAMPLES = PAGES.flatMap((page) =>
  [...readFileSync(join(ROOT, page), "utf8").matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code], index) => ({
    name: `${page.replace(/^docs\/kit\//, "").replace(/\W/g, "-")}-${index + 1}.ts`,
    code: code!,
  })),
);

describe("the examples of the documentation", () => {
  beforeAll(() => {
    mkdirSync(join(dir, "examples"));
    for (const { code, name } of EXAMPLES) writeFileSync(join(dir, "examples", name), code);
  });

  test("type-check", async () => {
    expect(EXAMPLES.length).toBeGreaterThan(15);
    const files = EXAMPLES.map(({ name }) => `examples/${name}`);
    expect(await check(files, RESOLUTIONS[0])).toEqual({ code: 0, output: "" });
  });

  // `console.log(x); // 3` prints 3.
  test.each(EXAMPLES)("$name prints what it says", async ({ code, name }) => {
    const stated = [...code.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, text]) => text);
    expect(stated.length).toBeGreaterThan(0);
    const run = await node(`examples/${name}`);
    expect(run.output.trimEnd().split("\n")).toEqual(stated);
    expect(run.code).toBe(0);
  });
});
