import { type Call, printAnswer } from "@/lib/cli/call";
import { EXIT } from "@/lib/cli/command";
import { EVENT_COLUMNS, EVENT_COLUMNS_NARROW } from "@/lib/cli/event-columns";
import { moreText, readPages } from "@/lib/cli/lists";
import { factsText, tableText } from "@/lib/cli/table";
import { EVENT_STATUSES, SHOWN_PARTS } from "@/lib/events/event-state.pure";
import type { CountOut, EventCounts, ListedEvent } from "@/lib/events/events.shapes";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { formatNumber } from "@/lib/platform/plain/format.pure";

export async function search(call: Call): Promise<number> {
  return call.line.flag("count") ? count(call) : list(call);
}

async function list(call: Call): Promise<number> {
  const { line, terminal, clock } = call;
  const page = await readPages<ListedEvent>(call, "api/v1/events", line.filter);
  const { items, nextCursor } = page;
  await printAnswer(call, page, () =>
    terminal.columns === null
      ? tableText(items, EVENT_COLUMNS, null)
      : tableText(items, EVENT_COLUMNS_NARROW(clock.wallMs()), terminal.columns),
  );
  if (items.length === 0) terminal.say("No event matches.");
  else if (nextCursor !== null) terminal.say(moreText(items, "--limit, or --count"));
  return EXIT.done;
}

async function count(call: Call): Promise<number> {
  const counts = await call.api.get<EventCounts>("api/v1/events/count", call.line.filter);
  await printAnswer(call, counts, () => countsText(counts));
  return EXIT.done;
}

/** Each state, and indented below it the parts of it, which it counts too. */
export function countsText({ total, byStatus }: EventCounts): string {
  const counted = (status: string, indent = ""): [string, string][] =>
    byStatus[status] ? [[indent + status, sayCount(byStatus[status])]] : [];
  return factsText([
    ["total", sayCount(total)],
    ...EVENT_STATUSES.flatMap((status) => [
      ...counted(status),
      ...SHOWN_PARTS[status].flatMap((part) => counted(part, "  ")),
    ]),
  ]);
}

function sayCount({ value, kind }: CountOut): string {
  if (value === null) return "unknown";
  return { exact: "", estimated: "about ", atLeast: "at least " }[kind] + formatNumber(value);
}

export async function exportEvents({ line, api, terminal, signal }: Call): Promise<number> {
  const query = new URLSearchParams(line.filter);
  const reason = line.text("reason");
  query.set("format", line.text("format") ?? "ndjson");
  if (reason !== null) query.set("reason", reason);
  const { body } = await api.stream("api/v1/events/export", query);
  try {
    if (body) await terminal.pipe(body);
  } catch (cause) {
    if (signal.aborted || !(cause instanceof TypeError)) throw cause;
    throw new ApiError("no-answer", "The export broke off: what was written is not complete", { cause });
  }
  return EXIT.done;
}
