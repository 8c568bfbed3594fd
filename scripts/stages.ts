import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { runTool } from "./run-tool.ts";

export const ROOT = join(import.meta.dirname, "..");

/** Counts of one stage. A stage without tests of its own (types, build) counts as nothing when it passes. */
export type Outcome = { name: string; passed: number; failed: number; skipped: number; seconds: number; note?: string };

export type Stage = { name: string; run: () => Promise<Omit<Outcome, "name" | "seconds">> };

const NONE = { passed: 0, failed: 0, skipped: 0 };

/** A program whose exit code is the verdict; its output is shown when it fails. */
export function toolStage(name: string, args: string[], env?: Record<string, string>): Stage {
  return {
    name,
    run: async () => {
      const { code, output } = await runTool(process.execPath, args, { cwd: ROOT, env });
      if (code === 0) return NONE;
      process.stdout.write(`${output}\n`);
      return { ...NONE, failed: 1, note: `ended with code ${code}` };
    },
  };
}

/** One vitest project. Its JSON report is the count; a run that ended badly without a failed test counts as one failure. */
export function vitestStage(project: string, args: string[] = []): Stage {
  const report = join(ROOT, "reports", `vitest-${project}.json`);
  return {
    name: `${project} tests`,
    run: async () => {
      const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
      const { code } = await runReporting(report, [
        bin("vitest/vitest.mjs"),
        "run",
        "--project",
        project,
        ...reporters,
        ...args,
      ]);
      return verdict(code, existsSync(report) ? vitestCounts(readFileSync(report, "utf8")) : null);
    },
  };
}

/** The browser journeys. */
export function playwrightStage(): Stage {
  const report = join(ROOT, "reports", "playwright.json");
  return {
    name: "journeys",
    run: async () => {
      const args = [bin("@playwright/test/cli.js"), "test", "--reporter=list,json"];
      const { code } = await runReporting(report, args, { PLAYWRIGHT_JSON_OUTPUT_FILE: report });
      return verdict(code, existsSync(report) ? playwrightCounts(readFileSync(report, "utf8")) : null);
    },
  };
}

/** Path of a program in a package, run by the Node that runs us: the shell's PATH may hold an older one. */
export function bin(path: string): string {
  return join(ROOT, "node_modules", path);
}

async function runReporting(report: string, args: string[], env?: Record<string, string>): Promise<{ code: number }> {
  mkdirSync(dirname(report), { recursive: true });
  // A run that dies early must not be counted by the report of the run before.
  rmSync(report, { force: true });
  return runTool(process.execPath, args, { cwd: ROOT, env, show: true });
}

type Counts = { passed: number; failed: number; skipped: number; skippedNames: string[] };

export function vitestCounts(report: string): Counts {
  type Test = { status: string; fullName: string };
  const json: { testResults: { status: string; assertionResults: Test[] }[] } = JSON.parse(report);
  const tests = json.testResults.flatMap((file) => file.assertionResults);
  // A file that failed to load has no tests and would vanish from the count.
  const broken = json.testResults.filter((file) => file.status === "failed" && !file.assertionResults.some(isFailed));
  const skipped = tests.filter((test) => test.status !== "passed" && !isFailed(test));
  return {
    passed: tests.filter((test) => test.status === "passed").length,
    failed: tests.filter(isFailed).length + broken.length,
    skipped: skipped.length,
    skippedNames: skipped.map((test) => test.fullName),
  };
}

function isFailed(test: { status: string }): boolean {
  return test.status === "failed";
}

export function playwrightCounts(report: string): Counts {
  const { stats }: { stats: { expected: number; unexpected: number; flaky: number; skipped: number } } =
    JSON.parse(report);
  // A test that passed at its second try has failed once.
  return { passed: stats.expected, failed: stats.unexpected + stats.flaky, skipped: stats.skipped, skippedNames: [] };
}

function verdict(code: number, counts: Counts | null): Omit<Outcome, "name" | "seconds"> {
  if (!counts) return { ...NONE, failed: 1, note: `ended with code ${code} and no report` };
  const { skippedNames, ...numbers } = counts;
  const note = skippedNames.length > 0 ? `skipped: ${skippedNames.slice(0, 20).join("; ")}` : undefined;
  if (code !== 0 && numbers.failed === 0) return { ...numbers, failed: 1, note: `ended with code ${code}` };
  return { ...numbers, note };
}

/** Runs the stages in order, also after one that failed, and prints the table and the line of totals. */
export async function runStages(stages: Stage[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const { name, run } of stages) {
    console.log(`\n== ${name}`);
    const startedMs = performance.now();
    const outcome = await run().catch((error: unknown) => {
      console.error(error);
      return { ...NONE, failed: 1, note: "could not be run" };
    });
    outcomes.push({ name, ...outcome, seconds: (performance.now() - startedMs) / 1000 });
  }
  return outcomes;
}

/** The table, the reasons, and as the last line `N passed, N failed` with `, N skipped` when there are any. */
export function summaryOf(outcomes: Outcome[]): string {
  const rows = outcomes.map(({ name, passed, failed, skipped, seconds, note }) => {
    const counts = `${String(passed).padStart(6)} passed ${String(failed).padStart(4)} failed ${String(skipped).padStart(4)} skipped`;
    const state = failed > 0 ? "FAILED" : "ok";
    return `${state.padEnd(7)}${name.padEnd(20)}${counts} ${seconds.toFixed(1).padStart(7)} s${note ? `  ${note}` : ""}`;
  });
  const sum = (key: "passed" | "failed" | "skipped") => outcomes.reduce((total, outcome) => total + outcome[key], 0);
  const skipped = sum("skipped") > 0 ? `, ${sum("skipped")} skipped` : "";
  return [...rows, "", `${sum("passed")} passed, ${sum("failed")} failed${skipped}`].join("\n");
}
