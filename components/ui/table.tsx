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
    <div className="relative overflow-x-auto overflow-y-hidden" tabIndex={focusable ? 0 : undefined}>
      <table {...rest} className={classNames("w-full border-collapse text-left", className)} />
    </div>
  );
}

/** `unseen`: a column of buttons whose head only a screen reader reads. */
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

/** The box in the head of a list: `some` rows are selected, or `every` one. */
export function SelectAll(props: { some: boolean; every: boolean; label: string; onChange: () => void }) {
  const { some, every, onChange } = props;
  const label = some ? "Clear the selection" : props.label;
  return (
    <label className="-m-2 flex size-9 items-center justify-center">
      <input
        type="checkbox"
        checked={every}
        ref={(box) => {
          if (box) box.indeterminate = some && !every;
        }}
        aria-label={label}
        data-tip={label}
        onChange={onChange}
        className="size-3.5 cursor-pointer"
      />
    </label>
  );
}
