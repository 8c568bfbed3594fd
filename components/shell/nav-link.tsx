"use client";

import Link from "next/link";
import { usePathname, useSearchParams } from "next/navigation";
import { type ReactNode, Suspense } from "react";
import { isPage, type PageHref, pageHref } from "./navigation";

type Props = { href: PageHref; tip?: string; className: string; children: ReactNode };

/** The link to a page; it keeps the time window of the page that is left. */
export function NavLink(props: Props) {
  return (
    // A prerendered page does not know its address.
    <Suspense fallback={<PageLink {...props} to={props.href} />}>
      <WindowedLink {...props} />
    </Suspense>
  );
}

function WindowedLink(props: Props) {
  return <PageLink {...props} to={pageHref(props.href, useSearchParams())} />;
}

function PageLink({ href, to, tip, className, children }: Props & { to: string }) {
  const current = isPage(usePathname(), href);
  return (
    // Prefetching eight pages on every load would cost more than it saves: only what the pointer comes near to.
    <Link href={to} prefetch={false} aria-current={current ? "page" : undefined} data-tip={tip} className={className}>
      {children}
    </Link>
  );
}
