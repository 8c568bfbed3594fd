import { randomUUID } from "node:crypto";
import { type Call, printAnswer } from "@/lib/cli/call";
import { EXIT } from "@/lib/cli/command";
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
export async function showTail(call: Call): Promise<number> {
  return printTail(call, await call.api.get<TailOut>(pathOf(call, "tail")));
}

/** `held skip` and `held undo`. */
export async function changeSkip(call: Call, method: "PUT" | "DELETE"): Promise<number> {
  const reason = call.line.text("reason");
  const body = reason === null ? {} : { reason };
  return printTail(call, await call.api.change<TailOut>(pathOf(call, "skip"), { method, body }));
}

/** `held release`: redrives the tail in its order, past its head. */
export async function releaseTail(call: Call): Promise<number> {
  const { line, api, terminal } = call;
  const tail = await api.get<TailOut>(pathOf(call, "tail"));
  const { events } = tail.held;
  terminal.say(tailText(tail).trimEnd());
  if (events.length === 0) return EXIT.refused;
  if (!line.flag("yes") && !(await confirmed(call, "Release", events.length))) return EXIT.refused;
  const select = { ids: events.map(({ id }) => id) };
  const lane = line.text("lane") ?? "slow";
  const body = { select, lane, earlier: "pass", reason: line.text("reason") };
  const key = line.text("idempotency-key") ?? randomUUID();
  const begun = await api.change<RedriveAnswer>("api/v1/redrives", { method: "POST", body, key });
  if (!line.flag("detach")) return followRedrive(call, begun.id);
  await printAnswer(call, begun, () => `${begun.id}\n`);
  return EXIT.done;
}

async function printTail(call: Call, tail: TailOut): Promise<number> {
  await printAnswer(call, tail, () => tailText(tail));
  return EXIT.done;
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
