import { type Call, given, printAnswer, requestKey } from "@/lib/cli/call";
import {
  type Command,
  detachOption,
  EXIT,
  idArgument,
  idempotencyKeyOption,
  laneOption,
  reasonOption,
  requiredReasonOption,
  yesOption,
} from "@/lib/cli/command";
import { confirmed } from "@/lib/cli/confirm";
import { followRedrive } from "@/lib/cli/follow";
import { factsText } from "@/lib/cli/table";
import type { TailOut } from "@/lib/order/tails/tails.shapes";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";
import type { RedriveAnswer } from "@/lib/redrive/request/redrive-request.shapes";

/** Versions named in one line; the rest is counted. */
const NAMED_MAX = 20;

const pathOf = ({ line }: Call, part: "tail" | "skip") =>
  `api/v1/events/${encodeURIComponent(line.arguments[0]!)}/${part}`;

/** `held show`: the head of the event's aggregate, and what it holds. */
async function showTail(call: Call): Promise<number> {
  return printTail(call, await call.api.get<TailOut>(pathOf(call, "tail")));
}

/** `held skip` and `held undo`. */
async function changeSkip(call: Call, method: "PUT" | "DELETE"): Promise<number> {
  const body = given(call, "reason");
  return printTail(call, await call.api.change<TailOut>(pathOf(call, "skip"), { method, body }));
}

/** `held release`: redrives the tail in its order, past its head. */
async function releaseTail(call: Call): Promise<number> {
  const { line, api, terminal } = call;
  const tail = await api.get<TailOut>(pathOf(call, "tail"));
  const { events } = tail.held;
  terminal.say(tailText(tail).trimEnd());
  if (events.length === 0) return EXIT.refused;
  if (!line.flag("yes") && !(await confirmed(call, "Release", events.length))) return EXIT.refused;
  const select = { ids: events.map(({ id }) => id) };
  const lane = line.text("lane") ?? "slow";
  const body = { select, lane, earlier: "pass", reason: line.text("reason") };
  const key = requestKey(call);
  const begun = await api.change<RedriveAnswer>("api/v1/redrives", { method: "POST", body, key });
  if (!line.flag("detach")) return followRedrive(call, begun.id);
  return printAnswer(call, begun, () => `${begun.id}\n`);
}

async function printTail(call: Call, tail: TailOut): Promise<number> {
  return printAnswer(call, tail, () => tailText(tail));
}

function tailText({ head, why, skipped, held }: TailOut): string {
  const named = held.events.slice(0, NAMED_MAX).map(({ version }) => `v${version}`);
  const more = held.count - named.length;
  const order = `${named.join(", ")}${more > 0 ? ` and ${formatNumber(more)} more` : ""}`;
  return factsText([
    ["head", head && `v${head.version} ${head.eventId} (${head.id}): ${why}`],
    [head ? "holds" : "behind skipped", held.count === 0 ? "nothing" : `${plural(held.count, "event")}: ${order}`],
    [
      "skipped",
      skipped.length === 0
        ? null
        : skipped.map((event) => `v${event.version} by ${event.createdBy}: ${event.reason}`).join("; "),
    ],
  ]);
}

export const HELD_COMMANDS: readonly Command[] = [
  {
    name: "held show",
    summary: "Show the head of an event's aggregate and the events that it holds",
    arguments: [idArgument],
    details: "The events are listed in the order in which they are sent.",
    examples: ["parkade held show 019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b20"],
    run: showTail,
  },
  {
    name: "held skip",
    summary: "Skip the head of an aggregate, so that its later versions can be sent",
    arguments: [idArgument],
    options: [requiredReasonOption],
    details:
      "Nothing is sent. It ends when the head is revised, is released or bounces, or with held undo. Once a later version is confirmed the head can no longer be sent.",
    examples: ['parkade held skip 019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b20 --reason "corrected by hand"'],
    run: (call) => changeSkip(call, "PUT"),
  },
  {
    name: "held undo",
    summary: "Let a skipped event hold the later versions again",
    arguments: [idArgument],
    options: [reasonOption],
    details: "It changes nothing when the event was not skipped.",
    examples: ["parkade held undo 019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b20"],
    run: (call) => changeSkip(call, "DELETE"),
  },
  {
    name: "held release",
    summary: "Skip the head of an event's aggregate, and redrive the events that it holds, in order",
    arguments: [idArgument],
    options: [requiredReasonOption, laneOption, yesOption, detachOption, idempotencyKeyOption],
    details: "Once one of them is confirmed the head is superseded and can no longer be sent.",
    examples: ['parkade held release 019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b20 --reason "the head was corrected by hand"'],
    run: releaseTail,
  },
];
