import { writeFileSync } from "node:fs";
import type { Reporter } from "vitest/node";

/** The path of the report: `[file, suite, message][]`. */
export const HOOK_REPORT = "PARKADE_HOOK_REPORT";

export type HookFailure = [file: string, suite: string, message: string];

/** What vitest's JSON report leaves out: errors of a suite's hooks, and those that no test waited for. */
export default class HookFailures implements Reporter {
  onTestRunEnd: Reporter["onTestRunEnd"] = (modules, unhandled) => {
    const failures: HookFailure[] = modules.flatMap((file) =>
      [...file.children.allSuites()].flatMap((suite) =>
        suite.errors().map(({ message }): HookFailure => [file.moduleId, suite.fullName, message]),
      ),
    );
    failures.push(...unhandled.map(({ message }): HookFailure => ["vitest", "an error that nobody handled", message]));
    writeFileSync(process.env[HOOK_REPORT]!, JSON.stringify(failures));
  };
}
