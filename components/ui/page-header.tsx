import type { ReactNode } from "react";

export function PageHeader({ title, meta, actions }: { title: ReactNode; meta?: ReactNode; actions?: ReactNode }) {
  return (
    <header className="flex min-h-12 flex-wrap items-center gap-x-3 gap-y-2 px-4 py-2">
      <h1 className="text-xl font-semibold tracking-tight">{title}</h1>
      {meta ? <div className="text-muted">{meta}</div> : null}
      {actions ? <div className="ml-auto flex flex-wrap items-center gap-2">{actions}</div> : null}
    </header>
  );
}
