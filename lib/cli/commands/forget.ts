import { type Call, countText, given, printAnswer, requestKey } from "@/lib/cli/call";
import {
  type Command,
  detachOption,
  EXIT,
  idempotencyKeyOption,
  pagingOptions,
  requiredReasonOption,
  UsageError,
  yesOption,
} from "@/lib/cli/command";
import { confirmed } from "@/lib/cli/confirm";
import { until } from "@/lib/cli/follow";
import { list } from "@/lib/cli/lists";
import { factsText } from "@/lib/cli/table";
import type { ForgetOut, ForgetPreview } from "@/lib/keep/forget/forget.shapes";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";

const whatOptions = [
  { name: "tag", value: "name=value", text: "A tag of the events with its value, such as customerId=42" },
  { name: "aggregateId", value: "id", text: "Id of an aggregate" },
  { name: "aggregateType", value: "type", text: "With --aggregateId: only an aggregate of this type" },
  {
    name: "payload",
    value: "pointer=value",
    text: "A JSON pointer into the payload with its value; needs --source, or --from and --to",
  },
  { name: "source", value: "name", names: "sources", text: "Only events of this source" },
  { name: "from", value: "time", text: "Only events first seen at or after this time: ISO 8601 with an offset" },
  { name: "to", value: "time", text: "Only events first seen before this time" },
] as const;

const FORGET = "api/v1/forget";

async function forgetData(call: Call): Promise<number> {
  const { line, api, terminal } = call;
  const what = { key: keyOf(call), ...given(call, "source", "from", "to") };
  if (line.flag("preview") || !line.flag("yes")) {
    const preview = await api.change<ForgetPreview>(`${FORGET}/preview`, { method: "POST", body: what });
    if (line.flag("preview")) {
      await printAnswer(call, preview, () => previewText(preview));
      return preview.kept === null || preview.kept === 0 ? EXIT.done : EXIT.partly;
    }
    terminal.say(previewText(preview).trimEnd());
    if (!(await confirmed(call, "Forget", preview.events, { always: true, besides: archivedText(preview) })))
      return EXIT.refused;
  }
  const key = requestKey(call);
  const body = { ...what, reason: line.text("reason") };
  const answer = await api.change<{ id: string; receipt: string }>(FORGET, { method: "POST", body, key });
  terminal.say(`Keep the receipt with the request, it is not shown again: ${answer.receipt}`);
  terminal.say(`Forget ${answer.id}: a worker does it.`);
  if (line.flag("detach")) {
    return printAnswer(call, answer, () => `${answer.id}\n`);
  }
  const ended = await until<ForgetOut>(call, {
    path: `${FORGET}/${answer.id}`,
    over: ({ state }) => state === "DONE",
    progress: ({ phase, stalled }) => [`RUNNING ${phase}`, stalled].filter(Boolean).join(", "),
    stopped: `Stopped waiting. The forget continues: \`parkade forget show ${answer.id}\` has its report.`,
  });
  return ended === null ? EXIT.interrupted : report(call, { ...ended, receipt: answer.receipt });
}

async function showForget(call: Call): Promise<number> {
  const shown = await call.api.get<ForgetOut>(`${FORGET}/${encodeURIComponent(call.line.arguments[0]!)}`);
  return report(call, shown);
}

/** With --json also the receipt, right after the forget. */
async function report(call: Call, shown: ForgetOut & { receipt?: string }): Promise<number> {
  await printAnswer(call, shown, () => reportText(shown));
  if (shown.refused.unconfirmed)
    call.terminal.say(
      "unconfirmed: `parkade confirm` says that the target has processed them; then forget them again.",
    );
  return sumOf(shown.refused) > 0 ? EXIT.partly : EXIT.done;
}

