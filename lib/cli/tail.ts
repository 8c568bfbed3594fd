import type { Api } from "@/lib/cli/api";
import { type Call, patiently } from "@/lib/cli/call";
import { EXIT, UsageError } from "@/lib/cli/command";
import { PAGE_MAX } from "@/lib/cli/lists";
import { EVENT_COLUMNS } from "@/lib/cli/search";
import { type Column, tableText } from "@/lib/cli/table";
import type { EventList, ListedEvent } from "@/lib/events/events.shapes";
import type { Clock } from "@/lib/platform/clock";

const LINES = 10;
const POLL_MS = 1_000;
/** Ids are made before the commit: an event may appear below others, up to this time after it got its id. */
const LATE_MS = 60_000;
/** Between two readings of all events that may have appeared late. */
const WHOLE_MS = 15_000;

export async function tail(call: Call): Promise<number> {
  const { line, terminal, clock, signal } = call;
  for (const name of ["from", "to"]) {
    if (line.filter.has(name)) throw new UsageError(`tail takes no --${name}: search and export do`, line.command);
  }
  const tailed = createTail({ api: call.api, filter: line.filter, clock });
  try {
    await write(call, await patiently(call, () => tailed.begin(line.number("lines") ?? LINES)));
    for (;;) {
      await clock.sleep(POLL_MS, signal);
      await write(call, await patiently(call, () => tailed.poll()));
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    terminal.say("");
    return EXIT.interrupted;
  }
}

async function write({ line, terminal }: Call, events: readonly ListedEvent[]): Promise<void> {
  if (events.length === 0) return;
  const json = () => events.map((event) => `${JSON.stringify(event)}\n`).join("");
  await terminal.print(line.flag("json") ? json() : tailText(events, terminal.columns));
}

const TAIL_COLUMNS: readonly Column<ListedEvent>[] = [
  ["first seen", "firstSeen"],
  "source",
  ["event", "eventId"],
  ["error code", "errorCode"],
  ["error", "lastError"],
];

/** Without titles, which would stand between the events of two polls. */
function tailText(events: readonly ListedEvent[], columns: number | null): string {
  if (columns === null) return tableText(events, EVENT_COLUMNS, null);
  return tableText(events, TAIL_COLUMNS, columns).split("\n").slice(1).join("\n");
}

/**
 * New events of a filter, each once. Every poll reads the newest pages down to one without news; every `WHOLE_MS` it
 * reads the whole time since the last such reading and `LATE_MS` before it. The window is relative, so that the server's
 * clock alone decides.
 */
export function createTail({ api, filter, clock }: { api: Api; filter: URLSearchParams; clock: Clock }) {
  /** Ids by the last whole reading that they were seen in, or after. */
  const seen = new Map<string, number>();
  let reading = 0;
  let wholeAtMs = clock.nowMs();

  const read = async (windowMs: number, whole: boolean): Promise<ListedEvent[]> => {
    const found: ListedEvent[] = [];
    const query = new URLSearchParams(filter);
    query.set("from", `-${Math.ceil(windowMs / 1_000)}s`);
    query.set("limit", String(PAGE_MAX));
    for (;;) {
      const { items, nextCursor } = await api.get<EventList>("api/v1/events", query);
      found.push(...items);
      if (nextCursor === null || (!whole && items.every(({ id }) => seen.has(id)))) return found;
      query.set("cursor", nextCursor);
    }
  };
  /** The events that were not seen before, oldest first. */
  const take = (events: readonly ListedEvent[]): ListedEvent[] => {
    const fresh = new Map(events.filter(({ id }) => !seen.has(id)).map((event) => [event.id, event]));
    for (const { id } of events) seen.set(id, reading);
    return [...fresh.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  };
  const readWhole = async () => {
    const startMs = clock.nowMs();
    const events = await read(LATE_MS + startMs - wholeAtMs, true);
    wholeAtMs = startMs;
    reading++;
    const fresh = take(events);
    // What neither of two whole readings has met lies before every later window.
    for (const [id, last] of seen) if (last < reading - 1) seen.delete(id);
    return fresh;
  };
  return {
    /** The last `lines` events that there are. */
    async begin(lines: number): Promise<ListedEvent[]> {
      await readWhole();
      const query = new URLSearchParams(filter);
      query.set("limit", String(Math.min(lines, PAGE_MAX)));
      const { items } = await api.get<EventList>("api/v1/events", query);
      take(items);
      return items.reverse();
    },
    async poll(): Promise<ListedEvent[]> {
      const sinceMs = clock.nowMs() - wholeAtMs;
      return sinceMs >= WHOLE_MS ? readWhole() : take(await read(LATE_MS + sinceMs, false));
    },
  };
}
