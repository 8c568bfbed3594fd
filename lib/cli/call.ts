import { randomUUID } from "node:crypto";
import type { Api } from "@/lib/cli/api";
import { EXIT, FILTER_OPTIONS, UsageError } from "@/lib/cli/command";
import type { CommandLine } from "@/lib/cli/command-line";
import type { EventList } from "@/lib/events/events.shapes";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import type { Clock } from "@/lib/platform/clock";
import { formatNumber, visible } from "@/lib/platform/plain/format.pure";
import { UUID } from "@/lib/platform/plain/uuid.pure";

/** What a command writes to, and whom it asks. */
export type Terminal = {
  /** Width of standard output; null = it is no terminal. */
  columns: number | null;
  /** Standard output. Resolves when the reader has room for more. */
  print(text: string): Promise<void>;
  /** The same for a body that is read only as fast as it is written. */
  pipe(body: ReadableStream<Uint8Array>): Promise<void>;
  /** A line on standard error. */
  say(line: string): void;
  /** A line on standard error in place of the one before; without a terminal a line of its own, not every time. */
  progress(line: string): void;
  /** Standard input, line by line; none when it is a terminal. */
  lines(): AsyncIterable<string>;
  /** null = nobody can be asked: standard input is no terminal. */
  ask(question: string): Promise<string | null>;
};

export type Call = { line: CommandLine; api: Api; terminal: Terminal; clock: Clock; signal: AbortSignal };

/** An answer as JSON with --json, else as text. */
export async function printAnswer(call: Call, answer: unknown, text: () => string): Promise<number> {
  const { line, terminal } = call;
  sayHints(call, answer);
  await terminal.print(line.flag("json") ? `${JSON.stringify(answer)}\n` : text());
  return EXIT.done;
}

/** The options of these names that were given, under the names of the API. */
export function given({ line }: Pick<Call, "line">, ...names: string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = line.text(name);
      return value === null ? [] : [[name, value] as const];
    }),
  );
}

/** The Idempotency-Key of a request. */
export function requestKey({ line }: Call): string {
  return line.text("idempotency-key") ?? randomUUID();
}

/** What an answer says of its filter, such as a source that does not exist. */
export function sayHints({ terminal }: Pick<Call, "terminal">, answer: unknown): void {
  const { hints = [] } = (answer ?? {}) as { hints?: readonly { detail: string }[] };
  for (const { detail } of hints) terminal.say(visible(detail));
}

type Select = { ids: string[] } | { filter: Record<string, string | string[]> } | { operation: string };

/**
 * The events that the command line names: in one way, never in two, and never all of them by leaving everything out. A
 * word that is no id is the producer's own id of an event; beside ids, --source says whose.
 */
export async function selectOf(call: Call): Promise<Select> {
  const { line } = call;
  const operation = line.text("operation");
  const ways = [
    line.arguments.length > 0 && { ids: line.arguments },
    line.filter.size > 0 && !onlySource(line) && { filter: filterBody(line.filter) },
    operation !== null && { operation },
    line.flag("all") && { filter: {} },
  ].filter((way) => way !== false);
  const [select, ...more] = ways;
  if (select === undefined) throw new UsageError("name events by id, by a filter, or with --all", line.command);
  if (more.length > 0) throw new UsageError("name the events in one way: by ids, a filter, or --all", line.command);
  if (!("ids" in select) || select.ids === undefined) return select;
  const ids: string[] = [];
  for (const id of select.ids) ids.push(UUID.test(id) ? id : await idOfProducers(call, id));
  return { ids };
}

/** Beside ids it narrows what the producer's ids may mean. */
function onlySource({ filter, arguments: ids }: CommandLine): boolean {
  return ids.length > 0 && [...filter.keys()].every((name) => name === "source");
}

/** Throws when no event, or the events of several sources, have the producer's id. */
export async function idOfProducers({ line, api }: Pick<Call, "line" | "api">, id: string): Promise<string> {
  const query = new URLSearchParams({ eventId: id, limit: "2", ...given({ line }, "source") });
  const { items } = await api.get<EventList>("api/v1/events", query);
  if (items.length === 0) throw new ApiError("unknown-event", `There is no event ${id}`, { status: 404 });
  if (items.length > 1) {
    throw new UsageError(`several sources have an event ${id}: name one with --source`, line.command);
  }
  return items[0]!.id;
}

/** The filter as JSON: names that may be given several times have lists. */
function filterBody(filter: URLSearchParams): Record<string, string | string[]> {
  const once = new Set(FILTER_OPTIONS.flatMap(({ name, many }) => (many ? [] : [name])));
  return Object.fromEntries(
    [...new Set(filter.keys())].map((name) => [name, once.has(name) ? filter.get(name)! : filter.getAll(name)]),
  );
}

/** `3 (cooling 2, ignored 1)` */
export function countText(count: number, byReason: Record<string, number>): string {
  const reasons = reasonsText(byReason);
  return reasons === "" ? formatNumber(count) : `${formatNumber(count)} (${reasons})`;
}

export function reasonsText(byReason: Record<string, number>): string {
  return Object.entries(byReason)
    .sort(([, a], [, b]) => b - a)
    .map(([reason, count]) => `${reason} ${formatNumber(count)}`)
    .join(", ");
}

const AGAIN_MS = 1_000;

/** Reads until Parkade answers: what is watched goes on without the one who watches. Other problems are thrown. */
export async function patiently<Answer>(
  { terminal, clock, signal }: Pick<Call, "terminal" | "clock" | "signal">,
  read: () => Promise<Answer>,
): Promise<Answer> {
  for (let said = false; ; said = true) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof ApiError) || !error.passing) throw error;
      if (!said) terminal.say(`${error.detail}. Retrying until it does.`);
      await clock.sleep(error.retryAfterMs ?? AGAIN_MS, signal);
    }
  }
}
