import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { engines } from "../../package.json";
import { FILTER_OPTIONS, optionsOf } from "./command";
import { readCommandLine } from "./command-line";
import { COMMANDS } from "./command-table";
import { commandText, overviewText } from "./help";

/** The packages ask for it; see `scripts/pack-kit.ts`. */
const NODE = `Node ${engines.node.replace(">=", "")} or newer`;

test("each command line of docs/cli.md parses", () => {
  const page = readFileSync("docs/cli.md", "utf8");
  const shell = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)]
    .map(([, code]) => code!)
    .join("")
    .replaceAll(/ # .*$/gm, "");
  const lines = [...shell.matchAll(/(?<!run |\/)\bparkade (?:-- )?([^|<>\n]*)/g)].map(([, line]) => line!.trim());
  expect(lines.length).toBeGreaterThan(40);
  for (const line of lines) {
    const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!);
    expect(readCommandLine(words)?.command.name, line).toBeDefined();
  }
});

test.each(["README.md", "docs/operate.md", "docs/cli.md", "docs/kit/README.md"])(
  "%s names the Node that the packages ask for",
  (page) => {
    expect(readFileSync(page, "utf8").replaceAll(/\s+/g, " ")).toContain(NODE);
  },
);

describe("help", () => {
  test("names every command", () => {
    for (const { name, summary } of COMMANDS) {
      expect(overviewText()).toMatch(new RegExp(`^  ${name} +${summary.slice(0, 20)}`, "m"));
    }
  });

  test.each(COMMANDS.map((command) => [command.name, command] as const))(
    "%s --help names every option it takes",
    (_, command) => {
      const help = commandText(command);
      for (const { name } of [...optionsOf(command), ...(command.filter ? FILTER_OPTIONS : [])]) {
        expect(help).toContain(`--${name}`);
      }
      expect(Math.max(...help.split("\n").map((line) => line.length))).toBeLessThanOrEqual(140);
    },
  );
});
