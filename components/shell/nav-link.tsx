"use client";

import Link from "next/link";
import { usePathname, useSearchParams } from "next/navigation";
import { type ReactNode, Suspense } from "react";
import { type PageHref, pageAt, pageHref } from "./navigation";

type Props = { href: PageHref; tip?: string; className: string; children: ReactNode };

/** A link to a page that keeps the time window of the present page. */
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
  const current = pageAt(usePathname())?.page.href === href;
  return (
    // Only a link under the pointer is prefetched: eight prefetches on every load cost more than they save.
    <Link href={to} prefetch={false} aria-current={current ? "page" : undefined} data-tip={tip} className={className}>
      {children}
    </Link>
  );
}
