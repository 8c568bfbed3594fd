import {
  type Command,
  FILTER_OPTIONS,
  type Names,
  NOT_OPTIONS,
  type Option,
  optionsOf,
  UsageError,
} from "@/lib/cli/command";
import { takeCommand, takesNext } from "@/lib/cli/command-line";
import { COMMANDS } from "@/lib/cli/command-table";
import type { Shell } from "@/lib/cli/commands/program";

/**
 * What may stand in place of the last word, one candidate a line. `namesOf` reads the names of the sources or of the targets;
 * a candidate list without them is right as well.
 */
export async function candidates(
  shell: Shell,
  words: readonly string[],
  namesOf: (names: Names) => Promise<string[]>,
): Promise<string[]> {
  const joined = shell === "bash" ? joinedAtEquals(words) : [...words];
  const current = joined.pop() ?? "";
  const command = commandBefore(joined);
  if (command === null) {
    const typed = joined.filter((word, at) => !word.startsWith("-") && !takesNext(joined[at - 1]));
    return COMMANDS.map(({ name }) => name.split(" "))
      .filter((name) => typed.every((word, at) => name[at] === word))
      .map((name) => name[typed.length] ?? "")
      .filter(startsWith(current))
      .filter((word, at, list) => word !== "" && list.indexOf(word) === at);
  }
  const options = [...optionsOf(command), ...(command.filter ? [...FILTER_OPTIONS, ...NOT_OPTIONS] : [])];
  const named = (word: string | undefined) => options.find(({ name, value }) => value && word === `--${name}`);
  const [, assigned, value = ""] = /^(--[^=]+)=(.*)$/s.exec(current) ?? [];
  if (assigned !== undefined) {
    // bash replaces what is behind the equals sign, zsh the whole word.
    const before = shell === "bash" ? "" : `${assigned}=`;
    return (await valuesOf(named(assigned), namesOf)).filter(startsWith(value)).map((found) => before + found);
  }
  const awaiting = named(joined.at(-1));
  if (awaiting) return (await valuesOf(awaiting, namesOf)).filter(startsWith(current));
  if (current.startsWith("-")) return unused(options, joined).filter(startsWith(current));
  const place =
    joined.filter((word, at) => !word.startsWith("-") && !named(joined[at - 1])).length - nameWords(command);
  const argument = command.arguments?.[place];
  return (await valuesOf(argument, namesOf)).filter(startsWith(current));
}

const nameWords = (command: Command) => command.name.split(" ").length;
const startsWith = (prefix: string) => (word: string) => word.startsWith(prefix);

function commandBefore(words: readonly string[]): Command | null {
  try {
    return takeCommand(words).command;
  } catch (error) {
    if (error instanceof UsageError) return null;
    throw error;
  }
}

/** `--status`, `=`, `PEN` is one word. */
function joinedAtEquals(words: readonly string[]): string[] {
  const joined: string[] = [];
  words.forEach((word, at) => {
    const before = joined.at(-1);
    const goesOn = before?.startsWith("--") && (word === "=" || (words[at - 1] === "=" && before.endsWith("=")));
    if (goesOn) joined[joined.length - 1] = before + word;
    else joined.push(word);
  });
  return joined;
}

function unused(options: readonly Option[], words: readonly string[]): string[] {
  const given = new Set(words.map((word) => word.split("=")[0]));
  return options
    .filter(({ name, many }) => many || !given.has(`--${name}`))
    .map(({ name }) => `--${name.replace(/<\w+>$/, "")}`);
}

async function valuesOf(
  of: { values?: readonly string[]; names?: Names } | undefined,
  namesOf: (names: Names) => Promise<string[]>,
): Promise<readonly string[]> {
  return of?.values ?? (of?.names ? namesOf(of.names) : []);
}
