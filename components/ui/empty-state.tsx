import type { ReactNode } from "react";

/** Says why there is no data and what to do. "None exist" and "your filters hide all" are two messages. */
export function EmptyState(props: {
  title: string;
  /** 1 when it is the whole page. */
  level?: 1 | 2;
  children?: ReactNode;
  action?: ReactNode;
}) {
  const { title, level = 2, children, action } = props;
  const Heading = `h${level}` as const;
  return (
    <div className="flex flex-col items-center gap-1 px-4 py-16 text-center">
      <Heading className="text-lg font-medium text-ink">{title}</Heading>
      {children ? <div className="max-w-[52ch] text-muted text-pretty">{children}</div> : null}
      {action ? <div className="mt-3 flex flex-wrap justify-center gap-2">{action}</div> : null}
    </div>
  );
}
