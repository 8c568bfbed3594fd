import { type Call, given, printAnswer, requestKey } from "@/lib/cli/call";
import {
  type Command,
  EXIT,
  idempotencyKeyOption,
  type Option,
  pagingOptions,
  reasonOption,
  requiredReasonOption,
  UsageError,
  yesOption,
} from "@/lib/cli/command";
import { confirmed } from "@/lib/cli/confirm";
import { list } from "@/lib/cli/lists";
import type { ControlOut, ControlRequest, LiftedMany } from "@/lib/order/controls/controls.shapes";
import { plural, visible } from "@/lib/platform/plain/format.pure";

const untilOption: Option = { name: "until", value: "time", text: "It ends at this time: ISO 8601 with an offset" };
const scopeOptions: readonly Option[] = [
  { name: "eventId", value: "id", text: "The producer's id of an event" },
  { name: "aggregateId", value: "id", text: "Id of an aggregate" },
  { name: "aggregateType", value: "type", text: "With --aggregateId: only an aggregate of this type" },
  { name: "errorCode", value: "code", text: "Error code" },
  { name: "source", value: "name", names: "sources", text: "A whole source; beside another name, only in this source" },
];
const CONTROL_SCOPE =
  "A control covers one event, aggregate, error code or source, and applies to events parked now and later.";

const CONTROLS = "api/v1/controls";

/** `control blacklist`, `cooldown` and `whitelist`. */
async function imposeControl(call: Call, kind: ControlRequest["kind"]): Promise<number> {
  const { line, api } = call;
  const scope = given(call, "eventId", "aggregateId", "aggregateType", "errorCode", "source");
  if (Object.keys(scope).length === 0) {
    throw new UsageError("name its scope: --eventId, --aggregateId, --errorCode or --source", line.command);
  }
  const body = { kind, scope, reason: line.text("reason"), expiresAt: line.text("until") };
  const key = requestKey(call);
  const imposed = await api.change<ControlOut & { underWay: number | null }>(CONTROLS, { method: "POST", body, key });
  await printAnswer(call, imposed, () => `${imposed.id}\n`);
  // It may be meant for what comes, or be misspelt.
  if (imposed.catches === 0) call.terminal.say("It matches no parked event now.");
  if (imposed.underWay !== 0) {
    const { underWay } = imposed;
    call.terminal.say(
      underWay === null ? "Sends under way: not counted." : `${plural(underWay, "send")} still under way.`,
    );
  }
  return EXIT.done;
}

/** All that match `--source`, `--redrive`, `--aggregateId`, `--kind`; `--automatic` = those that Parkade imposed. */
async function liftMatching(call: Call): Promise<number> {
  const { line, api, terminal } = call;
  const named = given(call, "source", "redrive", "aggregateId", "kind");
  const filter = { ...named, ...(line.flag("automatic") ? { origin: "automatic" } : {}) };
  const reason = line.text("reason") ?? "lifted";
  if (Object.keys(filter).length === 0) {
    throw new UsageError(
      "give the id of a control, or --source, --redrive, --aggregateId, --kind or --automatic",
      line.command,
    );
  }
  const path = `${CONTROLS}/lift`;
  const found = await api.change<LiftedMany>(path, { method: "POST", body: { filter, reason, dryRun: true } });
  if (!(await confirmed(call, "Lift", found.controls, { noun: "control" }))) return EXIT.refused;
  const key = requestKey(call);
  const lifted = await api.change<LiftedMany>(path, { method: "POST", body: { filter, reason }, key });
  await printAnswer(call, lifted, () => `${plural(lifted.controls, "control")} lifted\n`);
  if (lifted.more) terminal.say("Others match: lift again.");
  return EXIT.done;
}

