import { type Argument, type Command, GLOBAL_OPTIONS, type Option } from "@/lib/cli/command";
import { ALERT_COMMANDS } from "@/lib/cli/commands/alerts";
import { ARCHIVE_COMMANDS } from "@/lib/cli/commands/archive";
import { CONTROL_COMMANDS } from "@/lib/cli/commands/controls";
import { EVENT_COMMANDS } from "@/lib/cli/commands/events";
import { FORGET_COMMANDS } from "@/lib/cli/commands/forget";
import { GUARD_COMMANDS } from "@/lib/cli/commands/guard";
import { HELD_COMMANDS } from "@/lib/cli/commands/held";
import { MEND_COMMANDS } from "@/lib/cli/commands/mends";
import { PROGRAM_COMMANDS } from "@/lib/cli/commands/program";
import { REDRIVE_RULE_COMMANDS } from "@/lib/cli/commands/redrive-rules";
import { REDRIVE_COMMANDS } from "@/lib/cli/commands/redrives";
import { RETENTION_COMMANDS } from "@/lib/cli/commands/retention";
import { SCHEMA_COMMANDS } from "@/lib/cli/commands/schemas";
import { SOURCE_COMMANDS } from "@/lib/cli/commands/sources";
import { TARGET_COMMANDS } from "@/lib/cli/commands/targets";

/** Each command is described in the file of its noun. */
const DESCRIBED = [
  ...EVENT_COMMANDS,
  ...ARCHIVE_COMMANDS,
  ...RETENTION_COMMANDS,
  ...FORGET_COMMANDS,
  ...MEND_COMMANDS,
  ...REDRIVE_COMMANDS,
  ...REDRIVE_RULE_COMMANDS,
  ...GUARD_COMMANDS,
  ...HELD_COMMANDS,
  ...CONTROL_COMMANDS,
  ...ALERT_COMMANDS,
  ...SOURCE_COMMANDS,
  ...SCHEMA_COMMANDS,
  ...TARGET_COMMANDS,
  ...PROGRAM_COMMANDS,
];

/** The order of the help. `RUN` in main.ts does not compile with a command that has no place here. */
const HELP_ORDER = [
  "serve",
  "backup",
  "backup check",
  "backup restore",
  "replay",
  "login",
  "logout",
  "whoami",
  "search",
  "show",
  "revisions",
  "edit",
  "restore",
  "mend",
  "undo-mend",
  "recipe list",
  "recipe save",
  "recipe remove",
  "redrive",
  "verify",
  "ignore",
  "release",
  "confirm",
  "remove",
  "archive list",
  "archive restore",
  "archive verify",
  "retention show",
  "retention set",
  "retention unset",
  "forget",
  "forget list",
  "forget show",
  "follow",
  "pause",
  "resume",
  "cancel",
  "undo",
  "start",
  "approvals",
  "approve",
  "reject",
  "pace",
  "held show",
  "held skip",
  "held undo",
  "held release",
  "stop",
  "go",
  "control list",
  "control blacklist",
  "control cooldown",
  "control whitelist",
  "control lift",
  "redrives",
  "alert list",
  "alert acknowledge",
  "alert rules",
  "channel list",
  "channel test",
  "mark",
  "maintenance list",
  "maintenance begin",
  "maintenance end",
  "audit",
  "verify-audit",
  "park",
  "tail",
  "export",
  "source list",
  "source add",
  "source probe",
  "source set",
  "source pause",
  "source drain",
  "source stop",
  "source resume",
  "schema list",
  "schema infer",
  "schema set",
  "target list",
  "target add",
  "target remove",
  "contract",
  "redrive-rule list",
  "redrive-rule try",
  "redrive-rule on",
  "redrive-rule off",
  "completion",
] as const satisfies readonly (typeof DESCRIBED)[number]["name"][];
export type CommandName = (typeof HELP_ORDER)[number];

const byName = new Map<string, Command>(DESCRIBED.map((command) => [command.name, command]));
/** The one description of the command line: parser, help and completion are made of it. */
export const COMMANDS: readonly Command[] = HELP_ORDER.map((name) => byName.get(name)!);

/** What a command takes besides the filter. */
export function optionsOf(command: Command): readonly Option[] {
  return [...(command.options ?? []), ...GLOBAL_OPTIONS];
}

/** `id`, `[id ...]`, as in a usage line. */
export function argumentText({ name: word, optional, many }: Argument): string {
  const text = `<${word}>${many ? " ..." : ""}`;
  return optional ? `[${text}]` : text;
}
