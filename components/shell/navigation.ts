/** `words`: what the palette finds it by, beside its label. */
type Tab = { href: string; label: string; words?: string };
type Page = {
  group: "Triage" | "Recover" | "Connect" | "Admin";
  href: string;
  label: string;
  words?: string;
  /** The second half of the `g …` shortcut. */
  key: string;
  /** The pages of the second level, with this one first. */
  tabs?: readonly Tab[];
};

const LIST = [
  { group: "Triage", href: "/", label: "Overview", key: "o" },
  { group: "Triage", href: "/events", label: "Events", key: "e" },
  { group: "Triage", href: "/groups", label: "Groups", key: "g" },
  {
    group: "Triage",
    href: "/alerts",
    label: "Alerts",
    key: "l",
    tabs: [
      { href: "/alerts", label: "Alerts" },
      { href: "/alerts/rules", label: "Rules" },
      { href: "/alerts/channels", label: "Channels", words: "notifications webhook slack email" },
    ],
  },
  {
    group: "Recover",
    href: "/redrives",
    label: "Redrives",
    key: "r",
    tabs: [
      { href: "/redrives", label: "Redrives", words: "retry replay resend" },
      { href: "/operations", label: "Bulk changes", words: "mend undo" },
      { href: "/approvals", label: "Approvals" },
    ],
  },
  { group: "Recover", href: "/controls", label: "Controls", key: "c", words: "blacklist whitelist cooldown limits" },
  { group: "Recover", href: "/redrive-rules", label: "Redrive rules", key: "u" },
  { group: "Connect", href: "/sources", label: "Sources", key: "s", words: "connect ingest queue" },
  { group: "Connect", href: "/targets", label: "Targets", key: "t", words: "retry policy rate breaker" },
  { group: "Connect", href: "/admission", label: "Admission", key: "d" },
  {
    group: "Admin",
    href: "/archive",
    label: "Archive",
    key: "h",
    tabs: [
      { href: "/archive", label: "Archive" },
      { href: "/archive/retention", label: "Retention", words: "expire" },
      { href: "/archive/forget", label: "Forget a person" },
    ],
  },
  { group: "Admin", href: "/audit", label: "Audit", key: "a", words: "log history" },
  {
    group: "Admin",
    href: "/people",
    label: "Access",
    key: "p",
    tabs: [
      { href: "/people", label: "People", words: "users roles" },
      { href: "/masking", label: "Masking" },
      { href: "/account", label: "Account", words: "token password second factor sign-in" },
    ],
  },
] as const satisfies readonly Page[];

export type PageHref = (typeof LIST)[number]["href"];

/** The pages of the console, in the order of the rail; the first five are the bottom bar of a phone. */
export const PAGES: readonly (Page & { href: PageHref })[] = LIST;
export const PAGE_GROUPS = [...Map.groupBy(PAGES, ({ group }) => group)];

/** The number of pages in the bottom bar of a phone; the others are under More. */
export const BAR_PAGES = 5;

const WITH_WINDOW: readonly string[] = ["/", "/events", "/groups", "/audit"];

/** The address of a page with the time window of the present page. */
export function pageHref(href: string, current: { get(name: string): string | null }): string {
  if (!WITH_WINDOW.includes(href)) return href;
  const kept = new URLSearchParams();
  for (const name of ["from", "to"]) {
    const value = current.get(name);
    if (value) kept.set(name, value);
  }
  return kept.size === 0 ? href : `${href}?${kept}`;
}

const isBelow = (pathname: string, href: string) =>
  href === "/" ? pathname === "/" : pathname === href || pathname.startsWith(`${href}/`);

/** The page an address belongs to, and its tab: `/operations/7` is Bulk changes of Redrives. Null for a page of no entry. */
export function pageAt(pathname: string): { page: Page; tab: string } | null {
  for (const page of PAGES) {
    const tab = (page.tabs ?? [page]).findLast(({ href }) => isBelow(pathname, href));
    if (tab !== undefined) return { page, tab: tab.href };
  }
  return null;
}
