import type { ComponentProps } from "react";
import { classNames } from "./class-names";
import { Field, type FieldWith } from "./input";

export type SelectOption = { value: string; label: string; disabled?: boolean };

/** The browser's own select: it works with every keyboard, screen reader and phone, and needs no JavaScript. */
export function Select(props: Omit<ComponentProps<"select">, "children"> & { options: SelectOption[] }) {
  const { options, className, ...rest } = props;
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

export function SelectField(props: FieldWith<ComponentProps<typeof Select>>) {
  const { label, hint, error, optional, className, inputClassName, onValue, ...select } = props;
  return (
    <Field label={label} hint={hint} error={error} optional={optional} className={className}>
      {(control) => (
        <Select {...select} {...control} className={inputClassName} onChange={(event) => onValue(event.target.value)} />
      )}
    </Field>
  );
}
