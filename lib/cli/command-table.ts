import type { Command } from "@/lib/cli/command";
import { ALERT_COMMANDS } from "@/lib/cli/commands/alerts";
import { ARCHIVE_COMMANDS } from "@/lib/cli/commands/archive";
import { CONTROL_COMMANDS } from "@/lib/cli/commands/controls";
import { EVENT_COMMANDS } from "@/lib/cli/commands/events";
import { FORGET_COMMANDS } from "@/lib/cli/commands/forget";
import { GUARD_COMMANDS, SIGN_IN_COMMANDS } from "@/lib/cli/commands/guard";
import { HELD_COMMANDS } from "@/lib/cli/commands/held";
import { MEND_COMMANDS } from "@/lib/cli/commands/mends";
import { PROGRAM_COMMANDS } from "@/lib/cli/commands/program";
import { REDRIVE_RULE_COMMANDS } from "@/lib/cli/commands/redrive-rules";
import { REDRIVE_COMMANDS } from "@/lib/cli/commands/redrives";
import { RETENTION_COMMANDS } from "@/lib/cli/commands/retention";
import { SCHEMA_COMMANDS } from "@/lib/cli/commands/schemas";
import { SOURCE_COMMANDS } from "@/lib/cli/commands/sources";
import { TARGET_COMMANDS } from "@/lib/cli/commands/targets";

/** The one description of the command line, in the order of the help: parser, help and completion are made of it. */
export const COMMANDS: readonly Command[] = [
  ...PROGRAM_COMMANDS,
  ...SIGN_IN_COMMANDS,
  ...EVENT_COMMANDS,
  ...MEND_COMMANDS,
  ...REDRIVE_COMMANDS,
  ...ARCHIVE_COMMANDS,
  ...RETENTION_COMMANDS,
  ...FORGET_COMMANDS,
  ...GUARD_COMMANDS,
  ...HELD_COMMANDS,
  ...CONTROL_COMMANDS,
  ...ALERT_COMMANDS,
  ...SOURCE_COMMANDS,
  ...SCHEMA_COMMANDS,
  ...TARGET_COMMANDS,
  ...REDRIVE_RULE_COMMANDS,
];
