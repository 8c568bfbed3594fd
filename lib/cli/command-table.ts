import { type Argument, type Command, GLOBAL_OPTIONS, type Option } from "@/lib/cli/command";
import { CONTROL_COMMANDS } from "@/lib/cli/commands/control";
import { EVENT_COMMANDS } from "@/lib/cli/commands/events";
import { RECORD_COMMANDS } from "@/lib/cli/commands/records";
import { REDRIVE_COMMANDS } from "@/lib/cli/commands/redrives";
import { SOURCE_COMMANDS } from "@/lib/cli/commands/sources";

/** The one description of the command line: parser, help, completion and docs/cli.md are made of it. */
const TABLE = [...EVENT_COMMANDS, ...REDRIVE_COMMANDS, ...CONTROL_COMMANDS, ...RECORD_COMMANDS, ...SOURCE_COMMANDS];
export const COMMANDS: readonly Command[] = TABLE;
export type CommandName = (typeof TABLE)[number]["name"];

/** What a command takes besides the filter. */
export function optionsOf(command: Command): readonly Option[] {
  return [...(command.options ?? []), ...GLOBAL_OPTIONS];
}

/** `id`, `[id ...]`, as in a usage line. */
export function argumentText({ name: word, optional, many }: Argument): string {
  const text = `<${word}>${many ? " ..." : ""}`;
  return optional ? `[${text}]` : text;
}
