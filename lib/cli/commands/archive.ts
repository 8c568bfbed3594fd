import {
  allOption,
  type Command,
  detachOption,
  idempotencyKeyOption,
  idsArgument,
  pagingOptions,
  requiredReasonOption,
  SELECTION,
  yesOption,
} from "@/lib/cli/command";

const removedBy = { name: "operation", value: "id" } as const;

export const ARCHIVE_COMMANDS = [
  {
    name: "remove",
    summary: "Move settled events from the store into the archive",
    arguments: [idsArgument],
    filter: true,
    options: [
      requiredReasonOption,
      { name: "preview", text: "Only say what would be removed, what would stay, and where the archive lies" },
      allOption,
      yesOption,
      detachOption,
      idempotencyKeyOption,
    ],
    details: `${SELECTION} Those that are IGNORED or CONFIRMED are written to the archive, read back, and then leave the store; the others stay and are counted by reason. A worker does it, which the command follows. \`archive restore\` brings them back as they were.`,
    examples: [
      "parkade remove --status IGNORED --to 2026-11-01T00:00:00Z --preview",
      'parkade remove --status IGNORED --to 2026-11-01T00:00:00Z --reason "the disk fills up"',
    ],
  },
  {
    name: "archive list",
    summary: "List the events that lie in the archive, the newest first",
    options: [
      { name: "eventId", value: "id", text: "The producer's id of the event" },
      { name: "aggregateId", value: "id", text: "Id of the aggregate" },
      { name: "source", value: "name", names: "sources", text: "Name of the source" },
      { name: "errorCode", value: "code", text: "Error code, such as TIMEOUT" },
      { ...removedBy, text: "What this removal has archived" },
      { name: "from", value: "time", text: "First parked at or after: ISO 8601, epoch milliseconds, or like -24h" },
      { name: "to", value: "time", text: "First parked before, in the same forms" },
      ...pagingOptions,
    ],
    details: "All options that are given must match. --json has also the object of the archive that holds each event.",
    examples: [
      "parkade archive list --aggregateId order-77",
      "parkade archive list --source orders --errorCode TIMEOUT",
    ],
  },
  {
    name: "archive restore",
    summary: "Put archived events back into the store, as they were",
    arguments: [idsArgument],
    options: [
      { ...removedBy, text: "All that this removal has archived, in place of ids" },
      { name: "day", value: "day", text: "All that was parked on this UTC day, in place of ids" },
      {
        name: "source",
        value: "name",
        names: "sources",
        text: "Beside a day: its events alone. Beside ids: the source, when several have an event of this id",
      },
    ],
    details:
      "An id is the one that `archive list` shows, or the producer's eventId. Events come back under their ids, with status, revisions and bounces; nothing is sent. An event that came in again meanwhile is stored already and is not restored. Exit code 4: some stay in the archive; standard error says why.",
    examples: [
      "parkade archive restore order-77-v3",
      "parkade archive restore --operation 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a60",
      "parkade archive restore --day 2026-11-25 --source orders",
    ],
  },
  {
    name: "archive verify",
    summary: "Compare the objects of the archive with what was written",
    options: [
      { ...removedBy, text: "What this removal has archived" },
      { name: "day", value: "day", text: "Events that were parked on this UTC day" },
      { name: "source", value: "name", names: "sources", text: "Events of this source" },
    ],
    details:
      "Reads every object that the options name, all without any, and changes nothing. Exit code 4: some are missing or were changed; standard error names them.",
    examples: ["parkade archive verify", "parkade archive verify --day 2026-11-25"],
  },
] as const satisfies readonly Command[];
