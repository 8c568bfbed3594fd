import {
  type Argument,
  type Command,
  ENVIRONMENT,
  EXIT,
  EXIT_TEXTS,
  FILTER_OPTIONS,
  FILTER_RULE,
  GLOBAL_OPTIONS,
  type Option,
} from "@/lib/cli/command";
import { COMMANDS } from "@/lib/cli/command-table";
import { wrapped } from "@/lib/cli/table";

const WIDTH = 100;

const SUMMARY = "Parkade from the command line: dead letters parked, understood, and sent back safely.";

/** `parkade --help` */
export function overviewText(): string {
  return [
    SUMMARY,
    "Usage: parkade <command> [options]",
    section(
      "Commands",
      COMMANDS.map(({ name, summary }) => [name, summary]),
    ),
    section("Options of every command", GLOBAL_OPTIONS.map(optionLine)),
    section(
      "Environment",
      ENVIRONMENT.map(({ name, text }) => [name, text]),
    ),
    section("Exit codes", exitLines()),
    "parkade <command> --help says more.",
  ].join("\n\n");
}

export function commandText(command: Command): string {
  const own = command.options ?? [];
  return [
    `parkade ${command.name}: ${command.summary}`,
    `Usage: ${usageLine(command)}`,
    wrapped(command.details, WIDTH),
    own.length > 0 && section("Options", own.map(optionLine)),
    command.filter && section("Filter", FILTER_OPTIONS.map(optionLine), FILTER_RULE),
    section("Options of every command", GLOBAL_OPTIONS.map(optionLine)),
    ["Examples:", ...command.examples.map((example) => `  ${example}`)].join("\n"),
  ]
    .filter((part) => part !== false && part !== undefined)
    .join("\n\n");
}

/** `id`, `[id ...]`, as in a usage line. */
function argumentText({ name: word, optional, many }: Argument): string {
  const text = `<${word}>${many ? " ..." : ""}`;
  return optional ? `[${text}]` : text;
}

function usageLine(command: Command): string {
  const needed = (command.options ?? []).filter(({ required }) => required).map(optionText);
  return [
    `parkade ${command.name}`,
    ...(command.arguments ?? []).map(argumentText),
    ...(command.filter ? ["[filter]"] : []),
    ...needed,
    "[options]",
  ].join(" ");
}

function optionText({ name, short, value, values }: Option): string {
  const of = value === undefined ? "" : ` <${values?.join("|") ?? value}>`;
  return `${short ? `-${short}, ` : ""}--${name}${of}`;
}

/** An option and its text, with its values when they are too many to stand beside it. */
function optionLine(option: Option): [string, string] {
  const long = option.values && option.values.join("|").length > 30 ? { ...option, values: undefined } : option;
  const more = [
    long !== option && `one of ${option.values!.join(", ")}`,
    option.many && !FILTER_OPTIONS.includes(option) && "may be given several times",
    option.required && "needed",
  ].filter(Boolean);
  return [optionText(long), more.length > 0 ? `${option.text} (${more.join("; ")})` : option.text];
}

function exitLines(): [string, string][] {
  return Object.entries(EXIT).map(([name, code]) => [String(code), EXIT_TEXTS[name as keyof typeof EXIT]]);
}

function section(title: string, lines: [string, string][], rule?: string): string {
  const width = Math.max(...lines.map(([left]) => left.length)) + 4;
  const rows = lines.map(
    ([left, text]) => `  ${left}`.padEnd(width) + wrapped(text, WIDTH, " ".repeat(width)).trimStart(),
  );
  return [`${title}:`, ...(rule ? [wrapped(rule, WIDTH, "  ")] : []), ...rows].join("\n");
}
