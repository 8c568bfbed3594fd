import Link from "next/link";
import type { ReactNode } from "react";

export function PageHeader(props: {
  title: ReactNode;
  /** The list that the page belongs to. */
  within?: { href: string; label: string };
  meta?: ReactNode;
  actions?: ReactNode;
}) {
  const { title, within, meta, actions } = props;
  return (
    <header className="flex min-h-12 flex-wrap items-center gap-x-3 gap-y-2 px-4 py-2">
      {within ? <Breadcrumb {...within} /> : null}
      <h1 className="text-xl font-semibold tracking-tight">{title}</h1>
      {meta ? <div className="text-muted">{meta}</div> : null}
      {actions ? <div className="ml-auto flex flex-wrap items-center gap-2">{actions}</div> : null}
    </header>
  );
}

export function Breadcrumb({ href, label }: { href: string; label: string }) {
  return (
    <nav aria-label="Breadcrumb" className="text-muted">
      <Link href={href} prefetch={false} className="hover:text-ink hover:underline">
        {label}
      </Link>
      <span aria-hidden> /</span>
    </nav>
  );
}
