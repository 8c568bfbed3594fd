import { spawn } from "node:child_process";
import { constants } from "node:os";

export type ToolOptions = {
  cwd: string;
  env?: Record<string, string>;
  /** Also shows the output while it runs. */
  show?: boolean;
  /** Ends the tool; the promise then resolves with the code of its death. */
  signal?: AbortSignal;
};

export type ToolOutcome = { code: number; output: string };

/** Only the end of an endless output is kept. */
const OUTPUT_CHARS_MAX = 4_000_000;

/** Runs a program to its end and resolves with its exit code and all it wrote, in order. 127: it could not be started. */
export function runTool(command: string, args: string[], options: ToolOptions): Promise<ToolOutcome> {
  const { cwd, env, show = false, signal } = options;
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    const take = (chunk: string) => {
      output = (output + chunk).slice(-OUTPUT_CHARS_MAX);
      if (show) process.stdout.write(chunk);
    };
    child.stdout.setEncoding("utf8").on("data", take);
    child.stderr.setEncoding("utf8").on("data", take);
    const stop = () => child.kill("SIGTERM");
    signal?.addEventListener("abort", stop, { once: true });
    if (signal?.aborted) stop();
    const settle = (code: number) => {
      signal?.removeEventListener("abort", stop);
      resolve({ code, output });
    };
    child.once("error", (error) => {
      output += error.message;
      settle(127);
    });
    child.once("close", (code, killedBy) => settle(code ?? 128 + (killedBy ? constants.signals[killedBy] : 0)));
  });
}
