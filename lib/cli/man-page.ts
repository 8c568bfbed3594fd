import {
  COMMANDS,
  ENVIRONMENT,
  FILTER_OPTIONS,
  FILTER_RULE,
  GLOBAL_OPTIONS,
  type Option,
} from "@/lib/cli/command-table";
import { exitLines, optionLine, SUMMARY, usageLine } from "@/lib/cli/help";

/** parkade(1) in the language of `man`. */
export function manPage(version: string): string {
  return `${[
    `.TH PARKADE 1 "" "parkade ${escaped(version)}" "User commands"`,
    // Neither justified nor with words divided: both break what is to be copied.
    ".nh",
    ".ad l",
    ".SH NAME",
    `parkade \\- ${escaped(SUMMARY)}`,
    ".SH SYNOPSIS",
    ".B parkade",
    "<command> [options]",
    ".SH COMMANDS",
    ...COMMANDS.flatMap((command) => [
      `.SS "${escaped(usageLine(command))}"`,
      line(`${command.summary}.`),
      ".PP",
      line(command.details),
      ...terms(command.options ?? []),
      ".PP",
      "Examples:",
      ".PP",
      ".nf",
      ...command.examples.map((example) => `.RS 4\n${line(example)}\n.RE`),
      ".fi",
    ]),
    ".SH FILTER",
    line(FILTER_RULE),
    ...terms(FILTER_OPTIONS),
    ".SH OPTIONS OF EVERY COMMAND",
    ...terms(GLOBAL_OPTIONS),
    ".SH ENVIRONMENT",
    ...ENVIRONMENT.flatMap(({ name, text }) => [".TP", `.B ${escaped(name)}`, line(text)]),
    ".SH EXIT STATUS",
    ...exitLines().flatMap(([code, text]) => [".TP", `.B ${code}`, line(text)]),
  ].join("\n")}\n`;
}

function terms(options: readonly Option[]): string[] {
  return options.map(optionLine).flatMap(([option, text]) => [".TP", `.B ${escaped(option)}`, line(text)]);
}

/** A line that begins with a dot or an apostrophe would be a request. */
function line(text: string): string {
  const safe = escaped(text);
  return /^[.']/.test(safe) ? `\\&${safe}` : safe;
}

/** A plain hyphen would become a typographic one, which nobody can copy into a shell. */
function escaped(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll("`", "\\(ga")
    .replaceAll('"', "\\(dq")
    .replaceAll("'", "\\(aq");
}
