import { afterAll, beforeAll } from "vitest";
import { testCommandLine } from "./command-line";
import { type TestConsole, testConsole } from "./console";

/** A console for all tests of a file. `env` is asked before its start. */
export function consoleOfFile(env: () => Record<string, string> = () => ({})): TestConsole {
  const console = {} as TestConsole;
  beforeAll(async () => {
    Object.assign(console, await testConsole(env()));
  });
  afterAll(() => console.close());
  return console;
}

type CommandLine = Awaited<ReturnType<typeof testCommandLine>>;

/** `parkade` for all tests of a file, against the console of the file. */
export function commandLineOfFile(options?: Parameters<typeof testCommandLine>[0]): CommandLine {
  const commandLine = {} as CommandLine;
  beforeAll(async () => {
    Object.assign(commandLine, await testCommandLine(options));
  });
  afterAll(async () => {
    await commandLine.close();
  });
  return commandLine;
}

/** The fields of each row that it printed. */
export const rowsOf = (out: string): string[][] =>
  out
    .trimEnd()
    .split("\n")
    .map((row) => row.split("\t"));
