/** The anchor of a heading as GitHub makes it, so that a link works there and in the console. */
export const anchorOf = (heading: string) =>
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
