import { type Call, given, printAnswer } from "@/lib/cli/call";
import { EXIT } from "@/lib/cli/command";
import { moreText, readPages } from "@/lib/cli/lists";
import { type Column, factsText, tableText } from "@/lib/cli/table";
import type { CountOut, EventCounts, ListedEvent } from "@/lib/events/events.shapes";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { formatAgo, formatNumber } from "@/lib/platform/plain/format.pure";
import { EVENT_STATUSES, SHOWN_PARTS } from "@/lib/states/event-state.pure";

export async function search(call: Call): Promise<number> {
  return call.line.flag("count") ? count(call) : list(call);
}

async function list(call: Call): Promise<number> {
  const { line, terminal, clock } = call;
  const sort = line.text("sort");
  const query = new URLSearchParams(line.filter);
  if (sort !== null) query.set("sort", sort);
  const page = await readPages<ListedEvent>(call, "api/v1/events", query);
  const { items, nextCursor } = page;
  await printAnswer(call, page, () =>
    terminal.columns === null
      ? tableText(items, EVENT_COLUMNS, null)
      : tableText(items, EVENT_COLUMNS_NARROW(clock.wallMs(), sort !== null), terminal.columns),
  );
  if (items.length === 0) terminal.say("No event matches.");
  else if (nextCursor !== null) terminal.say(moreText(items, "--limit, or --count"));
  return EXIT.done;
}

async function count(call: Call): Promise<number> {
  const counts = await call.api.get<EventCounts>("api/v1/events/count", call.line.filter);
  return printAnswer(call, counts, () => countsText(counts));
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
  for (const [name, value] of Object.entries({ format: "ndjson", ...given({ line }, "format", "reason") }))
    query.set(name, value);
  if (line.flag("bom")) query.set("bom", "true");
  const { body } = await api.stream("api/v1/events/export", query);
  try {
    if (body) await terminal.pipe(body);
  } catch (cause) {
    if (signal.aborted || !(cause instanceof TypeError)) throw cause;
    throw new ApiError("no-answer", "The export was interrupted: the output is incomplete", { cause });
  }
  return EXIT.done;
}

/** For programs: whole values, the event's id first. */
export const EVENT_COLUMNS: readonly Column<ListedEvent>[] = [
  "id",
  "status",
  "source",
  ["event", "eventId"],
  ["aggregate", "aggregateId"],
  ["error code", "errorCode"],
  ["tries", "attempts"],
  ["first seen", "firstSeen"],
  ["error", "lastError"],
];

/** For a terminal: without the id, and with the age in place of the time. */
function EVENT_COLUMNS_NARROW(nowMs: number, byFailure: boolean): readonly Column<ListedEvent>[] {
  const age = (time: string | null) => (time === null ? "" : formatAgo(Date.parse(time), nowMs));
  return EVENT_COLUMNS.slice(1).map((column) => {
    if (column === "status") return ["status", statusText];
    if (column[0] !== "first seen") return column;
    return byFailure ? ["failed", ({ failedAt }) => age(failedAt)] : ["parked", ({ firstSeen }) => age(firstSeen)];
  });
}

function statusText({ status, heldBehind }: ListedEvent): string {
  if (!heldBehind) return status;
  return `HELD behind ${heldBehind.version === null ? heldBehind.eventId : `v${heldBehind.version}`}`;
}
