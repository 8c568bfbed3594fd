import type { ComponentProps } from "react";
import { classNames } from "./class-names";

/** A table with rows of 32 px, for lists that fit a page. The events list has its own virtual table. */
export function Table(
  props: ComponentProps<"table"> & {
    /** For a table without a link or button: the region itself takes the focus, so that the keyboard can scroll it. */
    focusable?: boolean;
  },
) {
  const { className, focusable, ...rest } = props;
  return (
    // Wide tables scroll inside themselves. `relative` also keeps text for screen readers inside.
    <div className="relative overflow-x-auto" tabIndex={focusable ? 0 : undefined}>
      <table {...rest} className={classNames("w-full border-collapse text-left", className)} />
    </div>
  );
}

/** `unseen`: a column of buttons, which a screen reader alone is told. */
type Column = string | { numeric: string } | { unseen: string };

export function Head({ columns }: { columns: readonly Column[] }) {
  return (
    <thead>
      <tr>
        {columns.map((column) => {
          if (typeof column === "string") return <Th key={column}>{column}</Th>;
          if ("unseen" in column) {
            return (
              <Th key={column.unseen}>
                <span className="sr-only">{column.unseen}</span>
              </Th>
            );
          }
          return (
            <Th key={column.numeric} numeric>
              {column.numeric}
            </Th>
          );
        })}
      </tr>
    </thead>
  );
}

export function Th({ className, numeric, ...rest }: ComponentProps<"th"> & { numeric?: boolean }) {
  return (
    <th
      scope="col"
      {...rest}
      className={classNames(
        "h-8 border-b border-line px-3 text-sm font-medium whitespace-nowrap text-faint",
        numeric && "text-right",
        className,
      )}
    />
  );
}

export function Tr({ className, ...rest }: ComponentProps<"tr">) {
  return <tr {...rest} className={classNames("hover:bg-hover", className)} />;
}

export function Td({ className, numeric, ...rest }: ComponentProps<"td"> & { numeric?: boolean }) {
  return (
    <td
      {...rest}
      className={classNames("h-8 border-b border-line px-3 py-1 align-middle", numeric && "text-right", className)}
    />
  );
}