async function liftControl(call: Call): Promise<number> {
  const { line, api } = call;
  if (line.arguments[0] === undefined) return liftMatching(call);
  if (Object.keys(given(call, "source", "redrive", "aggregateId", "kind")).length > 0 || line.flag("automatic")) {
    throw new UsageError("give either the id of a control or the options that match several, not both", line.command);
  }
  const path = `${CONTROLS}/${encodeURIComponent(line.arguments[0])}`;
  const lifted = await api.change<ControlOut>(path, { method: "DELETE", body: given(call, "reason") });
  return printAnswer(call, lifted, () => visible(`${lifted.kind} over ${scopeText(lifted.scope)} lifted\n`));
}

/** `source=orders errorCode=TIMEOUT`: the options that `control blacklist` takes. */
function scopeText(scope: ControlOut["scope"]): string {
  return Object.entries(scope)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
}

export const CONTROL_COMMANDS: readonly Command[] = [
  {
    name: "control list",
    summary: "List the controls, newest first",
    options: [
      {
        name: "state",
        value: "state",
        values: ["live", "ended"],
        text: "In force, or lifted or expired; default: live",
      },
      ...pagingOptions,
    ],
    details:
      "Shows the scope of each control, how many parked events it matches, and who imposed it. Parkade itself blacklists an aggregate that keeps failing.",
    examples: ["parkade control list", "parkade control list --state ended --limit 200"],
    run: list<ControlOut>(
      "api/v1/controls",
      [
        "id",
        "kind",
        ["over", ({ scope }) => scopeText(scope)],
        ["matches", ({ catches }) => catches ?? "unknown"],
        ["by", ({ origin, createdBy }) => (origin === "automatic" ? "Parkade" : createdBy)],
        ["until", "expiresAt"],
        "reason",
      ],
      { state: "live" },
    ),
  },
  {
    name: "control blacklist",
    summary: "Refuse to redrive what matches",
    options: [...scopeOptions, requiredReasonOption, untilOption, idempotencyKeyOption],
    details: `${CONTROL_SCOPE} It is in force until it is lifted, or until --until.`,
    examples: [
      'parkade control blacklist --source orders --errorCode VALIDATION_ERROR --reason "until the producer is fixed"',
    ],
    run: (call) => imposeControl(call, "blacklist"),
  },
  {
    name: "control cooldown",
    summary: "Refuse to redrive what matches until a time",
    options: [...scopeOptions, requiredReasonOption, { ...untilOption, required: true }, idempotencyKeyOption],
    details: CONTROL_SCOPE,
    examples: [
      'parkade control cooldown --source orders --until 2026-11-22T18:00:00Z --reason "stock is rebuilt until then"',
    ],
    run: (call) => imposeControl(call, "cooldown"),
  },
  {
    name: "control whitelist",
    summary: "Let what matches be redriven despite cooldowns, the redrive limit and Parkade's own blacklists",
    options: [...scopeOptions, requiredReasonOption, untilOption, idempotencyKeyOption],
    details: `${CONTROL_SCOPE} A blacklist that a person imposed stays in force. It redrives nothing by itself.`,
    examples: [
      'parkade control whitelist --source orders --until 2026-11-22T18:00:00Z --reason "the consumer is fixed"',
    ],
    run: (call) => imposeControl(call, "whitelist"),
  },
  {
    name: "control lift",
    summary: "End a control, or all that match, at once",
    arguments: [{ name: "id", optional: true }],
    options: [
      { name: "source", value: "name", text: "Without an id: those of this source" },
      {
        name: "redrive",
        value: "id",
        text: "Only blacklists that Parkade imposed because of failures in this redrive",
      },
      { name: "aggregateId", value: "id", text: "Those over this aggregate" },
      { name: "kind", value: "kind", text: "blacklist, whitelist or cooldown" },
      { name: "automatic", text: "Those that Parkade imposed on aggregates that kept failing" },
      reasonOption,
      yesOption,
      idempotencyKeyOption,
    ],
    details:
      "The id is the one that `control list` shows. Without an id it lifts all that match, after a confirmation if there are many. Lifting redrives nothing by itself.",
    examples: [
      'parkade control lift 019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b20 --reason "the producer is fixed"',
      'parkade control lift --source orders --automatic --reason "the consumer is fixed"',
    ],
    run: liftControl,
  },
];
