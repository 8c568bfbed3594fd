import type { ComponentProps } from "react";
import { classNames } from "./class-names";

export type SelectOption = { value: string; label: string; disabled?: boolean };

/** The browser's own select: it works with every keyboard, screen reader and phone, and needs no JavaScript. */
export function Select({
  options,
  className,
  ...rest
}: Omit<ComponentProps<"select">, "children"> & { options: SelectOption[] }) {
  return (
    <select
      {...rest}
      className={classNames(
        "h-7 rounded-md border border-control bg-surface px-1.5 text-ink disabled:opacity-50 aria-invalid:border-danger",
        className,
      )}
    >
      {options.map((option) => (
        <option key={option.value} value={option.value} disabled={option.disabled}>
          {option.label}
        </option>
      ))}
    </select>
  );
}
