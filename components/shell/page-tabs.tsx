"use client";

import Link from "next/link";
import { usePathname } from "next/navigation";
import { useStatus } from "@/lib/observe/health/status.browser";
import { pageAt } from "./navigation";

/** The second level of every page that has one. */
export function PageTabs() {
  const at = pageAt(usePathname());
  const waiting = useStatus().data?.approvalsWaiting ?? 0;
  if (!at?.page.tabs) return null;
  return (
    <nav
      aria-label={`Pages of ${at.page.label}`}
      className="flex shrink-0 gap-1 overflow-x-auto overflow-y-hidden border-b border-line bg-surface px-2"
    >
      {at.page.tabs.map(({ href, label }) => (
        <Link
          key={href}
          href={href}
          prefetch={false}
          aria-current={href === at.tab ? "page" : undefined}
          className="flex h-9 items-center border-b-2 border-transparent px-2 whitespace-nowrap text-muted outline-offset-[-2px] hover:text-ink aria-[current=page]:border-accent aria-[current=page]:text-ink"
        >
          {label}
          {href === "/approvals" && waiting > 0 ? (
            <span className="ml-1.5 rounded-full bg-hover px-1.5 text-sm text-warning">
              {waiting}
              <span className="sr-only"> waiting</span>
            </span>
          ) : null}
        </Link>
      ))}
    </nav>
  );
}
