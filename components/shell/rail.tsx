import {
  Archive,
  Ban,
  Bell,
  Crosshair,
  Ellipsis,
  Filter,
  Gauge,
  KeyRound,
  Layers,
  type LucideIcon,
  PlugZap,
  Repeat,
  Rows3,
  ScrollText,
  Undo2,
} from "lucide-react";
import Link from "next/link";
import { MoreMenu } from "./more-menu";
import { NavLink } from "./nav-link";
import { BAR_PAGES, PAGE_GROUPS, PAGES, type PageHref } from "./navigation";

const ICONS: Record<PageHref, LucideIcon> = {
  "/": Gauge,
  "/events": Rows3,
  "/groups": Layers,
  "/redrives": Undo2,
  "/controls": Ban,
  "/alerts": Bell,
  "/targets": Crosshair,
  "/sources": PlugZap,
  "/admission": Filter,
  "/redrive-rules": Repeat,
  "/archive": Archive,
  "/audit": ScrollText,
  "/people": KeyRound,
};

/** The links to every page: icons with words, only icons in a narrow window. */
export function Rail() {
  return (
    <nav
      aria-label="Pages"
      className="row-span-3 hidden w-12 flex-col overflow-y-auto border-r border-line bg-canvas px-1.5 py-2 sm:flex lg:w-40 lg:px-2"
    >
      <Link
        href="/"
        prefetch={false}
        className="mb-3 flex h-8 items-center gap-2 rounded-md px-2 text-lg font-semibold tracking-tight"
      >
        <Mark />
        <span className="hidden lg:inline">Parkade</span>
        <span className="sr-only lg:hidden">Parkade</span>
      </Link>
      {PAGE_GROUPS.map(([group, pages]) => (
        <div
          key={group}
          className="not-first-of-type:mt-2 not-first-of-type:border-t not-first-of-type:border-line not-first-of-type:pt-2 lg:not-first-of-type:mt-1 lg:not-first-of-type:border-none"
        >
          <h2 className="hidden px-2 pb-0.5 text-xs font-medium text-faint lg:block">{group}</h2>
          <ul aria-label={group} className="flex flex-col gap-0.5">
            {pages.map((page) => {
              const Icon = ICONS[page.href];
              return (
                <li key={page.href}>
                  <NavLink
                    href={page.href}
                    tip={`${page.label}  g ${page.key}`}
                    className="flex h-8 items-center justify-center gap-2.5 rounded-md px-2 text-muted hover:bg-hover hover:text-ink aria-[current=page]:bg-hover aria-[current=page]:font-medium aria-[current=page]:text-ink lg:h-7 lg:justify-start"
                  >
                    <Icon size={15} strokeWidth={1.75} aria-hidden />
                    <span className="sr-only lg:not-sr-only">{page.label}</span>
                  </NavLink>
                </li>
              );
            })}
          </ul>
        </div>
      ))}
    </nav>
  );
}

/** The navigation of a phone: five pages, and the others behind More. */
export function BottomBar() {
  return (
    <nav aria-label="Pages" className="flex border-t border-line bg-canvas pb-[env(safe-area-inset-bottom)] sm:hidden">
      {PAGES.slice(0, BAR_PAGES).map((page) => {
        const Icon = ICONS[page.href];
        return (
          <NavLink
            key={page.href}
            href={page.href}
            className="flex h-13 min-w-0 flex-1 flex-col items-center justify-center gap-0.5 text-xs text-muted aria-[current=page]:font-medium aria-[current=page]:text-ink"
          >
            <Icon size={18} strokeWidth={1.75} aria-hidden />
            {page.label}
          </NavLink>
        );
      })}
      <MoreMenu>
        <Ellipsis size={18} strokeWidth={1.75} aria-hidden />
        More
      </MoreMenu>
    </nav>
  );
}

/** The logo: a parking bay with one car. */
function Mark() {
  return (
    <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden className="shrink-0">
      <path d="M1.5 1v14M14.5 1v14" stroke="currentColor" strokeWidth="1.5" strokeLinecap="round" />
      <rect x="4.5" y="5" width="7" height="9" rx="2" className="fill-accent" />
    </svg>
  );
}
