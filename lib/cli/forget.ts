import { randomUUID } from "node:crypto";
import { type Call, countText, printAnswer } from "@/lib/cli/call";
import { type Command, EXIT } from "@/lib/cli/command";
import { UsageError } from "@/lib/cli/command-line";
import { confirmed } from "@/lib/cli/confirm";
import { until } from "@/lib/cli/follow";
import { givenOptions, printList } from "@/lib/cli/lists";
import { factsText } from "@/lib/cli/table";
import type { ForgetOut, ForgetPreview } from "@/lib/keep/forget/forget.shapes";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";

const FORGET = "api/v1/forget";

export async function forgetData(call: Call): Promise<number> {
  const { line, api, terminal } = call;
  const what = { key: keyOf(call), ...Object.fromEntries(givenOptions(call, "source", "from", "to")) };
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
  const key = line.text("idempotency-key") ?? randomUUID();
  const body = { ...what, reason: line.text("reason") };
  const answer = await api.change<{ id: string; receipt: string }>(FORGET, { method: "POST", body, key });
  terminal.say(`Keep the receipt with the request, it is not shown again: ${answer.receipt}`);
  terminal.say(`Forget ${answer.id}: a worker does it.`);
  if (line.flag("detach")) {
    await printAnswer(call, answer, () => `${answer.id}\n`);
    return EXIT.done;
  }
  const ended = await until<ForgetOut>(call, {
    path: `${FORGET}/${answer.id}`,
    over: ({ state }) => state === "DONE",
    progress: ({ phase, stalled }) => [`RUNNING ${phase}`, stalled].filter(Boolean).join(", "),
    stopped: `Stopped waiting. The forget goes on: \`parkade forget show ${answer.id}\` has its report.`,
  });
  return ended === null ? EXIT.interrupted : report(call, { ...ended, receipt: answer.receipt });
}

export function listForgets(call: Call): Promise<number> {
  return printList<ForgetOut>(call, FORGET, new URLSearchParams(), [
    { title: "id", whole: true, of: ({ id }) => id },
    { title: "state", of: ({ state }) => state },
    { title: "key", of: ({ keyKind }) => keyKind },
    { title: "events", of: ({ counts }) => (counts.events ?? 0) + (counts.archivedEvents ?? 0) },
    { title: "stayed", of: ({ refused }) => sumOf(refused) },
    { title: "by", of: ({ createdBy }) => createdBy },
    { title: "at", of: ({ createdAt }) => createdAt },
    { title: "reason", of: ({ reason }) => reason },
  ]);
}

export async function showForget(call: Call): Promise<number> {
  const shown = await call.api.get<ForgetOut>(
    `${FORGET}/${encodeURIComponent(call.line.arguments[0]!)}`,
    new URLSearchParams(),
  );
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
  const aggregate = Object.fromEntries(givenOptions(call, "aggregateId", "aggregateType"));
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
  if (at <= 0) throw new UsageError(`--${option} needs a value behind =`, command);
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
