import type { ReactNode } from "react";
import { classNames } from "./class-names";

export function Panel(props: {
  title?: ReactNode;
  /** Quiet text after the title: a count, `as of …`. */
  meta?: ReactNode;
  actions?: ReactNode;
  className?: string;
  bodyClassName?: string;
  children: ReactNode;
}) {
  const { title, meta, actions, className, bodyClassName, children } = props;
  return (
    // The name makes it a landmark for screen readers.
    <section
      aria-label={typeof title === "string" ? title : undefined}
      className={classNames("flex min-w-0 flex-col rounded-lg border border-line bg-surface", className)}
    >
      {title || actions ? (
        <header className="flex min-h-9 shrink-0 items-center gap-2 px-3 pt-1">
          <h2 className="truncate font-medium">{title}</h2>
          {meta ? <span className="shrink-[9999] truncate text-sm text-faint">{meta}</span> : null}
          {actions ? <div className="ml-auto flex items-center gap-1">{actions}</div> : null}
        </header>
      ) : null}
      <div className={classNames("min-w-0 flex-1", bodyClassName)}>{children}</div>
    </section>
  );
}