function keyOf(call: Call): object {
  const { line } = call;
  const [tag, payload] = [line.text("tag"), line.text("payload")];
  const aggregate = given(call, "aggregateId", "aggregateType");
  const keys = [
    ...(tag === null ? [] : [{ tag: pairOf(tag, "tag", "name", line.command) }]),
    ...(payload === null ? [] : [{ payload: pairOf(payload, "payload", "pointer", line.command) }]),
    ...(Object.keys(aggregate).length === 0 ? [] : [aggregate]),
  ];
  if (keys.length !== 1) {
    throw new UsageError("name one of --tag, --aggregateId and --payload", line.command);
  }
  return keys[0]!;
}

function pairOf(text: string, option: string, name: string, command: Command): Record<string, string> {
  const at = text.indexOf("=");
  if (at <= 0) throw new UsageError(`--${option} needs a value after =`, command);
  return { [name]: text.slice(0, at), value: text.slice(at + 1) };
}

function previewText({ events, kept, keptByReason, archivedEvents, objects }: ForgetPreview): string {
  return factsText([
    ["events", events === null ? "unknown" : formatNumber(events)],
    ["would stay", kept === null ? "unknown" : countText(kept, keptByReason)],
    ["archived", archivedEvents === null ? `read from ${formatNumber(objects)} objects` : formatNumber(archivedEvents)],
  ]);
}

function archivedText({ archivedEvents }: ForgetPreview): string {
  if (archivedEvents === 0) return "";
  return archivedEvents === null
    ? ", and those of the archive, which are not counted yet"
    : ` and ${plural(archivedEvents, "archived event")}`;
}

function reportText({
  id,
  state,
  keyKind,
  counts,
  refused,
  reason,
  createdBy,
  createdAt,
  finishedAt,
  stalled,
}: ForgetOut): string {
  return factsText([
    ["forget", id],
    ["state", state],
    ["key", keyKind],
    ...Object.entries(counts).map(([place, count]): [string, string] => [place, formatNumber(count)]),
    ["stayed", countText(sumOf(refused), refused)],
    ["reason", reason],
    ["by", createdBy],
    ["created", createdAt],
    ["finished", finishedAt],
    ["does not move", stalled],
  ]);
}

function sumOf(counts: Record<string, number>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

export const FORGET_COMMANDS: readonly Command[] = [
  {
    name: "forget",
    summary: "Delete the data of a person everywhere, for good",
    options: [
      ...whatOptions,
      requiredReasonOption,
      { name: "preview", text: "Only show what would be deleted, and what would stay" },
      {
        ...yesOption,
        text: "Do not ask for confirmation. Without it the command asks even for a single event: a forget cannot be undone",
      },
      detachOption,
      idempotencyKeyOption,
    ],
    details:
      "Events that the key names leave the store and the archive, and what else names them is replaced by [forgotten], in the audit, too. This cannot be undone. A worker does it; the command waits for it and prints its report, which names nobody, as `forget show` does. Do not name the person in --reason. Exit code 4, of --preview as well: some stay, such as those in a redrive, or sent and not confirmed (`confirm` ends that); forget them again when the reason is gone.",
    examples: [
      'parkade forget --tag customerId=42 --reason "request 2026/311" --preview',
      'parkade forget --tag customerId=42 --reason "request 2026/311, article 17"',
      'parkade forget --payload /customer/email=ada@example.org --source orders --reason "request 2026/311"',
    ],
    run: forgetData,
  },
  {
    name: "forget list",
    summary: "List what was forgotten, newest first",
    options: [...pagingOptions],
    details: "Each with its key kind, its counts and its reason; nothing names whose data it was.",
    examples: ["parkade forget list"],
    run: list<ForgetOut>(FORGET, [
      "id",
      "state",
      ["key", "keyKind"],
      ["events", ({ counts }) => (counts.events ?? 0) + (counts.archivedEvents ?? 0)],
      ["stayed", ({ refused }) => sumOf(refused)],
      ["by", "createdBy"],
      ["at", "createdAt"],
      "reason",
    ]),
  },
  {
    name: "forget show",
    summary: "Show the report of a forget",
    arguments: [{ name: "id" }],
    options: [],
    details: "The id is the one that `forget` prints. Exit code 4: some stay.",
    examples: ["parkade forget show 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a70"],
    run: showForget,
  },
];
