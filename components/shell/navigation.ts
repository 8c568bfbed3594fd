/** The pages of the console, in the order of the rail. `key` is the second half of the `g …` shortcut. */
export const PAGES = [
  { href: "/", label: "Overview", key: "o" },
  { href: "/events", label: "Events", key: "e" },
  { href: "/groups", label: "Groups", key: "g" },
  { href: "/redrives", label: "Redrives", key: "r" },
  { href: "/controls", label: "Controls", key: "c" },
  { href: "/alerts", label: "Alerts", key: "l" },
  { href: "/targets", label: "Targets", key: "t" },
  { href: "/sources", label: "Sources", key: "s" },
  { href: "/admission", label: "Admission", key: "d" },
  { href: "/redrive-rules", label: "Redrive rules", key: "u" },
  { href: "/archive", label: "Archive", key: "h" },
  { href: "/audit", label: "Audit", key: "a" },
] as const;

export type PageHref = (typeof PAGES)[number]["href"];

const WITH_WINDOW: readonly PageHref[] = ["/", "/events", "/groups", "/audit"];

/** The address of a page with the time window of the present page. */
export function pageHref(href: PageHref, current: { get(name: string): string | null }): string {
  if (!WITH_WINDOW.includes(href)) return href;
  const kept = new URLSearchParams();
  for (const name of ["from", "to"]) {
    const value = current.get(name);
    if (value) kept.set(name, value);
  }
  return kept.size === 0 ? href : `${href}?${kept}`;
}

/** The number of pages in the bottom bar of a phone; the others are under More. */
export const BAR_PAGES = 5;

/** The page an address belongs to: `/redrives/41` and `/operations` are Redrives, `/` only itself. */
export function isPage(pathname: string, href: PageHref | "/operations" | "/approvals"): boolean {
  if (href === "/redrives" && (isPage(pathname, "/operations") || isPage(pathname, "/approvals"))) return true;
  return href === "/" ? pathname === "/" : pathname === href || pathname.startsWith(`${href}/`);
}
