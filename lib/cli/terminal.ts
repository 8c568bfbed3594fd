import { createInterface } from "node:readline/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Terminal } from "@/lib/cli/call";
import type { Clock } from "@/lib/platform/clock";
import { visible } from "@/lib/platform/plain/format.pure";

/** Between two lines of progress where no terminal shows them in one place. */
const PROGRESS_MS = 5_000;

export function createTerminal(clock: Clock, signal: AbortSignal): Terminal {
  const { stdin, stdout, stderr } = process;
  let progressAtMs: number | null = null;
  return {
    columns: stdout.isTTY ? stdout.columns : null,
    print: (text) =>
      new Promise((resolve, reject) =>
        stdout.write(stdout.isTTY ? harmless(text) : text, (error) => (error ? reject(error) : resolve())),
      ),
    pipe: (body) =>
      stdout.isTTY
        ? pipeline(body, shown, stdout, { end: false, signal })
        : pipeline(body, stdout, { end: false, signal }),
    say: (line) => {
      if (progressAtMs !== null && stderr.isTTY) stderr.write(CLEARED);
      progressAtMs = null;
      stderr.write(`${line}\n`);
    },
    progress: (line) => {
      const shown = visible(line.replaceAll(/\s+/g, " "));
      const nowMs = clock.nowMs();
      if (stderr.isTTY) stderr.write(CLEARED + shown.slice(0, stderr.columns - 1));
      else if (progressAtMs === null || nowMs - progressAtMs >= PROGRESS_MS) stderr.write(`${shown}\n`);
      else return;
      progressAtMs = nowMs;
    },
    lines: () => (stdin.isTTY ? Readable.from([]) : createInterface({ input: stdin, crlfDelay: Infinity, signal })),
    ask: async (question) => {
      if (!stdin.isTTY) return null;
      const lines = createInterface({ input: stdin, output: stderr });
      // It keeps Ctrl-C from the process, and Ctrl-D ends it without an answer.
      lines.once("SIGINT", () => process.kill(process.pid, "SIGINT"));
      const ended = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
      try {
        return await Promise.race([lines.question(question, { signal }), ended]);
      } finally {
        lines.close();
      }
    },
  };
}

/** What moves the cursor, changes the terminal or turns text round, but for the end of a line and the tab. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a producer must not send to a terminal.
const HARMFUL = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** The text as a terminal may show it, also as JSON: each harmful character as its escape, which JSON reads as the same. */
export function harmless(text: string): string {
  return text.replace(HARMFUL, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

async function* shown(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const chunk of body) yield harmless(decoder.decode(chunk, { stream: true }));
  yield harmless(decoder.decode());
}

/** To the start of the line, without what stands in it. */
const CLEARED = "\r\u001b[K";
