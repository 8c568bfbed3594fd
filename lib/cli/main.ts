import { EXIT, type Names, UsageError } from "@/lib/cli/command";
import { readCommandLine } from "@/lib/cli/command-line";
import { COMPLETE_WORD, type Shell, serve } from "@/lib/cli/commands/program";
import { readSources } from "@/lib/cli/commands/sources";
import { readTargets } from "@/lib/cli/commands/targets";
import { candidates } from "@/lib/cli/completion";
import { commandText, overviewText } from "@/lib/cli/help";
import { apiFor } from "@/lib/cli/server";
import { createTerminal } from "@/lib/cli/terminal";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { systemClock, within } from "@/lib/platform/clock";
import { visible } from "@/lib/platform/plain/format.pure";
import { isSuiteList, offerTlsSuites, SUITE_LIST_RULE } from "@/lib/platform/tls-suites";
import { version } from "../../package.json";

/** A person waits at the Tab key. */
const COMPLETE_MS_MAX = 1_000;
const stopped = new AbortController();

const terminal = createTerminal(systemClock, stopped.signal);

async function printed(text: string): Promise<number> {
  await terminal.print(text);
  return EXIT.done;
}

function offerSuites(list: string): void {
  if (list !== "" && !isSuiteList(list)) throw new UsageError(`PARKADE_TLS_CIPHERS ${SUITE_LIST_RULE}`);
  offerTlsSuites(list);
}

async function main(words: readonly string[]): Promise<number> {
  offerSuites(process.env.PARKADE_TLS_CIPHERS ?? "");
  if (words[0] === COMPLETE_WORD) return complete(words.slice(1));
  const first = words.find((word) => !word.startsWith("-"));
  if (first === "help") return main([...words.filter((word) => word !== "help"), "--help"]);
  const line = readCommandLine(words);
  if (words.includes("--version")) return printed(`${version}\n`);
  if (line === null) {
    if (words.some((word) => word === "--help" || word === "-h")) return printed(`${overviewText()}\n`);
    terminal.say(overviewText());
    return EXIT.usage;
  }
  if (line.flag("help")) return printed(`${commandText(line.command)}\n`);
  // Its launcher stops in order on signals by itself.
  if (line.command.name === "serve") return serve({ line, terminal });
  process.once("SIGINT", () => {
    stopped.abort(new Error("stopped"));
    process.once("SIGINT", () => process.exit(EXIT.interrupted));
  });
  const { signal } = stopped;
  return line.command.run({ line, api: apiFor(line, signal), terminal, clock: systemClock, signal });
}

/** Candidates for the word under the cursor. Where Parkade does not answer in time, a person types a name. */
async function complete([shell, ...words]: readonly string[]): Promise<number> {
  const reads = { sources: readSources, targets: readTargets };
  const namesOf = async (names: Names) => {
    try {
      const read = (late: AbortSignal) => reads[names]({ api: apiFor({ text: () => null }, late) });
      return (await within<{ name: string }[]>(systemClock, COMPLETE_MS_MAX, read)).map(({ name }) => name);
    } catch {
      return [];
    }
  };
  return printed((await candidates(shell as Shell, words, namesOf)).map((word) => `${word}\n`).join(""));
}

function report(error: unknown, json: boolean): number {
  if (error instanceof UsageError) {
    const command = error.command && `parkade ${error.command.name} --help`;
    terminal.say(`parkade: ${error.message}${command ? `\nSee \`${command}\`.` : ""}`);
    return EXIT.usage;
  }
  if (stopped.signal.aborted) return EXIT.interrupted;
  if (!(error instanceof ApiError)) throw error;
  const { code, status, detail, fields } = error;
  if (json) terminal.say(JSON.stringify({ code, status, detail, errors: fields }));
  else {
    const named = fields
      .filter((field) => !detail.includes(field.detail))
      .map((field) => `  ${field.field}: ${field.detail}`);
    terminal.say([`parkade: ${visible(detail)} (${code})`, ...named.map(visible)].join("\n"));
  }
  return code === "offline" || code === "no-answer" || code === "unexpected-answer" ? EXIT.unreachable : EXIT.refused;
}

// `| head` closes the pipe: the reader has what it wanted.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(EXIT.done);
  throw error;
});

const words = process.argv.slice(2);
try {
  process.exitCode = await main(words);
} catch (error) {
  process.exitCode = report(error, words.includes("--json"));
}
