import { type Call, printAnswer } from "@/lib/cli/call";
import { EXIT } from "@/lib/cli/command-table";
import { EVENT_COLUMNS, EVENT_COLUMNS_NARROW } from "@/lib/cli/event-columns";
import { factsText, tableText } from "@/lib/cli/table";
import type { CountOut, EventCounts, EventList } from "@/lib/contract/events";
import { EVENT_STATUSES, SHOWN_PARTS } from "@/lib/core/event-state";
import { formatNumber } from "@/lib/core/format";

const LIMIT = 50;
/** Of the API. */
export const PAGE_MAX = 500;

export async function search(call: Call): Promise<number> {
  return call.line.flag("count") ? count(call) : list(call);
}

async function list(call: Call): Promise<number> {
  const { line, api, terminal, clock } = call;
  const limit = line.number("limit") ?? LIMIT;
  const items: EventList["items"] = [];
  let cursor = line.text("cursor");
  do {
    const query = new URLSearchParams(line.filter);
    query.set("limit", String(Math.min(PAGE_MAX, limit - items.length)));
    if (cursor !== null) query.set("cursor", cursor);
    const page = await api.get<EventList>("api/v1/events", query);
    items.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== null && items.length < limit);
  await printAnswer(call, { items, nextCursor: cursor }, () =>
    terminal.columns === null
      ? tableText(items, EVENT_COLUMNS, null)
      : tableText(items, EVENT_COLUMNS_NARROW(clock.wallMs()), terminal.columns),
  );
  if (items.length === 0) terminal.say("No event matches.");
  else if (cursor !== null)
    terminal.say(
      `There are more than ${items.length === 1 ? "this one" : `these ${formatNumber(items.length)}`}: --limit, or --count.`,
    );
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
