import { type Command, type Option, requiredReasonOption } from "@/lib/cli/command";

const periodOptions: readonly Option[] = [
  { name: "source", value: "name", names: "sources", text: "Only the events of this source" },
  { name: "errorCode", value: "code", text: "Only the events of this error code" },
];

export const RETENTION_COMMANDS = [
  {
    name: "retention show",
    summary: "Show how long events are kept, and what expires when a worker looks now",
    options: [],
    details:
      "Events expire into the archive once the day on which they were parked is older than they are kept. Those that stay are counted by reason.",
    examples: ["parkade retention show", "parkade retention show --json"],
  },
  {
    name: "retention set",
    summary: "Set how many days events are kept",
    arguments: [{ name: "days" }],
    options: [...periodOptions, requiredReasonOption],
    details:
      "From 7 to 3650. Without --source and --errorCode: of all events that no other period names. The most specific period counts: of source and code, then of the source, then of the code.",
    examples: [
      'parkade retention set 30 --reason "what the law allows"',
      'parkade retention set 7 --source orders --errorCode TIMEOUT --reason "many, and never looked at"',
    ],
  },
  {
    name: "retention unset",
    summary: "Remove the period of a source or an error code",
    options: [...periodOptions, requiredReasonOption],
    details: "Its events are kept as long as the others from then on.",
    examples: ['parkade retention unset --source orders --reason "as all others"'],
  },
] as const satisfies readonly Command[];
