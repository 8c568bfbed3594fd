"use client";

import Link from "next/link";
import { useStatus } from "@/lib/observe/health/status.browser";

const PAGES = [
  { href: "/redrives", label: "Redrives" },
  { href: "/operations", label: "Bulk changes" },
  { href: "/approvals", label: "Approvals" },
] as const;

/** Tabs of bulk work: redrives, bulk changes of events, and what waits for the approval of a second person. */
export function RedrivesTabs({ current }: { current: (typeof PAGES)[number]["href"] }) {
  const waiting = useStatus().data?.approvalsWaiting ?? 0;
  return (
    <nav aria-label="Operations" className="flex gap-1 border-b border-line px-2">
      {PAGES.map(({ href, label }) => (
        <Link
          key={href}
          href={href}
          prefetch={false}
          aria-current={href === current ? "page" : undefined}
          className="-mb-px flex h-8 items-center border-b-2 border-transparent px-2 text-muted outline-offset-[-2px] hover:text-ink aria-[current=page]:border-accent aria-[current=page]:text-ink"
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
