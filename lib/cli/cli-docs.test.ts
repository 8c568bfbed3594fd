import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { engines } from "../../package.json";
import { ENVIRONMENT, FILTER_OPTIONS, FILTER_RULE, GLOBAL_OPTIONS } from "./command";
import { COMMANDS, optionsOf } from "./command-table";
import { commandText, exitLines, optionText, overviewText, SUMMARY } from "./help";

const listed = (rows: readonly (readonly [string, string])[]) =>
  rows.map(([left, text]) => `- \`${left}\`: ${text}`).join("\n");

/** The packages ask for it; see `scripts/pack-kit.ts`. */
const NODE = `Node ${engines.node.replace(">=", "")} or newer`;

/** docs/cli.md: `npx vitest run --project unit lib/cli/cli-docs.test.ts -u` writes it. */
const PAGE = `# The command line

${SUMMARY} This page is made of the table in
\`lib/cli/command-table.ts\`, as are \`--help\` and the completion; a test holds it to them.

## Install

No registry has the packages: a clone of Parkade makes them, as tarballs in \`dist-kit/\`.

\`\`\`sh
npm run pack:kit                                             # in the clone: the command line, and the parts for services
npm run pack:server                                          # in the clone: console and worker, built, for \`parkade serve\`
npm install /path/to/dist-kit/parkade-[0-9]*.tgz             # where the command line is wanted
npm install /path/to/dist-kit/parkade-server-[0-9]*.tgz      # and beside it, where Parkade is to run
npx parkade serve
\`\`\`

The names alone (\`npm install parkade\`, or \`npx parkade\` where it is not installed) would fetch whatever a registry has under
them. Both need ${NODE}. \`parkade serve\` needs no sources, no git and no compiler; npm installs the
embedded PostgreSQL of the platform with it.

In the clone itself nothing is to be installed: \`npm start\` starts Parkade, and \`npm run parkade --\` is the command line. Paths
are then read from the folder of the clone, and \`--silent\` leaves out what npm prints:

\`\`\`sh
npm run parkade -- login --url https://parkade.example.com
npm run --silent parkade -- search --status PENDING --json > pending.json
\`\`\`

Every command but \`serve\` and \`backup\` is a client of the [HTTP API](api.md) and works from any machine that reaches it.

## Output and exit codes

Into a terminal: tables as wide as it is. Into a pipe: whole values with tabs between them, without titles. With \`--json\`: what
the API answers. Progress, questions and errors go to standard error. Control characters of payloads and names are shown
by their numbers.

${listed(exitLines())}

A change of more than a few events asks for their number first. Where nobody can be asked it is refused, unless \`--yes\` is
given. What redrives, changes or parks events, and what adds a source, a target, a control, a recipe or a schema, carries an
\`Idempotency-Key\` and is repeated with it when its answer is lost. Other changes are not repeated.

## Environment

${listed(ENVIRONMENT.map(({ name, text }) => [name, text]))}

## Options of every command

${listed(GLOBAL_OPTIONS.map((option) => [optionText(option), option.text]))}

## Filter

${FILTER_RULE}

${listed(FILTER_OPTIONS.map((option) => [optionText(option), option.text]))}

## Commands

${COMMANDS.map((command) => `### ${command.name}\n\n\`\`\`text\n${commandText(command, { whole: false })}\n\`\`\``).join("\n\n")}
`;

test("docs/cli.md is what the table says", async () => {
  await expect(PAGE).toMatchFileSnapshot("../../docs/cli.md");
});

test.each(["README.md", "docs/operate.md", "docs/kit/README.md"])(
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
