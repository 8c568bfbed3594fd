import { parseArgs } from "node:util";
import { type Command, FILTER_OPTIONS, NOT_OPTIONS, type Option, optionsOf, UsageError } from "@/lib/cli/command";
import { COMMANDS } from "@/lib/cli/command-table";

export type CommandLine = {
  command: Command;
  arguments: string[];
  flag(name: string): boolean;
  text(name: string): string | null;
  texts(name: string): string[];
  number(name: string): number | null;
  /** The names of the filter, as the API's query string takes them. */
  filter: URLSearchParams;
};

type Values = Record<string, string | boolean | (string | boolean)[] | undefined>;

/**
 * Reads the words after `parkade`. Throws UsageError for an unknown command or option, a missing or superfluous argument,
 * and a value that the table excludes. Without a command null: the caller shows the help.
 */
export function readCommandLine(words: readonly string[]): CommandLine | null {
  const { command, rest } = takeCommand(words);
  if (command === null) return null;
  const options = [...optionsOf(command), ...(command.filter ? filterOptions(rest) : [])];
  const { values, positionals } = parse(command, options, rest);
  const texts = (name: string) => [values[name] ?? []].flat().map(String);
  const text = (name: string) => texts(name)[0] ?? null;
  const flag = (name: string) => values[name] === true;
  if (!flag("help") && !flag("version")) check(command, options, { texts, flag, positionals });
  const filter = new URLSearchParams(
    filterOptions(rest).flatMap(({ name }) => (command.filter ? texts(name).map((value) => [name, value]) : [])),
  );
  return { command, arguments: positionals, flag, text, texts, number: (name) => numberOf(text(name)), filter };
}

/** Options may stand before the command: the global ones of a shell's alias. */
export function takeCommand(words: readonly string[]): { command: Command | null; rest: string[] } {
  const first = words.findIndex((word, at) => !word.startsWith("-") && !takesNext(words[at - 1]));
  if (first === -1) return { command: null, rest: [...words] };
  for (const length of [2, 1]) {
    const command = COMMANDS.find(({ name }) => name === words.slice(first, first + length).join(" "));
    if (command) return { command, rest: [...words.slice(0, first), ...words.slice(first + length)] };
  }
  const word = words[first]!;
  const group = COMMANDS.filter(({ name }) => name.startsWith(`${word} `));
  throw new UsageError(
    group.length > 0
      ? `${word} needs one of ${group.map(({ name }) => name.slice(word.length + 1)).join(", ")}`
      : `There is no command ${JSON.stringify(word)}: parkade --help lists them`,
  );
}

/** `--url http://host search`: the word after such an option is its value. */
export function takesNext(word: string | undefined): boolean {
  return word === "--url" || word === "--actor";
}

/** The options of the filter, with those tags that the words name. */
function filterOptions(words: readonly string[]): Option[] {
  const tags = new Set(words.flatMap((word) => /^--((?:not\.)?tag\.[^=]+)/.exec(word)?.[1] ?? []));
  const plain = [...FILTER_OPTIONS.filter(({ name }) => !name.includes("<")), ...NOT_OPTIONS];
  return [...plain, ...[...tags].map((name) => ({ name, value: "value", many: true, text: "" }) satisfies Option)];
}

function parse(command: Command, options: readonly Option[], words: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({
      args: withDashedValues(options, words),
      allowPositionals: true,
      options: Object.fromEntries(
        options.map(({ name, short, value }) => [
          name,
          { type: value ? "string" : "boolean", multiple: Boolean(value), ...(short ? { short } : {}) } as const,
        ]),
      ),
    });
    return { values: values as Values, positionals };
  } catch (error) {
    // Node's sentence, without its advice on how to pass a word that begins with a dash.
    const sentence = error instanceof Error ? error.message.split(". ")[0]! : String(error);
    throw new UsageError(sentence.replace(/ does not take an argument$/, " takes no value"), command);
  }
}

/** `--from -24h` becomes `--from=-24h`: Node would take the value for an option. */
function withDashedValues(options: readonly Option[], words: readonly string[]): string[] {
  const joined: string[] = [];
  for (const word of words) {
    const before = joined.at(-1);
    const takes = options.some(({ name, value }) => value && before === `--${name}`);
    if (takes && /^-\d/.test(word)) joined[joined.length - 1] = `${before}=${word}`;
    else joined.push(word);
  }
  return joined;
}

type Read = { texts(name: string): string[]; flag(name: string): boolean; positionals: string[] };

function check(command: Command, options: readonly Option[], { texts, flag, positionals }: Read): void {
  const expected = command.arguments ?? [];
  const missing = expected.filter(({ optional }, at) => !optional && positionals[at] === undefined);
  if (missing.length > 0) throw new UsageError(`${missing[0]!.name} is missing`, command);
  if (positionals.length > expected.length && !expected.at(-1)?.many) {
    throw new UsageError(`${JSON.stringify(positionals[expected.length])} is not expected here`, command);
  }
  for (const [at, { name, values }] of expected.entries()) {
    if (values && !values.includes(positionals[at]!)) throw notOneOf(name, values, command);
  }
  for (const { name, values, number, many, required } of options) {
    const given = texts(name);
    if (required && given.length === 0 && !flag("preview")) throw new UsageError(`--${name} is missing`, command);
    if (given.some((value) => value === "")) throw new UsageError(`--${name} is empty`, command);
    if (values && !given.every((value) => values.includes(value))) throw notOneOf(`--${name}`, values, command);
    const isNumber = number === "whole" ? isWhole : isDecimal;
    if (number && !given.every(isNumber)) {
      throw new UsageError(`--${name} must be a ${number === "whole" ? "whole number" : "number"} above 0`, command);
    }
    if (!many && given.length > 1) throw new UsageError(`--${name} is given twice`, command);
  }
}

function notOneOf(name: string, values: readonly string[], command: Command): UsageError {
  return new UsageError(`${name} must be one of ${values.join(", ")}`, command);
}

const isWhole = (text: string) => /^[1-9]\d{0,8}$/.test(text);
const isDecimal = (text: string) => /^\d{1,9}(\.\d{1,9})?$/.test(text) && Number(text) > 0;
const numberOf = (text: string | null) => (text === null ? null : Number(text));
