import { mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { HOOK_REPORT } from "./hook-failures.ts";
import { runTool } from "./run-tool.ts";
import { errorText } from "./start-error.ts";
import {
  type Counts,
  endOf,
  failedFiles,
  firstLine,
  NONE,
  playwrightCounts,
  readReport,
  vitestCounts,
} from "./test-reports.ts";

export const ROOT = join(import.meta.dirname, "..");

/** What one stage did. A stage without tests of its own (types, build) counts as nothing when it passes. */
export type Outcome = Counts & { name: string; seconds: number };

export type Stage = {
  name: string;
  run: () => Promise<Counts>;
  /** Runs the tests that failed once more; null: too many failed for a coincidence. Absent: a failure is certain at once. */
  again?: () => Promise<Counts | null>;
};

/** More failed files than this are a fault of the change and not of a busy machine. */
const REPEATED_FILES_MAX = 10;
/** A stage in which everything fails must not push the other stages out of the end of the log. */
const FAILURES_SHOWN = 50;
const SLOWEST_SHOWN = 10;

/** A program whose exit code is the result; its output is shown when it fails. */
export function toolStage(name: string, args: string[], env?: Record<string, string>): Stage {
  return {
    name,
    run: async () => {
      const { code, output } = await runTool(process.execPath, args, { cwd: ROOT, env });
      if (code === 0) return NONE;
      process.stdout.write(`${output}\n`);
      return { ...NONE, failed: 1, note: `ended with code ${code}`, failures: [endOf(output)] };
    },
  };
}

type VitestOptions = {
  env?: Record<string, string>;
  /** A file that takes longer is named in the summary, seconds. */
  fileSecondsMax?: number;
  note?: string;
};

/** Projects of vitest, in one run. Its JSON report is the count; a run that ended badly without a failed test counts as one failure. */
export function vitestStage(projects: string[], { env = {}, fileSecondsMax, note }: VitestOptions = {}): Stage {
  const reportOf = (run: string) => join(ROOT, "reports", `vitest-${projects[0]}${run}.json`);
  const hooksOf = (run: string) => join(ROOT, "reports", `vitest-${projects[0]}${run}-hooks.json`);
  const runOnce = async (run: string, args: string[]): Promise<Counts> => {
    const [report, hooks] = [reportOf(run), hooksOf(run)];
    rmSync(hooks, { force: true });
    const { code } = await runReporting(
      report,
      [
        bin("vitest/vitest.mjs"),
        "run",
        ...projects.flatMap((name) => ["--project", name]),
        "--reporter=default",
        "--reporter=json",
        `--reporter=${join(import.meta.dirname, "hook-failures.ts")}`,
        `--outputFile.json=${report}`,
        ...args,
      ],
      { ...env, [HOOK_REPORT]: hooks },
    );
    const text = readReport(report);
    return verdict(code, text === null ? null : vitestCounts(text, readReport(hooks) ?? "[]"));
  };
  return {
    name: `${projects.join(" and ")} tests`,
    run: async () => {
      const counts = await runOnce("", []);
      return { ...counts, fileSecondsMax, note: [note, counts.note].filter(Boolean).join("; ") || undefined };
    },
    again: async () => {
      const files = failedFiles(readReport(reportOf("")), readReport(hooksOf("")));
      if (files.length === 0 || files.length > REPEATED_FILES_MAX) return null;
      return runOnce("-again", ["--maxWorkers=1", "--no-file-parallelism", ...files]);
    },
  };
}

/** The browser journeys. */
export function playwrightStage({ env = {}, args = [] as string[] } = {}): Stage {
  const reportOf = (run: string) => join(ROOT, "reports", `playwright${run}.json`);
  const runOnce = async (run: string, more: string[], variables: Record<string, string>): Promise<Counts> => {
    const report = reportOf(run);
    const command = [bin("@playwright/test/cli.js"), "test", "--reporter=list,json", ...args, ...more];
    const { code } = await runReporting(report, command, {
      ...env,
      ...variables,
      PLAYWRIGHT_JSON_OUTPUT_FILE: report,
    });
    const text = readReport(report);
    return verdict(code, text === null ? null : playwrightCounts(text));
  };
  return {
    name: "journeys",
    run: async () => ({ ...(await runOnce("", [], {})), fileSecondsMax: 30 }),
    again: async () => {
      const text = readReport(reportOf(""));
      const failed = text === null ? 0 : playwrightCounts(text).failed;
      if (failed === 0 || failed > REPEATED_FILES_MAX) return null;
      return runOnce("-again", ["--last-failed", "--workers=1"], { PARKADE_REPEAT: "1" });
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

function verdict(code: number, counts: Counts | null): Counts {
  if (!counts) return { ...NONE, failed: 1, note: `ended with code ${code} and no report` };
  if (code !== 0 && counts.failed === 0) return { ...counts, failed: 1, note: `ended with code ${code}` };
  return counts;
}

/**
 * Runs the stages in order, those of an inner list beside each other, also after one that failed. What failed then runs once more,
 * alone on the machine: a test that passes there passes, and the summary names it.
 */
export async function runStages(steps: (Stage | Stage[])[]): Promise<Outcome[]> {
  const outcomes: { stage: Stage; outcome: Outcome }[] = [];
  for (const step of steps) {
    const stages = [step].flat();
    const ended = await Promise.all(stages.map(runStage));
    outcomes.push(...stages.map((stage, n) => ({ stage, outcome: ended[n]! })));
  }
  const final: Outcome[] = [];
  for (const { stage, outcome } of outcomes) final.push(await repeated(stage, outcome));
  return final;
}

async function runStage({ name, run }: Stage): Promise<Outcome> {
  console.log(`\n== ${name}`);
  const startedMs = performance.now();
  const outcome = await run().catch((error: unknown) => {
    console.error(error);
    return { ...NONE, failed: 1, note: "could not be run", failures: [endOf(errorText(error))] };
  });
  return { name, ...outcome, seconds: (performance.now() - startedMs) / 1000 };
}

async function repeated({ name, again }: Stage, first: Outcome): Promise<Outcome> {
  if (first.failed === 0 || again === undefined) return first;
  console.log(`\n== ${name}: what failed, once more`);
  const startedMs = performance.now();
  const second = await again();
  if (second === null) return first;
  return { ...first, ...merged(first, second), seconds: first.seconds + (performance.now() - startedMs) / 1000 };
}

/** Counts after a repeat: what failed there has failed, the other failures of the first run have passed. */
export function merged(first: Counts, second: Counts): Counts {
  const still = new Set((second.failures ?? []).map(firstLine));
  return {
    ...first,
    passed: first.passed + Math.max(0, first.failed - second.failed),
    failed: second.failed,
    note: second.failed > 0 ? second.note : undefined,
    failures: second.failures,
    repeats: (first.failures ?? []).filter((text) => !still.has(firstLine(text))),
  };
}

export function sumOf(counts: Counts[]): Pick<Counts, "passed" | "failed" | "skipped"> {
  const sum = (key: "passed" | "failed" | "skipped") => counts.reduce((total, one) => total + one[key], 0);
  return { passed: sum("passed"), failed: sum("failed"), skipped: sum("skipped") };
}

/** The table, the slowest files, the failures, and as the last line `N passed, N failed` with `, N skipped` when there are any. */
export function summaryOf(outcomes: Outcome[]): string {
  const rows = outcomes.map(({ name, passed, failed, skipped, seconds, note }) => {
    const counts = `${String(passed).padStart(6)} passed ${String(failed).padStart(4)} failed ${String(skipped).padStart(4)} skipped`;
    const state = failed > 0 ? "FAILED" : "ok";
    return `${state.padEnd(7)}${name.padEnd(20)}${counts} ${seconds.toFixed(1).padStart(7)} s${note ? `  ${note}` : ""}`;
  });
  const shown = (title: string, key: "failures" | "repeats") =>
    outcomes.flatMap((outcome) => {
      const all = outcome[key] ?? [];
      if (all.length === 0) return [];
      const more = all.length - FAILURES_SHOWN;
      return [
        "",
        `${title} ${outcome.name}:`,
        ...all.slice(0, FAILURES_SHOWN),
        ...(more > 0 ? [`and ${more} more`] : []),
      ];
    });
  const { passed, failed, skipped } = sumOf(outcomes);
  return [
    ...rows,
    ...outcomes.flatMap(slowest),
    ...shown("Passed only when run again, in", "repeats"),
    ...shown("Failures of", "failures"),
    "",
    `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`,
  ].join("\n");
}

function slowest({ name, files = [], fileSecondsMax }: Outcome): string[] {
  if (fileSecondsMax === undefined || files.length === 0) return [];
  const rows = files.toSorted((one, other) => other.seconds - one.seconds).slice(0, SLOWEST_SHOWN);
  return [
    "",
    `Slowest in ${name}; above ${fileSecondsMax} s it belongs in npm run soak, or its file says why:`,
    ...rows.map(
      ({ name: file, seconds }) =>
        `${seconds > fileSecondsMax ? "!" : " "}${seconds.toFixed(1).padStart(6)} s  ${file}`,
    ),
  ];
}
