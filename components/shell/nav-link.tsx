"use client";

import Link from "next/link";
import { usePathname } from "next/navigation";
import type { ReactNode } from "react";
import { isPage, type PageHref } from "./navigation";

export function NavLink({
  href,
  tip,
  className,
  children,
}: {
  href: PageHref;
  tip?: string;
  className: string;
  children: ReactNode;
}) {
  const current = isPage(usePathname(), href);
  return (
    // Prefetching eight pages on every load would cost more than it saves: only what the pointer comes near to.
    <Link href={href} prefetch={false} aria-current={current ? "page" : undefined} data-tip={tip} className={className}>
      {children}
    </Link>
  );
}
