import { type Call, given, printAnswer } from "@/lib/cli/call";
import { EXIT, pagingOptions } from "@/lib/cli/command";
import { type Column, tableText } from "@/lib/cli/table";
import { formatNumber } from "@/lib/platform/plain/format.pure";

const LIMIT = 50;
/** Of the API. */
export const PAGE_MAX = 500;

type Page<Item> = { items: Item[]; nextCursor: string | null; hints?: { field: string; detail: string }[] };

/** From --cursor on, as many pages as --limit asks for. */
export async function readPages<Item>({ line, api }: Call, path: string, filter: URLSearchParams): Promise<Page<Item>> {
  const limit = line.number("limit") ?? LIMIT;
  const items: Item[] = [];
  let cursor = line.text("cursor");
  let hints: Pick<Page<Item>, "hints"> = {};
  do {
    const query = new URLSearchParams(filter);
    query.set("limit", String(Math.min(PAGE_MAX, limit - items.length)));
    if (cursor !== null) query.set("cursor", cursor);
    const page = await api.get<Page<Item>>(path, query);
    items.push(...page.items);
    if (page.hints) hints = { hints: page.hints };
    cursor = page.nextCursor;
  } while (cursor !== null && items.length < limit);
  return { items, nextCursor: cursor, ...hints };
}

/** What to say on standard error when a list goes on; `ways` names the options that show more. */
export function moreText({ length }: readonly unknown[], ways: string): string {
  return `There are more than ${length === 1 ? "this one" : `these ${formatNumber(length)}`}: ${ways}.`;
}

export async function printList<Item>(
  call: Call,
  path: string,
  filter: Record<string, string>,
  columns: Column<Item>[],
) {
  const { terminal } = call;
  const page = await readPages<Item>(call, path, new URLSearchParams(filter));
  await printTable(call, page, columns);
  if (page.items.length === 0) terminal.say("Nothing matches.");
  else if (page.nextCursor !== null) terminal.say(moreText(page.items, "--limit"));
  return EXIT.done;
}

/** The run of a command whose options are the names of the list's query. */
export function list<Item>(path: string, columns: Column<Item>[], defaults: Record<string, string> = {}) {
  return (call: Call) => {
    const names = call.line.command.options?.filter((option) => !pagingOptions.includes(option)) ?? [];
    return printList(call, path, { ...defaults, ...given(call, ...names.map(({ name }) => name)) }, columns);
  };
}

export function printTable<Item>(
  call: Call,
  answer: Partial<Page<Item>> & { items: Item[] },
  columns: readonly Column<Item>[],
) {
  return printAnswer(call, answer, () => tableText(answer.items, columns, call.terminal.columns));
}
