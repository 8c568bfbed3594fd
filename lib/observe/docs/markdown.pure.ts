/** The Markdown of our own pages in docs/: no HTML, no quotes, no reference links. markdown.test.ts reads every page. */
export type Block =
  | { kind: "heading"; level: number; text: string; id: string }
  | { kind: "paragraph" | "code"; text: string }
  | { kind: "list"; ordered: boolean; items: Block[][] }
  | { kind: "table"; head: string[]; rows: string[][] };

export type Span =
  | { kind: "text" | "code" | "strong" | "em"; text: string }
  | { kind: "link"; text: string; to: string };

const FENCE = /^```/;
const HEADING = /^(?<marks>#{1,6}) +(?<text>.+)$/;
const ITEM = /^(?<mark>[-*]|\d+\.) +/;
const ROW = /^\|.*\|$/;

export function blocksOf(text: string): Block[] {
  const lines = text.split("\n");
  const blocks: Block[] = [];
  let at = 0;
  /** The lines from here on for which `belongs` holds. */
  const take = (belongs: (line: string, index: number) => boolean) => {
    const from = at;
    while (at < lines.length && belongs(lines[at]!, at - from)) at++;
    return lines.slice(from, at);
  };
  while (at < lines.length) {
    const line = lines[at]!;
    const heading = HEADING.exec(line)?.groups;
    if (line.trim() === "") at++;
    else if (FENCE.test(line)) {
      at++;
      blocks.push({ kind: "code", text: take((next) => !FENCE.test(next)).join("\n") });
      at++;
    } else if (heading) {
      at++;
      blocks.push({ kind: "heading", level: heading.marks!.length, text: heading.text!, id: anchorOf(heading.text!) });
    } else if (ITEM.test(line)) {
      const ordered = /^\d/.test(line);
      const items: Block[][] = [];
      while (at < lines.length && ITEM.test(lines[at]!) && /^\d/.test(lines[at]!) === ordered) {
        const width = ITEM.exec(lines[at]!)![0].length;
        const own = take((next, index) => index === 0 || next.trim() === "" || next.startsWith(" "));
        items.push(blocksOf(own.map((next) => next.slice(width)).join("\n")));
      }
      blocks.push({ kind: "list", ordered, items });
    } else if (ROW.test(line)) {
      const [head, , ...rows] = take((next) => ROW.test(next)).map(cellsOf);
      blocks.push({ kind: "table", head: head!, rows });
    } else {
      const own = take((next, index) => index === 0 || !(next.trim() === "" || startsBlock(next)));
      // A picture, for the readers of the repository.
      if (!line.startsWith("<img")) blocks.push({ kind: "paragraph", text: own.map((next) => next.trim()).join(" ") });
    }
  }
  return blocks;
}

export function spansOf(text: string): Span[] {
  const spans: Span[] = [];
  let from = 0;
  for (const { 0: whole, index, groups } of text.matchAll(SPAN)) {
    if (index > from) spans.push({ kind: "text", text: text.slice(from, index) });
    const { code, label, to, strong, em, address } = groups!;
    if (code !== undefined) spans.push({ kind: "code", text: code.trim() });
    else if (address !== undefined) spans.push({ kind: "link", text: address, to: address });
    else if (to !== undefined) spans.push({ kind: "link", text: label!, to });
    else spans.push(strong === undefined ? { kind: "em", text: em! } : { kind: "strong", text: strong });
    from = index + whole.length;
  }
  if (from < text.length) spans.push({ kind: "text", text: text.slice(from) });
  return spans;
}

/** Code first: what stands in it is no mark. */
const SPAN =
  /(?<ticks>`+)(?<code>.+?)\k<ticks>(?!`)|\[(?<label>(?:`[^`]*`|[^\]`])+)\]\((?<to>[^)\s]+)\)|\*\*(?<strong>(?:`[^`]*`|[^`])+?)\*\*|(?<![\w*])[_*](?<em>[^_*`]+)[_*](?!\w)|<(?<address>https?:[^>]+)>/g;

const startsBlock = (line: string) => FENCE.test(line) || HEADING.test(line) || ITEM.test(line) || ROW.test(line);

/** A cell may hold `\|`. */
function cellsOf(row: string): string[] {
  return row
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/** As GitHub makes it, so that a link works there and in the console. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");

/** Where a link of the page `from` (segments below docs/) leads in the console; null = to a file that is not shipped. */
export function hrefOf(to: string, from: readonly string[]): string | null {
  if (/^(https?:|#)/.test(to)) return to;
  const { pathname, hash } = new URL(to, `file:///docs/${from.join("/")}.md`);
  const [, page] = /^\/docs\/((?:[a-z0-9-]+\/)?[a-z0-9-]+)\.md$/.exec(pathname) ?? [];
  if (page === undefined || page.startsWith("adr/")) return null;
  return `${page.startsWith("runbooks/") ? "/" : "/docs/"}${page}${hash}`;
}
